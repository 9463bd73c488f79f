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

// quantity is what a published figure is of, and which of our metrics stands
// beside it.
type quantity struct {
	theirs, ours string // words before the figures; "" where the unit says it
	metric       string
	dimension    result.Dimension
	value        float64
}

func quantityOf(f plan.Published, l plan.Load) quantity {
	switch {
	case f.Rate > 0 && l.Streaming():
		return quantity{metric: plan.EventRate, dimension: result.Frequency, value: f.Rate}
	case f.Rate > 0 && l.Messaging():
		return quantity{metric: plan.MessageRate, dimension: result.Frequency, value: f.Rate}
	case f.Rate > 0:
		return quantity{metric: plan.Throughput, dimension: result.Frequency, value: f.Rate}
	case f.GapP99 > 0:
		// The gap between events is the period that the server sends at, and
		// no latency; it is shown beside the delivery that it was taken for.
		return quantity{theirs: "p99 of gaps ", ours: "p99 of delivery ", metric: plan.DeliveryP99, dimension: result.Time, value: float64(f.GapP99)}
	case f.P99 > 0:
		return quantity{theirs: "p99 ", ours: "p99 ", metric: plan.ResponseP99, dimension: result.Time, value: float64(f.P99)}
	}
	return quantity{metric: plan.ResponseMean, dimension: result.Time, value: float64(f.Mean)}
}

// Published sets published figures beside ours, each under the first load with
// its operation. They are shown and never computed with.
func Published(r *result.Result, a *result.Analysis) []PublishedRow {
	var rows []PublishedRow
	for _, p := range r.Plan.Published {
		line := PublishedRow{Operation: p.Operation, Arm: p.Arm, Theirs: theirs(p), Ours: Absent, Source: source(p)}
		if l := loadOf(r.Plan, a, p); l != nil {
			q := quantityOf(p, r.Plan.Loads[l.Load])
			row := l.Row(q.metric)
			for i := range l.Arms {
				switch {
				case r.ArmName(i) != p.Arm:
				case row != nil && row.Cells[i].Estimate.Known:
					e := row.Cells[i].Estimate
					line.Ours = q.ours + With(e, UnitFor(q.dimension, e.Value))
				case row != nil && row.Cells[i].Estimate.ShownRefused() != nil:
					e := row.Cells[i].Estimate
					value, _ := IsRefused(With(e, UnitFor(q.dimension, e.Refused.Value)))
					line.Ours = Refused(q.ours + value)
				case q.metric == plan.MessageRate && l.Arms[i].Achieved > 0 && l.Arms[i].Spoiled(result.MustMetric(q.metric)) == "":
					// At a rate there is no estimate of the most: it is what was asked for, if it came to that.
					e := result.Estimate{Known: true, Value: l.Arms[i].Achieved * float64(max(r.Plan.Loads[l.Load].Batch, 1))}
					line.Ours = With(e, UnitFor(q.dimension, e.Value))
				}
			}
		}
		rows = append(rows, line)
	}
	for _, arm := range r.Absent {
		for _, p := range arm.Published {
			rows = append(rows, PublishedRow{Operation: p.Operation, Arm: p.Arm, Theirs: theirs(p), Ours: "absent", Source: source(p)})
		}
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
	q := quantityOf(f, plan.Load{})
	u := UnitFor(q.dimension, q.value)
	text := q.theirs + Significant(q.value/u.Size, 3)
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
	p := r.Plan
	text := "Means, ours " + strings.ToLower(Load(p, 0)) + "."
	if slices.ContainsFunc(p.Published, func(f plan.Published) bool { return f.Mean == 0 }) {
		what := "Calls"
		switch {
		case p.Loads[0].Streaming():
			what = "Events"
		case p.Loads[0].Messaging():
			what = "Messages acknowledged"
		}
		text = what + " per second in all, ours " + p.Loads[0].Pace() + "."
	}
	if slices.ContainsFunc(p.Published, func(f plan.Published) bool { return f.GapP99 > 0 }) {
		text += " What was published as latency is the time between events, which the server's own period sets; ours is from when an event was due until it was decoded."
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
		line := fmt.Sprintf(form, who, key)
		if len(p.Arms) == 1 { // there is no other that it could be of
			line = strings.NewReplacer(" of "+who+":", ":", " ("+who+"):", ":").Replace(line)
		}
		lines = append(lines, line)
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
