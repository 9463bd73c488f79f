package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"wirelab/lab/stat"
)

// alpha is how often an interval may miss.
const alpha = 0.05

// ratio is a cell's rate by raw's of the same kind. The gateway alone, which has
// no queue, is set beside the first kind's.
func (b *bench) ratio(c cell) (stat.Effect, error) {
	raw := cell{kind: cmp.Or(c.kind, b.kinds[0]), subject: subjectRaw}
	return stat.PairedRatio(rates(b.found[raw.name()]), rates(b.found[c.name()]), alpha)
}

func rates(all []outcome) []float64 {
	var rates []float64
	for _, one := range all {
		rates = append(rates, one.Rate)
	}
	return rates
}

// median is that of a value over rounds.
func median(all []outcome, of func(outcome) float64) float64 {
	var values []float64
	for _, one := range all {
		values = append(values, of(one))
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// parts are the processes' names, the driver first, then as entries pass them.
func parts(all []outcome) []string {
	place := func(name string) int {
		switch {
		case name == driverName:
			return 0
		case name == "gateway":
			return 1
		case name == brokerName:
			return 2
		case strings.HasPrefix(name, "listener"):
			return 3
		case name == "logger":
			return 4
		}
		return 5
	}
	return slices.SortedFunc(maps.Keys(all[0].CPU), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// print writes the table.
func (b *bench) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tentries/s\t/ raw\t95 %\tbacklog\tCPU µs\tof which")
	for _, c := range b.cells() {
		all := b.found[c.name()]
		effect, err := b.ratio(c)
		if err != nil {
			return err
		}
		interval := fmt.Sprintf("%.3f\t%.3f to %.3f", effect.Ratio, effect.Low, effect.High)
		if c.subject == subjectRaw {
			interval = "1\t"
		}
		sum, each := 0.0, []string{}
		for _, part := range parts(all) {
			used := median(all, func(o outcome) float64 { return o.CPU[part] })
			sum += used
			if used >= 0.5 {
				each = append(each, fmt.Sprintf("%s %.0f", part, used))
			}
		}
		fmt.Fprintf(w, "%s\t%.0f\t%s\t%.0f\t%.0f\t%s\n", c.name(), median(all, func(o outcome) float64 { return o.Rate }), interval,
			median(all, func(o outcome) float64 { return float64(o.Backlog) }), sum, strings.Join(each, ", "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, kind := range b.kinds {
		fmt.Fprintf(out, "%s raw: %v\n", kind, b.raw[kind])
	}
	_, err := fmt.Fprintf(out, "RabbitMQ %s; medians of %d rounds of %v in random order, entries of %d bytes of data, at most %d under way; CPU is per entry that came out\n",
		b.server.Version(), b.rounds, b.window, b.data, b.bound)
	return err
}

// line is a cell in JSON.
type line struct {
	Kind     string    `json:"kind,omitempty"`
	Subject  string    `json:"subject"`
	Database string    `json:"database,omitempty"`
	Ratio    float64   `json:"ratio"`
	Low      float64   `json:"low"`
	High     float64   `json:"high"`
	Rounds   []outcome `json:"rounds"`
}

// writeJSON writes all that was found.
func (b *bench) writeJSON(out io.Writer) error {
	var lines []line
	for _, c := range b.cells() {
		effect, err := b.ratio(c)
		if err != nil {
			return err
		}
		lines = append(lines, line{c.kind, c.subject, c.database, effect.Ratio, effect.Low, effect.High, b.found[c.name()]})
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		RabbitMQ string                 `json:"rabbitmq"`
		Raw      map[string]rawSettings `json:"raw"`
		Lines    []line                 `json:"lines"`
	}{b.server.Version(), b.raw, lines})
}
