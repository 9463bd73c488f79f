package main

import (
	"strings"

	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
)

// streamFlags are those of loads that hold streams.
type streamFlags struct {
	streams int
	readers []string
}

func (f *streamFlags) register(flags *pflag.FlagSet) {
	flags.IntVar(&f.streams, "streams", 0, "hold this number of streams open instead of making calls; --rate is then events per second of all streams together")
	flags.StringSliceVar(&f.readers, "reader", nil, "read each stream at this share of its rate, such as `50%`; several are several loads (default 100%: as fast as possible)")
}

// loads are those with streams, for each rate that was asked for.
func (f *streamFlags) loads(rates []plan.Load) ([]plan.Load, error) {
	if f.streams == 0 {
		if len(f.readers) > 0 {
			return nil, cli.Usage("--reader needs streams: give --streams and --rate too")
		}
		return rates, nil
	}
	if f.streams < 1 {
		return nil, cli.Usage("--streams %d: want 1 or more", f.streams)
	}
	if len(rates) == 0 {
		return nil, cli.Usage("--streams needs --rate: the events per second of all streams together, such as --rate 10k")
	}
	shares := []float64{0}
	if len(f.readers) > 0 {
		shares = shares[:0]
	}
	for _, text := range f.readers {
		share, err := parseShare(text)
		if err != nil {
			return nil, err
		}
		shares = append(shares, share)
	}
	var all []plan.Load
	for _, load := range rates {
		for _, share := range shares {
			load.Streams, load.Reader = f.streams, share
			all = append(all, load)
		}
	}
	return all, nil
}

// parseShare reads "50%"; 100% is 0, as fast as can be.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	rate, err := plan.ParseRate(number)
	switch {
	case !percent || err != nil || strings.ContainsAny(number, "kM/") || rate < 1 || rate > 100:
		return 0, cli.Usage("--reader %q: want a percentage of the rate from 1%% to 99%%, or 100%% for as fast as can be", text)
	case rate == 100:
		return 0, nil
	case rate > 99:
		return 0, cli.Usage("--reader %q: want 1%% to 99%%, or 100%% for as fast as can be", text)
	}
	return rate / 100, nil
}
