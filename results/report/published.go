package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/results/report/block"
)

// PublishedRow sets one published figure next to ours.
type PublishedRow struct {
	// Operation is "" if the experiment has only one. Load is "" if all figures are for one load.
	Operation, Load string
	// Arm is the source's name for the row. The name of our arm follows if it is different.
	Arm string
	// Theirs has exactly the digits that were published. TheirShare and OurShare are percentages of the first figure
	// of the same quantity; "" if there is no other figure of it.
	Theirs, TheirShare, Ours, OurShare string
	Source                             string
}

// quantity is what a published figure measures, and which of our metrics is shown next to it.
type quantity struct {
	theirs, ours string // words before the figures; "" if the unit is clear enough
	metric       string
	dimension    metric.Dimension
	value        float64
}

func quantityOf(f plan.Published, l plan.Load) quantity {
	switch {
	case f.Rate > 0:
		return quantity{metric: kinds.Of(l).Rate, dimension: metric.Frequency, value: f.Rate}
	case f.GapP99 > 0:
		// The gap between events is the period at which the server sends; it is not a latency. It is shown next to
		// the delivery time, which it was taken for.
		return quantity{
			theirs: "p99 of gaps ", ours: "p99 of delivery ", metric: plan.DeliveryP99,
			dimension: metric.Time, value: float64(f.GapP99),
		}
	case f.P99 > 0:
		return quantity{
			theirs: "p99 ", ours: "p99 ", metric: plan.ResponseP99, dimension: metric.Time,
			value: float64(f.P99),
		}
	}
	return quantity{metric: plan.ResponseMean, dimension: metric.Time, value: float64(f.Mean)}
}

// figure is a published figure and the position of our figure.
type figure struct {
	f   plan.Published
	q   quantity
	l   *claim.LoadAnalysis // nil: there is no such load
	arm int                 // −1: there is no such arm
}

// figures returns the published figures of a plan in their order. Those of absent arms follow.
func figures(r *result.Result, a *claim.Analysis) []figure {
	var all []figure
	add := func(f plan.Published, arm int) {
		one := figure{f: f, arm: arm, l: loadOf(r.Plan, a, f)}
		one.q = quantityOf(f, plan.Load{})
		if one.l != nil {
			one.q = quantityOf(f, r.Plan.Loads[one.l.Load])
		}
		all = append(all, one)
	}
	for _, f := range r.Plan.Published {
		add(f, armAt(r, f.Arm))
	}
	for _, gone := range r.Absent {
		for _, f := range gone.Published {
			add(f, -1)
		}
	}
	return all
}

// estimate returns our estimate for a figure. At a fixed rate there is no estimate of the highest message rate: the
// estimate is then the rate that was asked for, if it was reached.
func (one figure) estimate(r *result.Result) claim.Estimate {
	if one.l == nil || one.arm < 0 || one.arm >= len(one.l.Arms) {
		return claim.Estimate{}
	}
	if row := one.l.Row(one.q.metric); row != nil && one.arm < len(row.Cells) {
		if e := row.Cells[one.arm].Estimate; e.Known || e.ShownRefused() != nil {
			return e
		}
	}
	arm := &one.l.Arms[one.arm]
	if one.q.metric == plan.MessageRate && arm.Achieved > 0 && arm.Spoiled(kinds.MustMetric(one.q.metric)) == "" {
		return claim.Estimate{Known: true, Value: arm.Achieved * float64(max(r.Plan.Loads[one.l.Load].Batch, 1))}
	}
	return claim.Estimate{}
}

// alike reports whether two figures are of the same quantity under the same load.
func (one figure) alike(other figure) bool {
	return one.f.Operation == other.f.Operation && one.l == other.l && one.q.metric == other.q.metric
}

