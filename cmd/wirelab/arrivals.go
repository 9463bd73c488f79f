package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/loads"
)

func registerArrivals(f *loads.Arrivals, command *cobra.Command) {
	f.Context = command.Context
	flags := command.Flags()
	flags.StringVar(&f.Law, "arrivals", "",
		"open loop: how calls arrive: poisson, constant, log-normal, or as recorded in a `file` (default poisson)")
	flags.StringVar(&f.Replay, "replay", "",
		"for a recording: sequential (each slice plays all of it) or sampled (times between arrivals are drawn from "+
			"it) (default sequential)")
	flags.Float64Var(&f.Speed, "speed-up", 0,
		"for a recording: play it so many `times` as fast (default 1; or give --rate)")
	flags.Float64Var(&f.Spread, "spread", 0,
		"for log-normal arrivals: standard deviation of the times between calls, divided by their mean (default 2)")
}

func newArrivalsCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "arrivals",
		Short:   "Show or make recordings of arrivals, for compare --arrivals",
		Long:    desk.HelpText("arrivals"),
		Example: "  wirelab arrivals make --rate 500 > bursty.json\n  wirelab arrivals show bursty.json",
	})
	c.AddCommand(newArrivalsShowCommand(a), newArrivalsMakeCommand(a))
	return c
}

func newArrivalsShowCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "show FILE", Short: "Describe a recording",
		Example: "  wirelab arrivals show docs/arrivals-bursty.json",
		Args:    cli.Arguments(1, 1, "one file"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := loads.Read(c.Context(), "", args[0])
		if err != nil {
			return err
		}
		d := loads.Describe(r)
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
		r, err := loads.Draw(rate, spread, count, seed)
		if err != nil {
			return err
		}
		d := loads.Describe(r)
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
		if err := fault.Both(err, file.Close()); err != nil {
			return err
		}
		a.Note("%s has %d arrivals over %s", args[0], d.Count, r.Span().Round(time.Millisecond))
		return nil
	}
	return c
}
