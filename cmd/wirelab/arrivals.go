package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/internal/input"
	"wirelab/lab/load"
	"wirelab/lab/plan"
)

// arrivalFlags say how calls of an open loop arrive.
type arrivalFlags struct {
	arrivals, replay string
	speed, spread    float64
	// context is that of the command, for its files.
	context func() context.Context
}

// The ways to replay a recording, as typed; the words are the published benchmark's.
const (
	replaySequential = "sequential"
	replaySampled    = "sampled"
)

func (f *arrivalFlags) register(command *cobra.Command) {
	f.context = command.Context
	flags := command.Flags()
	flags.StringVar(&f.arrivals, "arrivals", "", "open loop: how calls arrive: poisson, constant, log-normal, or as recorded in a `file` (default poisson)")
	flags.StringVar(&f.replay, "replay", "", "for a recording: sequential (each slice plays all of it) or sampled (times between arrivals are drawn from it) (default sequential)")
	flags.Float64Var(&f.speed, "speed-up", 0, "for a recording: play it so many `times` as fast (default 1; or give --rate)")
	flags.Float64Var(&f.spread, "spread", 0, "for log-normal arrivals: standard deviation of the times between calls, divided by their mean (default 2)")
}

// loads are the open loads at the rates that were typed, none where the loop is closed.
func (f *arrivalFlags) loads(rates string) ([]plan.Load, error) {
	one := plan.Load{Arrivals: f.arrivals, Spread: f.spread}
	recorded := f.arrivals != "" && !slices.Contains([]string{plan.Poisson, plan.Constant, plan.LogNormal}, f.arrivals)
	switch {
	case !recorded && (f.replay != "" || f.speed != 0):
		return nil, cli.Usage("--replay and --speed-up need a recording: give --arrivals FILE")
	case !recorded && rates == "" && (f.arrivals != "" || f.spread != 0):
		return nil, cli.Usage("--arrivals needs the open loop: give --rate too")
	case !recorded && rates == "":
		return nil, nil
	case f.speed != 0 && rates != "":
		return nil, cli.Usage("--speed-up and --rate both say how fast the recording goes: give one")
	}
	if recorded {
		var err error
		if one, err = f.replayed(one); err != nil {
			return nil, err
		}
		if rates == "" {
			return []plan.Load{one}, nil
		}
	}
	var all []plan.Load
	for text := range strings.SplitSeq(rates, ",") {
		rate, err := plan.ParseRate(text)
		if err != nil {
			return nil, err
		}
		one.Rate = rate
		all = append(all, one)
	}
	return all, nil
}

// replayed is a load with the recording of the file that was typed.
func (f *arrivalFlags) replayed(l plan.Load) (plan.Load, error) {
	var err error
	if l.Recording, err = readRecording(f.context(), "--arrivals (poisson, constant, log-normal or a file)", f.arrivals); err != nil {
		return l, err
	}
	switch f.replay {
	case "", replaySequential:
		l.Arrivals = plan.Recorded
	case replaySampled:
		l.Arrivals = plan.Sampled
	default:
		return l, cli.Usage("--replay %q: want %s or %s", f.replay, replaySequential, replaySampled)
	}
	if f.speed < 0 || math.IsNaN(f.speed) || math.IsInf(f.speed, 0) {
		return l, cli.Usage("--speed-up %v: want a number above 0", f.speed)
	}
	l.Rate = l.Recording.Rate()
	if f.speed > 0 {
		l.Rate *= f.speed
	}
	return l, nil
}

// readRecording reads a recording from a file, that was named by a flag or a field.
func readRecording(ctx context.Context, by, name string) (plan.Recording, error) {
	data, err := input.File(ctx, name, plan.RecordingFileSize)
	if err != nil {
		return plan.Recording{}, cli.Unread(by, name, err)
	}
	return plan.ParseRecording(name, data)
}

// withRecordings reads the files that a plan's loads name, from the plan's folder on.
func withRecordings(ctx context.Context, p plan.Plan, folder string) (plan.Plan, error) {
	p.Loads = slices.Clone(p.Loads)
	for i := range p.Loads {
		r := &p.Loads[i].Recording
		if r.File == "" {
			continue
		}
		if r.Given() {
			return p, cli.Usage("loads[%d].recording has both file and gaps: give one", i)
		}
		name := r.File
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		field := fmt.Sprintf("loads[%d].recording.file", i)
		read, err := readRecording(ctx, "", name)
		if err != nil {
			return p, wirelab.Public(err).Behind(field + ": ")
		}
		*r = read
	}
	return p, nil
}

func newArrivalsCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "arrivals",
		Short: "Show or make recordings of arrivals, for compare --arrivals",
		Long: `Arrivals shows what is in a recording of arrivals, or makes one.

A recording is a file in one of two forms:

  JSON   an object; inter_arrival_ms is a list of the times between arrivals,
         in milliseconds
  CSV    one column of these times; or columns with names, of which one is
         inter_arrival_ms or timestamp (seconds since 1970, or RFC 3339)`,
		Example: "  wirelab arrivals make --rate 500 > bursty.json\n  wirelab arrivals show bursty.json",
	})
	c.AddCommand(newArrivalsShowCommand(a), newArrivalsMakeCommand(a))
	return c
}

