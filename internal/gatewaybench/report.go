package main

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"wirelab/lab/stat"
)

// alpha is how often an interval misses.
const alpha = 0.05

// measure is a figure that costs are told in.
type measure struct {
	name string
	of   func(figures) float64
}

// measures are the costs that are compared. Of a closed loop the mean response
// time is callers / throughput, so the second is told as time.
func measures() []measure {
	return []measure{
		{"response p50, µs", func(f figures) float64 { return f.P50 }},
		{"response mean, µs", func(f figures) float64 { return f.Mean }},
		{"wall time per entry, µs (1 / throughput)", func(f figures) float64 { return 1e6 / f.Rate }},
		{"CPU per entry, µs, all processes", func(f figures) float64 { return f.CPU }},
	}
}

// interval is a figure with its 95 % interval over rounds. An end that there is
// none of is nil.
type interval struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// cost is what a wire's gateway and hop cost in one measure.
type cost struct {
	Wire     string   `json:"wire"`
	Measure  string   `json:"measure"`
	Overhead interval `json:"overhead"` // through less direct over http1-json
	Hop      interval `json:"hop"`      // further less direct over the wire
	Ratio    interval `json:"ratio"`
	// Inner is through less direct over the inner wire: with the price of HTTP in front.
	Inner      interval `json:"over_inner"`
	InnerRatio interval `json:"over_inner_ratio"`
	// Within is whether the ratio's interval is at or below the limit; Misses whether it is above.
	Within bool `json:"within"`
	Misses bool `json:"misses"`
}

// report is what is printed.
type report struct {
	Options options              `json:"options"`
	Order   []string             `json:"-"`
	Rounds  map[string][]figures `json:"rounds"`
	Costs   []cost               `json:"costs"`
	Fastest string               `json:"fastest"` // inner wire, by the throughput of the chain through the gateway
}

func (b *bench) report() (*report, error) {
	r := &report{Options: b.options, Rounds: b.found}
	for _, c := range b.chains {
		r.Order = append(r.Order, c.name)
	}
	fastest := 0.0
	for _, wire := range b.Wires {
		if rate := mean(column(b.found[nameOf(through, wire)], func(f figures) float64 { return f.Rate })); rate > fastest {
			fastest, r.Fastest = rate, wire
		}
		for _, m := range measures() {
			c, err := b.cost(wire, m)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", wire, err)
			}
			r.Costs = append(r.Costs, c)
		}
	}
	return r, nil
}

// cost is one row.
func (b *bench) cost(wire string, m measure) (cost, error) {
	get := func(k kind, wire string) []float64 { return column(b.found[nameOf(k, wire)], m.of) }
	c := cost{Wire: wire, Measure: m.name}
	overhead := differences(get(direct, front), get(through, wire))
	hop := differences(get(direct, wire), get(further, wire))
	var err error
	if c.Overhead, err = over(overhead); err != nil {
		return c, err
	}
	if c.Hop, err = over(hop); err != nil {
		return c, err
	}
	inner := differences(get(direct, wire), get(through, wire))
	if c.Inner, err = over(inner); err != nil {
		return c, err
	}
	if c.InnerRatio, err = ratio(inner, hop); err != nil {
		return c, err
	}
	if c.Ratio, err = ratio(overhead, hop); err != nil {
		return c, err
	}
	c.Within = c.Ratio.High != nil && *c.Ratio.High <= b.Limit
	c.Misses = c.Ratio.Low != nil && *c.Ratio.Low > b.Limit
	return c, nil
}

func column(rounds []figures, of func(figures) float64) []float64 {
	all := make([]float64, len(rounds))
	for i, f := range rounds {
		all[i] = of(f)
	}
	return all
}

// differences are those of b less a, round by round.
func differences(a, b []float64) []float64 {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = b[i] - a[i]
	}
	return all
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// over is the mean of values over rounds.
func over(x []float64) (interval, error) {
	e, err := stat.PairedDifference(make([]float64, len(x)), x, alpha)
	return interval{Value: e.Value, Low: &e.Low, High: &e.High}, err
}

