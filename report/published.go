package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/plan"
	"wirelab/result"
)

// PublishedRow is a figure of others beside ours.
type PublishedRow struct {
	// Operation is "" where the experiment has one.
	Operation, Arm, Theirs, Ours, Source string
}

// Published sets published figures beside ours: mean times beside our mean
// response times, rates beside our throughput, under the first load with the
// figure's operation. They are shown and never computed with.
func Published(r *result.Result, a *result.Analysis) []PublishedRow {
	var rows []PublishedRow
	for _, p := range r.Plan.Published {
		line := PublishedRow{Operation: p.Operation, Arm: p.Arm, Theirs: theirs(p), Ours: Absent, Source: source(p)}
		if l := loadOf(r.Plan, a, p); l != nil {
			id, dimension := plan.ResponseMean, result.Time
			if p.Rate > 0 {
				id, dimension = plan.Throughput, result.Frequency
			}
			row := l.Row(id)
			for i := range l.Arms {
				if r.ArmName(i) == p.Arm && row != nil && row.Cells[i].Estimate.Known {
					e := row.Cells[i].Estimate
					line.Ours = With(e, UnitFor(dimension, e.Value))
				}
			}
		}
		rows = append(rows, line)
	}
	return rows
}

// loadOf is the load that a published figure is set beside; nil: there is none.
func loadOf(p plan.Plan, a *result.Analysis, f plan.Published) *result.LoadAnalysis {
	for i, l := range a.Loads {
		if f.Operation == "" || p.OperationOf(p.Loads[l.Load]) == f.Operation {
			return &a.Loads[i]
		}
	}
	return nil
}

// theirs is a published figure as it was published.
func theirs(f plan.Published) string {
	if f.Rate == 0 {
		return duration(float64(f.Mean))
	}
	u := UnitFor(result.Frequency, f.Rate)
	text := Significant(f.Rate/u.Size, 3)
	if f.PlusMinus > 0 {
		text += " ± " + Significant(f.PlusMinus/u.Size, 2)
	}
	return text + " " + u.Name
}

func duration(ns float64) string {
	u := UnitFor(result.Time, ns)
	return fmt.Sprintf("%s %s", Significant(ns/u.Size, 3), u.Name)
}

// PublishedCaption says what the figures are of, and what may be read from them.
func PublishedCaption(r *result.Result) string {
	text := "Means, ours " + strings.ToLower(Load(r.Plan, 0)) + "."
	if slices.ContainsFunc(r.Plan.Published, func(f plan.Published) bool { return f.Rate > 0 }) {
		text = "Calls per second, ours " + r.Plan.Loads[0].Pace() + "."
	}
	return text + " Machines differ: only the order of the arms can be compared."
}

// PublishedByOperation reports whether the figures are of several operations.
func PublishedByOperation(p plan.Plan) bool {
	return slices.ContainsFunc(p.Published, func(f plan.Published) bool { return f.Operation != "" })
}

// PublishedNotes say where published figures come from, and which of their
// flaws ours are free of.
func PublishedNotes(p plan.Plan) []string {
	notes := gather(p, "published figures of %s: %s", func(f plan.Published) []string { return []string{source(f)} })
	return append(notes, gather(p, "a flaw there and not here (%s): %s", func(f plan.Published) []string {
		words := make([]string, len(f.Flaws))
		for i, id := range f.Flaws {
			words[i] = plan.Flaw(id)
		}
		return words
	})...)
}

// gather writes a line for each thing that is so of published figures, with
// the arms of which it is.
func gather(p plan.Plan, form string, of func(plan.Published) []string) []string {
	arms := map[string][]string{}
	var order, lines []string
	for _, f := range p.Published {
		for _, key := range of(f) {
			if arms[key] == nil {
				order = append(order, key)
			}
			if !slices.Contains(arms[key], f.Arm) {
				arms[key] = append(arms[key], f.Arm)
			}
		}
	}
	for _, key := range order {
		who := list(arms[key])
		if len(arms[key]) == publishedArms(p) && len(arms[key]) > 1 {
			who = "all"
		}
		lines = append(lines, fmt.Sprintf(form, who, key))
	}
	return lines
}

// publishedArms is how many arms have a published figure.
func publishedArms(p plan.Plan) int {
	arms := map[string]bool{}
	for _, f := range p.Published {
		arms[f.Arm] = true
	}
	return len(arms)
}

func source(f plan.Published) string {
	if f.Machine == "" {
		return f.Source
	}
	return f.Source + " (" + f.Machine + ")"
}

// Duration writes a duration with three digits: "49.0 µs".
func Duration(d time.Duration) string { return duration(float64(d)) }