// Published returns the published figures with ours, each under its own load. Published figures are only shown. The
// one calculation with them is their share of the first.
func Published(r *result.Result, a *claim.Analysis) []PublishedRow {
	var rows []PublishedRow
	all := figures(r, a)
	several := slices.ContainsFunc(r.Plan.Published, func(f plan.Published) bool { return f.Load > 1 })
	for i, one := range all {
		row := PublishedRow{
			Operation: one.f.Operation, Arm: rowName(r.Plan, one.f),
			Theirs: theirs(one.f), Ours: ours(r, one), Source: source(one.f),
		}
		if several && one.l != nil {
			row.Load = paceName(r.Plan.Loads[one.l.Load])
		}
		if first := slices.IndexFunc(all, one.alike); slices.ContainsFunc(all[i+1:], one.alike) || first < i {
			row.TheirShare = share(one.q.value, all[first].q.value)
			if mine, base := one.estimate(r), all[first].estimate(r); mine.Known && base.Known {
				row.OurShare = share(mine.Value, base.Value)
			}
		}
		rows = append(rows, row)
		if one.f.Min > 0 || one.f.Max > 0 {
			row.Arm, row.TheirShare, row.OurShare = "", "", ""
			row.Theirs, row.Ours = "from "+extremes(one.f.Min, one.f.Max), ourExtremes(r, one)
			rows = append(rows, row)
		}
	}
	return rows
}

// rowLimit is the greatest length of a row's name, which has the source's name and the arm's.
const rowLimit = 32

// rowName returns the source's name for a row. It adds the name of our arm if that says more and there are several
// arms.
func rowName(p plan.Plan, f plan.Published) string {
	both := f.Row + ": " + f.Arm
	switch {
	case f.Row == "" || strings.Contains(strings.ToLower(f.Arm), strings.ToLower(f.Row)):
		return f.Arm
	case f.Arm == "" || len(p.Arms) == 1 || utf8.RuneCountInString(both) > rowLimit:
		return f.Row
	}
	return both
}

// share writes a figure in percent of the first.
func share(v, first float64) string {
	if first <= 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*v/first)
}

// ours writes our figure for a published one.
func ours(r *result.Result, one figure) string {
	switch e := one.estimate(r); {
	case one.f.Missing != "":
		return "no such arm"
	case slices.ContainsFunc(r.Absent, func(gone result.Absent) bool { return gone.Name() == one.f.Arm }):
		return "absent"
	case e.Known:
		return one.q.ours + With(e, UnitFor(one.q.dimension, e.Value))
	case e.ShownRefused() != nil:
		value, _ := IsRefused(With(e, UnitFor(one.q.dimension, e.Refused.Value)))
		return Refused(one.q.ours + value)
	}
	return Absent
}

// ourExtremes writes our shortest and longest time, if the mean is known.
func ourExtremes(r *result.Result, one figure) string {
	e := one.estimate(r)
	if !e.Known && e.ShownRefused() == nil {
		return Absent
	}
	low, high, some := int64(0), int64(0), false
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			if t.Arm != one.arm || t.Load != one.l.Load || t.Response.Count() == 0 {
				continue
			}
			if !some || t.Response.Min() < low {
				low = t.Response.Min()
			}
			high, some = max(high, t.Response.Max()), true
		}
	}
	if !some {
		return Absent
	}
	u := UnitFor(metric.Time, float64(high))
	text := "from " + Significant(float64(low)/u.Size, 3) + " to " + Significant(float64(high)/u.Size, 3) + " " + u.Name
	if !e.Known {
		return Refused(text)
	}
	return text
}

// extremes writes two published times in one unit, with exactly their digits.
func extremes(low, high plan.Duration) string {
	u := UnitFor(metric.Time, float64(max(low, high)))
	return exact(float64(low)/u.Size) + " to " + exact(float64(high)/u.Size) + " " + u.Name
}

// exact writes a number with all its digits and with commas between thousands.
func exact(v float64) string {
	return group(strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64))
}

// loadOf returns the load that a published figure is compared under, or nil.
func loadOf(p plan.Plan, a *claim.Analysis, f plan.Published) *claim.LoadAnalysis {
	for i, l := range a.Loads {
		switch {
		case f.Load > 0 && l.Load != f.Load-1:
		case f.Operation == "" || p.OperationOf(p.Loads[l.Load]) == f.Operation:
			return &a.Loads[i]
		}
	}
	return nil
}