// ratioLimit is beyond which a ratio's interval has no end.
const ratioLimit = 1e3

// ratio is mean(a) / mean(b) of what was measured in the same rounds, with
// Fieller's interval: the factors f for which the interval of a − f·b holds 0.
// Ratios of single rounds would have no mean, since b may be near 0 in one. An
// end that there is none of, since b cannot be told from 0, is nil.
func ratio(a, b []float64) (interval, error) {
	value := mean(a) / mean(b)
	told, err := over(b)
	if err != nil {
		return interval{}, err
	}
	if *told.Low <= 0 {
		return interval{Value: value}, nil
	}
	holds := func(f float64) bool {
		scaled := make([]float64, len(b))
		for i := range b {
			scaled[i] = f * b[i]
		}
		e, err := stat.PairedDifference(scaled, a, alpha)
		return err == nil && e.Low <= 0 && e.High >= 0
	}
	end := func(far float64) *float64 {
		near := value
		if holds(far) {
			return nil
		}
		for range 60 {
			if middle := (near + far) / 2; holds(middle) {
				near = middle
			} else {
				far = middle
			}
		}
		return &near
	}
	return interval{Value: value, Low: end(value - ratioLimit), High: end(value + ratioLimit)}, nil
}

// print writes the table for people.
func (r *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tentries/s\t\tp50 µs\t\tmean µs\t\tCPU µs\t\tclient\tgateway\trelay\tlogger\tdatabase\t\n")
	for _, name := range r.Order {
		fmt.Fprint(w, name)
		rounds := r.Rounds[name]
		for _, of := range []func(figures) float64{
			func(f figures) float64 { return f.Rate }, func(f figures) float64 { return f.P50 },
			func(f figures) float64 { return f.Mean }, func(f figures) float64 { return f.CPU },
		} {
			i, err := over(column(rounds, of))
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\t%.*f\t±%.*f", digits(i.Value), i.Value, digits(i.Value), *i.High-i.Value)
		}
		for _, part := range []string{"client", "gateway", "relay", "logger", "database"} {
			fmt.Fprintf(w, "\t%.1f", mean(column(rounds, func(f figures) float64 { return f.Parts[part] })))
		}
		fmt.Fprint(w, "\t\n")
	}
	fmt.Fprint(w, "\t\n")
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\toverhead\t\tfurther hop\t\toverhead / hop\t\tless direct over the inner wire\tthat / hop\t\n")
	for _, c := range r.Costs {
		fmt.Fprintf(w, "%s, %s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Wire, c.Measure, c.Overhead, c.Hop, c.Ratio, r.verdict(c), c.Inner, c.InnerRatio)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	o := r.Options
	_, err := fmt.Fprintf(out, "\noverhead: the chain through the gateway less %s; further hop: the chain with a relay less the one without\n"+
		"the fastest inner wire through the gateway: %s\n"+
		"means of %d rounds of %d slices of %v in random order, with 95 %% intervals; %d callers, closed loop; entries %q into %s\n",
		nameOf(direct, front), r.Fastest, o.Rounds, o.Slices, o.Slice, o.Callers, o.Requests, o.Database)
	return err
}

func (r *report) verdict(c cost) string {
	switch {
	case c.Within:
		return fmt.Sprintf("within %.3g", r.Options.Limit)
	case c.Misses:
		return fmt.Sprintf("above %.3g", r.Options.Limit)
	}
	return fmt.Sprintf("not told from %.3g", r.Options.Limit)
}

func digits(v float64) int {
	if math.Abs(v) >= 1000 {
		return 0
	}
	return 1
}

// String is the value and its interval.
func (i interval) String() string {
	end := func(v *float64, none string) string {
		if v == nil {
			return none
		}
		return fmt.Sprintf("%.*f", places(i.Value), *v)
	}
	return fmt.Sprintf("%.*f [%s, %s]", places(i.Value), i.Value, end(i.Low, "-∞"), end(i.High, "∞"))
}

func places(v float64) int {
	switch a := math.Abs(v); {
	case a >= 1000:
		return 0
	case a >= 20:
		return 1
	}
	return 2
}
