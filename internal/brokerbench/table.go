package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"wirelab/lab/stat"
)

// alpha is how often an interval may miss.
const alpha = 0.05

func (o outcome) String() string {
	text := fmt.Sprintf("%.0f/s", o.Rate)
	if o.P50 > 0 {
		text += fmt.Sprintf(", p50 %s, p99 %s", brief(o.P50), brief(o.P99))
	}
	if o.Cost.total() > 0 {
		text += fmt.Sprintf(", CPU %s", o.Cost)
	}
	for _, f := range o.Figures {
		text += "; " + f.String()
	}
	if o.Failed+int64(o.Missing+o.Doubled) > 0 {
		text += fmt.Sprintf(" (%d failed, %d missing, %d doubled)", o.Failed, o.Missing, o.Doubled)
	}
	return text
}

// brief is a time in seconds, to three digits.
func brief(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// subject is a broker as the report says it.
type subject struct {
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Syncs   bool    `json:"fsync_before_acknowledgement"`
	Stream  setting `json:"stream"`
}

// report is what -json prints.
type report struct {
	Nodes  int                             `json:"nodes"`
	Rounds int                             `json:"rounds"`
	Seed   uint64                          `json:"seed"`
	Of     []subject                       `json:"brokers"`
	Found  map[string]map[string][]outcome `json:"shapes"`
}

func (b *bench) report() report {
	r := report{Nodes: nodes, Rounds: b.rounds, Seed: b.seed, Found: b.found}
	for _, one := range b.rivals {
		r.Of = append(r.Of, subject{one.Name(), one.Version(), one.Syncs(), b.best[one.Name()]})
	}
	return r
}

// table prints medians over rounds, and how many times another's Hermes' rate is
// (or, end to end, its time), round by round.
func (b *bench) table(output io.Writer) error {
	w := tabwriter.NewWriter(output, 0, 0, 2, ' ', 0)
	for _, s := range shapes(b.perSec) {
		by := b.found[s.name]
		if by == nil {
			continue
		}
		if s.only != nil {
			b.tableFigures(w, s)
			continue
		}
		fmt.Fprintf(w, "%s, %d B, median of %d rounds\tfsync\trate\tleast to most\tp50\tp99\tCPU for each\tHermes is\n", s.name, s.size, b.rounds)
		for _, r := range b.rivals {
			all := by[r.Name()]
			if len(all) == 0 {
				continue
			}
			rates := values(all, outcome.rate)
			fmt.Fprintf(w, "  %s\t%s\t%.0f/s\t%.0f to %.0f\t%s\t%s\t%s\t%s\n", r.Name(), map[bool]string{true: "yes", false: "NO"}[r.Syncs()],
				median(rates), slices.Min(rates), slices.Max(rates), orNone(median(values(all, outcome.p50))), orNone(median(values(all, outcome.p99))), typical(all), b.against(s, r))
		}
		fmt.Fprintln(w, "\t\t\t\t\t\t\t")
	}
	for _, r := range b.rivals {
		best := b.best[r.Name()]
		if r.Name() == floorName {
			fmt.Fprintf(w, "%s: %s\t\t\t\t\t\t\t\n", r.Name(), r.Version())
			continue
		}
		fmt.Fprintf(w, "%s: %s, streams with %d connections and %d outstanding\t\t\t\t\t\t\t\n", r.Name(), r.Version(), best.Connections, best.Window)
	}
	return w.Flush()
}

// against tells Hermes' rate, or its p50 end to end, by a rival's.
func (b *bench) against(s shape, r rival) string {
	ours := b.found[s.name][known[0]]
	if r.Name() == known[0] || len(ours) < 2 {
		return ""
	}
	of, unit := outcome.rate, "× its rate"
	if s.perSec > 0 {
		of, unit = outcome.p50, "× its p50"
	}
	e, err := stat.PairedRatio(values(b.found[s.name][r.Name()], of), values(ours, of), alpha)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f) %s", e.Ratio, e.Low, e.High, unit)
}

func (o outcome) rate() float64 { return o.Rate }
func (o outcome) p50() float64  { return o.P50 }
func (o outcome) p99() float64  { return o.P99 }

func values(all []outcome, of func(outcome) float64) []float64 {
	var values []float64
	for _, one := range all {
		values = append(values, of(one))
	}
	return values
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func orNone(seconds float64) string {
	if seconds == 0 {
		return "–"
	}
	return brief(seconds)
}