// theirs writes a published figure with exactly the digits that were published.
func theirs(f plan.Published) string {
	q := quantityOf(f, plan.Load{})
	u := UnitFor(q.dimension, q.value)
	text := q.theirs + exact(q.value/u.Size)
	if f.PlusMinus > 0 {
		text += " ± " + exact(f.PlusMinus/u.Size)
	}
	if u.Name[0] == '/' {
		return text + u.Name
	}
	return text + " " + u.Name
}

func duration(ns float64) string {
	u := UnitFor(metric.Time, ns)
	return fmt.Sprintf("%s %s", Significant(ns/u.Size, 3), u.Name)
}

// PublishedCaption says what the figures measure.
func PublishedCaption(r *result.Result) string {
	p := r.Plan
	pace := strings.ToLower(Load(p, 0))
	if slices.ContainsFunc(p.Published, func(f plan.Published) bool { return f.Load > 1 }) {
		pace = "under the same load"
	}
	text := "Means, ours " + pace + "."
	if slices.ContainsFunc(p.Published, func(f plan.Published) bool { return f.Mean == 0 }) {
		what := ShapeOf(p.Loads[0].Kind()).Done
		if pace != "under the same load" {
			pace = p.Loads[0].Pace()
		}
		text = what + " per second in all, ours " + pace + "."
	}
	if slices.ContainsFunc(p.Published, func(f plan.Published) bool { return f.GapP99 > 0 }) {
		text += " The published latency is the time between events, which the server's period determines; " +
			"ours is the time from when an event was due until it was decoded."
	}
	if len(p.Published) > 1 && len(p.Arms) > 1 {
		text += " Percentages are of the first figure of the same quantity."
	}
	return text
}

// PublishedTable sets published figures next to ours.
func PublishedTable(r *result.Result, a *claim.Analysis) *block.Table {
	rows := Published(r, a)
	t := &block.Table{
		ID: "published", Caption: PublishedCaption(r),
		Columns: block.Columns("operation", "load", "arm", ">published", ">of the first", ">here", ">of the first",
			"source"),
		Notes: block.Notes{Kind: block.Source, Lines: []string{"from " + said(r.Plan, source)}},
	}
	t.Columns[0].Told, t.Columns[4].Short, t.Columns[6].Short = true, "%", "%"
	load, share := false, false
	for _, row := range rows {
		t.Add(block.Texts(cmp.Or(row.Operation, r.Plan.Operation), row.Load, row.Arm, row.Theirs, row.TheirShare,
			row.Ours,
			row.OurShare, row.Source)...)
		load, share = load || row.Load != "", share || row.TheirShare != ""
		t.Columns[0].Told = t.Columns[0].Told && row.Operation == ""
	}
	if !load {
		t = t.Without(false, "load")
	}
	if !share {
		t = t.Without(false, "of the first")
	}
	return t
}

// PublishedBlocks returns the table of published figures and the notes on them; none if nothing was published.
func PublishedBlocks(r *result.Result, a *claim.Analysis) []block.Block {
	parts := PublishedParts(r, a)
	if len(parts) == 0 && (!HasPublished(r) || len(a.Loads) == 0) {
		return nil
	}
	all := []block.Block{block.Heading{Text: PublishedTitle(r)}}
	if HasPublished(r) {
		all = append(all, PublishedTable(r, a))
	}
	for i, part := range parts {
		if i > 0 || HasPublished(r) {
			all = append(all, block.Pause{})
		}
		all = append(all, block.Notes{Title: part.Title, Lines: part.Lines})
	}
	return all
}

// PublishedTitle is the heading over published figures and the notes on them. A plan that has only notes gets another
// heading.
func PublishedTitle(r *result.Result) string {
	if HasPublished(r) {
		return "Published elsewhere, for comparison only"
	}
	return "About this experiment"
}

// HasPublished reports whether there are published figures, including those that only absent arms have.
func HasPublished(r *result.Result) bool {
	return len(r.Plan.Published) > 0 || slices.ContainsFunc(r.Absent,
		func(a result.Absent) bool { return len(a.Published) > 0 })
}

// publishedArms counts the arms that have a published figure.
func publishedArms(p plan.Plan) int {
	arms := map[string]bool{}
	for _, f := range p.Published {
		if f.Arm != "" {
			arms[f.Arm] = true
		}
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