// recordingFile is a recording as it is written, with the published benchmark's names.
type recordingFile struct {
	About string         `json:"about,omitempty"`
	Count int            `json:"message_count"` // arrivals: one more than gaps
	Span  float64        `json:"time_span_seconds"`
	Rate  float64        `json:"avg_rate_per_second"`
	Gaps  []float64      `json:"inter_arrival_ms,omitempty"`
	Stats recordingStats `json:"stats"`
	// Spread is of ours: standard deviation over mean.
	Spread float64 `json:"spread"`
}

type recordingStats struct {
	Min float64 `json:"min_ms"`
	Max float64 `json:"max_ms"`
	Avg float64 `json:"avg_ms"`
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
}

// describeRecording works out what a recording's file says of it.
func describeRecording(r plan.Recording) recordingFile {
	sorted := make([]float64, 0, len(r.Gaps))
	for _, gap := range r.Gaps {
		sorted = append(sorted, float64(gap)/1e6)
	}
	slices.Sort(sorted)
	// The smallest gap that at least a share of all are not above.
	at := func(q float64) float64 { return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)] }
	return recordingFile{
		Count: len(sorted) + 1, Span: r.Span().Seconds(), Rate: r.Rate(), Spread: r.Spread(),
		Stats: recordingStats{
			Min: sorted[0], Max: sorted[len(sorted)-1], Avg: 1e3 / r.Rate(), P50: at(0.5), P90: at(0.9), P99: at(0.99),
		},
	}
}

func newArrivalsShowCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "show FILE", Short: "Describe a recording",
		Example: "  wirelab arrivals show docs/arrivals-bursty.json",
		Args:    cli.Arguments(1, 1, "one file"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := readRecording(c.Context(), "", args[0])
		if err != nil {
			return err
		}
		d := describeRecording(r)
		if *asJSON {
			return a.PrintJSON(d)
		}
		ms := func(v float64) string { return fmt.Sprintf("%.4g ms", v) }
		return a.PrintTable([][]string{
			{"arrivals", fmt.Sprint(d.Count)},
			{"span", r.Span().Round(time.Millisecond).String()},
			{"rate", fmt.Sprintf("%.4g/s", d.Rate)},
			{"gap mean", ms(d.Stats.Avg)},
			{"gap p50", ms(d.Stats.P50)},
			{"gap p90", ms(d.Stats.P90)},
			{"gap p99", ms(d.Stats.P99)},
			{"gap min, max", ms(d.Stats.Min) + ", " + ms(d.Stats.Max)},
			{"spread", fmt.Sprintf("%.3g (1 is that of Poisson arrivals)", d.Spread)},
		})
	}
	return c
}

func newArrivalsMakeCommand(a *app) *cobra.Command {
	var rate string
	var spread float64
	var count int
	var seed uint64
	c := &cobra.Command{
		Use: "make FILE", Short: "Draw log-normal arrivals and write them as a recording",
		Long: `Make draws random times between arrivals (log-normal) and writes them to FILE.
FILE must not exist yet. The same seed gives the same recording.`,
		Example: "  wirelab arrivals make bursty.json --rate 100 --spread 3 --count 2000 --seed 7",
		Args:    cli.Arguments(1, 1, "one file"),
	}
	c.Flags().StringVar(&rate, "rate", "100", "arrivals per second on average")
	c.Flags().Float64Var(&spread, "spread", 2, "standard deviation of the times, divided by their mean")
	c.Flags().IntVar(&count, "count", 1000, "number of times to draw, 1 to 100000")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the random numbers")
	c.RunE = func(_ *cobra.Command, args []string) error {
		r, err := drawRecording(rate, spread, count, seed)
		if err != nil {
			return err
		}
		d := describeRecording(r)
		d.About = fmt.Sprintf("drawn by wirelab: log-normal gaps, spread %g, seed %d", spread, seed)
		for _, gap := range r.Gaps {
			d.Gaps = append(d.Gaps, float64(gap)/1e6)
		}
		text, err := json.MarshalIndent(d, "", " ")
		if err != nil {
			return err
		}
		file, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		switch {
		case errors.Is(err, fs.ErrExist):
			return cli.Usage("%s exists already: name another file", args[0])
		case err != nil:
			return fault.Write(args[0], err)
		}
		_, err = file.Write(append(text, '\n'))
		if err := cli.Both(err, file.Close()); err != nil {
			return err
		}
		a.Note("%s has %d arrivals over %s", args[0], d.Count, r.Span().Round(time.Millisecond))
		return nil
	}
	return c
}

// drawRecording draws a recording to the microsecond.
func drawRecording(rateText string, spread float64, count int, seed uint64) (plan.Recording, error) {
	rate, err := plan.ParseRate(rateText)
	if err != nil {
		return plan.Recording{}, err
	}
	if count < 1 || count > load.GapsLimit {
		return plan.Recording{}, cli.Usage("--count %d: want 1 to %d", count, load.GapsLimit)
	}
	s := load.Schedule{Law: load.LogNormal, Spread: spread, Seed: seed, Stages: []load.Stage{{From: rate, To: rate}}}
	if err := s.Validate(); err != nil {
		return plan.Recording{}, cli.Usage("--spread: %v", err)
	}
	var r plan.Recording
	for _, gap := range s.DrawGaps(count, rate) {
		r.Gaps = append(r.Gaps, plan.Duration(gap.Round(time.Microsecond)))
	}
	return r, nil
}
