package loads

import (
	"strings"

	"wirelab"
	"wirelab/lab/plan"
)

// Streams has the flags for loads that hold streams.
type Streams struct {
	Count   int
	Readers []string
}

// Loads returns the loads that hold streams, for each rate and reader that was asked for.
func (f *Streams) Loads(rates []plan.Load) ([]plan.Load, error) {
	if f.Count == 0 {
		if len(f.Readers) > 0 {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "--reader needs streams: give --streams and --rate too")
		}
		return rates, nil
	}
	if f.Count < 1 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "--streams %d: want 1 or more", f.Count)
	}
	if len(rates) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"--streams needs --rate: the events per second of all streams together, such as --rate 10k")
	}
	shares := []float64{0}
	if len(f.Readers) > 0 {
		shares = shares[:0]
	}
	for _, text := range f.Readers {
		share, err := parseShare(text)
		if err != nil {
			return nil, err
		}
		shares = append(shares, share)
	}
	var all []plan.Load
	for _, load := range rates {
		for _, share := range shares {
			load.Streams, load.Reader = f.Count, share
			all = append(all, load)
		}
	}
	return all, nil
}

// parseShare reads "50%". 100% returns 0, which means as fast as possible.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	rate, err := plan.ParseRate(number)
	switch {
	case !percent || err != nil || strings.ContainsAny(number, "kM/") || rate < 1 || rate > 100:
		return 0, wirelab.Errorf(wirelab.InvalidArgument,
			"--reader %q: want a percentage of the rate from 1%% to 99%%, or 100%% for as fast as possible", text)
	case rate == 100:
		return 0, nil
	case rate > 99:
		return 0, wirelab.Errorf(wirelab.InvalidArgument,
			"--reader %q: want 1%% to 99%%, or 100%% for as fast as possible", text)
	}
	return rate / 100, nil
}
