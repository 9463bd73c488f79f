package report

import (
	"fmt"
	"time"

	"wirelab/plan"
	"wirelab/result"
)

// PublishedRow is a figure of others beside ours.
type PublishedRow struct {
	Arm, Theirs, Ours, Source string
}

// Published sets published means beside our mean response times under the
// first load. They are shown and never computed with.
func Published(r *result.Result, a *result.Analysis) []PublishedRow {
	var rows []PublishedRow
	if len(a.Loads) == 0 {
		return nil
	}
	row := a.Loads[0].Row(plan.ResponseMean)
	for _, p := range r.Plan.Published {
		line := PublishedRow{Arm: p.Arm, Theirs: duration(float64(p.Mean)), Ours: Absent, Source: source(p)}
		for i := range a.Loads[0].Arms {
			if r.ArmName(i) == p.Arm && row != nil && row.Cells[i].Estimate.Known {
				e := row.Cells[i].Estimate
				line.Ours = With(e, UnitFor(result.Time, e.Value))
			}
		}
		rows = append(rows, line)
	}
	return rows
}

func duration(ns float64) string {
	u := UnitFor(result.Time, ns)
	return fmt.Sprintf("%s %s", Significant(ns/u.Size, 3), u.Name)
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
			arms[key] = append(arms[key], f.Arm)
		}
	}
	for _, key := range order {
		who := list(arms[key])
		if len(arms[key]) == len(p.Published) && len(arms[key]) > 1 {
			who = "all"
		}
		lines = append(lines, fmt.Sprintf(form, who, key))
	}
	return lines
}

func source(f plan.Published) string {
	if f.Machine == "" {
		return f.Source
	}
	return f.Source + " (" + f.Machine + ")"
}

// Duration writes a duration with three digits: "49.0 µs".
func Duration(d time.Duration) string { return duration(float64(d)) }
