package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/kind/entries"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/rank"
	phrases "wirelab/lab/result/words"
)

// DecisionTable says which way of delivering an entry to use when, as far as it was measured: a row for each need. It
// is drawn as a title, a list of the conditions, a table with the columns need, first, others and what to know, a
// list of the promises, and the method in small print. [Decision] says what each column contains.
type DecisionTable struct {
	// Title is the load, or the subject of a table that has no load.
	Title string `json:"title"`
	// Load is the index of the load; -1 for the table of failing parts.
	Load int `json:"load"`
	// Conditions hold for every row: load, database, brokers, machine, rounds.
	Conditions []Fact     `json:"conditions"`
	Rows       []Decision `json:"rows"`
	// Promises say for every way what its caller can rely on after a successful answer.
	Promises []string `json:"promises"`
	// Method says what a first place means.
	Method string `json:"method"`
}

// Decision is one row: one need, and what was measured for it.
type Decision struct {
	// Need is the first column: what the reader wants, in plain words.
	Need string `json:"need"`
	// Metric is the id of the ranked metric, "kept", or the fault.
	Metric string `json:"metric"`
	// State is a [claim.LeadersState], or "counted", "not asked", "one run" or "not measured".
	State string `json:"state"`
	// Says is the whole row as sentences, for formats without columns.
	Says string `json:"says"`
	// Lead is Says without the figures of the others: the second column.
	Lead string `json:"lead"`
	// First are the ways that Lead puts first. Others are the rest that have a figure, the best first. Refused are
	// those without one, each with its reason.
	First   []Way `json:"first"`
	Others  []Way `json:"others,omitempty"`
	Refused []Way `json:"refused,omitempty"`
	// Notes are what must be known about this row: that the first way answers before an entry is durable, which is
	// first of those that do not, and what was not measured.
	Notes []string `json:"notes,omitempty"`
	// Holds says in one line under which conditions the row holds.
	Holds string `json:"holds"`
}

// Way is one way in a row.
type Way struct {
	Name string `json:"name"`
	// Figure is its value with the unit and marks, Behind its difference from the first with the interval. Why says
	// why it has no figure.
	Figure string `json:"figure,omitempty"`
	Behind string `json:"behind,omitempty"`
	Why    string `json:"why,omitempty"`
	// Refused is the measured value, marked, if a check refused it and it is to be printed.
	Refused string `json:"refused,omitempty"`
	// Saw, Back and Lost are columns of the table of failures. Figure joins them.
	Saw  string `json:"saw,omitempty"`
	Back string `json:"back,omitempty"`
	Lost string `json:"lost,omitempty"`
	// Early marks a way whose caller is answered before the entry is durable.
	Early bool `json:"early,omitempty"`
}

// earlyMark follows the name of a way that answers before the entry is durable.
const earlyMark = "°"

// Text writes the way as an item of a list: "log-nats° 1.2 ms (+12 % [+10, +14])".
func (w Way) Text() string {
	text := w.Label() + " " + cmp.Or(w.Figure, Absent)
	if w.Why != "" {
		text = w.Label() + ": " + strings.TrimSpace(w.Refused+" "+w.Why)
	}
	if w.Behind != "" {
		text += " (" + w.Behind + ")"
	}
	return text
}

// Refusals describes the ways of a row that have no figure. A reason that an earlier row gave for the same way in the
// same words is repeated only if it is short.
func (t DecisionTable) Refusals(row int) []string {
	var fresh []Way
	var again []string
	for _, w := range t.Rows[row].Refused {
		if len(w.Why) > shortWhy &&
			slices.ContainsFunc(t.Rows[:row], func(above Decision) bool { return slices.Contains(above.Refused, w) }) {
			again = append(again, w.Label())
			continue
		}
		fresh = append(fresh, w)
	}
	texts := Texts(fresh)
	if len(again) > 0 {
		texts = append(texts, List(again)+": as above")
	}
	return texts
}

// shortWhy is the length in bytes up to which a reason is repeated.
const shortWhy = 40

// Texts writes ways as [Way.Text] does. It groups ways without a figure by their reason: "log-grpc and log-http: not
// measured".
func Texts(ways []Way) []string {
	who := map[string][]string{}
	var all []string
	for _, w := range ways {
		if w.Why != "" && w.Refused == "" {
			who[w.Why] = append(who[w.Why], w.Label())
		}
	}
	for _, w := range ways {
		switch together := who[w.Why]; {
		case w.Why == "" || w.Refused != "":
			all = append(all, w.Text())
		case len(together) > 0:
			all = append(all, List(together)+": "+w.Why)
			delete(who, w.Why)
		}
	}
	return all
}

// Label is the name of the way, with the mark if it answers too early.
func (w Way) Label() string {
	if w.Early {
		return w.Name + earlyMark
	}
	return w.Name
}

// Decisions returns the tables of which way to use when. There is one for each load under which the entries of every
// arm were followed until they were stored, and one from outages for failing parts. Experiments of other kinds have
// none. A load that belongs to a curve has none, since the rates of a curve are one question.
func Decisions(r *result.Result, a *claim.Analysis, outages []Outage) []DecisionTable {
	var tables []DecisionTable
	for i := range a.Loads {
		l := &a.Loads[i]
		if len(l.Rankings) == 0 || InCurve(a, l.Load) || Empty(l) {
			continue
		}
		t := DecisionTable{
			Title: LoadName(r.Plan, l.Load), Load: l.Load, Conditions: conditions(r, a, l),
			Method: decisionMethod(r, l),
		}
		for _, c := range l.Rankings {
			t.Rows = append(t.Rows, contested(r, l, c))
		}
		if l.Open {
			t.Rows = append(t.Rows, notAsked(r, l))
		}
		t.Rows = append(t.Rows, kept(r, l))
		for arm := range l.Arms {
			t.Promises = append(t.Promises, wayOf(r, l, arm).Label()+" "+Promise(r, arm))
		}
		tables = append(tables, t)
	}
	if len(tables) > 0 {
		tables = append(tables, failures(r, outages))
	}
	return tables
}

// needs describes the need that a metric answers.
func needs(id string) string {
	return map[string]string{
		plan.ResponseP50:  "fastest answer to the caller, for half of all entries",
		plan.ResponseP99:  "fastest answer to the caller, for 99 of 100 entries",
		plan.ConfirmedP50: "confirmed soonest, for half of all entries",
		plan.StoredP50:    "stored soonest, for half of all entries", plan.StoredP99: "stored soonest, for 99 of 100 entries",
		rank.StoredRate:  "most entries stored per second",
		rank.PipelineCPU: "least CPU for an entry, over all processes",
	}[id]
}

// contested returns the row of one metric.
func contested(r *result.Result, l *claim.LoadAnalysis, c claim.Ranking) Decision {
	m, _ := rank.ContestMetric(c.Metric) // the ranking was made from a known metric
	d := Decision{Need: needs(c.Metric), Metric: c.Metric, State: string(c.All.State), First: []Way{}}
	var values []float64
	for _, e := range c.Entrants {
		if e.Estimate.Known {
			values = append(values, e.Estimate.Value)
		} else if one := e.Estimate.ShownRefused(); one != nil {
			values = append(values, one.Value)
		}
	}
	unit := UnitFor(m.Dimension, values...)
	way := func(arm int) Way {
		e, w := c.Entrants[arm], wayOf(r, l, arm)
		if !e.Estimate.Known {
			if w.Why = e.Estimate.Why; e.Estimate.ShownRefused() != nil {
				w.Refused = With(e.Estimate, unit)
			}
			return w
		}
		w.Figure = With(e.Estimate, unit) + Marks(&l.Arms[arm], gatedBy(m))
		if e.Behind != nil {
			w.Behind = behind(e.Behind)
		}
		return w
	}
	for _, arm := range c.All.First {
		d.First = append(d.First, way(arm))
	}
	for _, arm := range ordered(c, m) {
		if !slices.Contains(c.All.First, arm) {
			d.Others = append(d.Others, way(arm))
		}
	}
	for arm, e := range c.Entrants {
		if !e.Estimate.Known {
			d.Refused = append(d.Refused, way(arm))
		}
	}
	d.Refused = append(d.Refused, absentWays(r)...)
	d.Lead = leads(c, c.All, m, way)
	if len(d.Refused) > 0 && len(d.First) > 1 || c.All.State == claim.LeaderClear && len(d.Refused) > 0 {
		d.Lead = "of those with a figure, " + d.Lead
	}
	d.Notes = append(d.Notes, early(r, d.First)...)
	if c.Durable != nil && c.All.State != claim.LeadersFew &&
		slices.ContainsFunc(d.First, func(w Way) bool { return w.Early }) {
		d.Notes = append(d.Notes, "of those that answer only when the entry is durable: "+leads(c, *c.Durable, m, way))
	}
	d.Holds = holds(r, l, c.All.First)
	d.Says = sentences(d)
	return d
}

// gatedBy returns the metric whose marks apply to the figures of a ranking.
func gatedBy(m metric.Metric) metric.Metric {
	id := m.ID
	switch id {
	case rank.StoredRate:
		id = plan.Throughput
	case rank.PipelineCPU:
		id = plan.ServerCPU
	}
	found, _ := kinds.MetricByID(id) // known: it is one of our metrics
	return found
}

// ordered returns the arms that have a figure, the best first.
func ordered(c claim.Ranking, m metric.Metric) []int {
	var arms []int
	for a, e := range c.Entrants {
		if e.Estimate.Known {
			arms = append(arms, a)
		}
	}
	slices.SortStableFunc(arms, func(a, b int) int {
		x, y := c.Entrants[a].Estimate.Value, c.Entrants[b].Estimate.Value
		if m.Higher {
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
	return arms
}

// behind writes a difference from the first: "+12 % [+10, +14]".
func behind(d *claim.Difference) string {
	if !d.Known {
		return cmp.Or(d.Why, string(d.Verdict))
	}
	return Change(d) + " " + Interval(d)
}

// decided returns the words for comparing ways by a metric.
func decided(m metric.Metric) worded {
	switch m.ID {
	case rank.StoredRate:
		return worded{more: "stores %s more", less: "stores %s fewer"}
	case rank.PipelineCPU:
		return worded{more: "costs %s more", less: "costs %s less"}
	}
	return worded{more: "takes %s longer", less: "takes %s less time"}
}

// leads says which way is first, and by how much.
func leads(c claim.Ranking, p claim.Leaders, m metric.Metric, way func(int) Way) string {
	var ways []string
	for _, arm := range p.First {
		w, text := way(arm), ""
		if p.State == claim.LeadersShared && arm != p.First[0] && p.First[0] == c.All.First[0] {
			text = ", " + w.Behind
		}
		ways = append(ways, w.Label()+" ("+w.Figure+text+")")
	}
	switch p.State {
	case claim.LeadersNone:
		return "no way has a figure"
	case claim.LeaderAlone:
		return "only " + ways[0] + " has a figure, and there is nothing to compare it with"
	case claim.LeaderClear:
		return ways[0] + "; " + phrase(decided(m), way(p.Next).Label(), p.Lead)
	case claim.LeadersAlike:
		return List(ways) + ": equivalent " + Margin(marginOf(c, p))
	case claim.LeadersFew:
		return fmt.Sprintf("no way is put first: a claim among so many pairs needs %d rounds; so far %s", p.Needed,
			List(ways))
	}
	return "undecided between " + List(ways)
}

// marginOf is the margin of equivalence within which the first ways are alike.
func marginOf(c claim.Ranking, p claim.Leaders) float64 {
	for _, arm := range p.First {
		if d := c.Entrants[arm].Behind; d != nil {
			return d.Margin
		}
	}
	return 0
}

// early names the first ways that answer before an entry is durable.
func early(r *result.Result, first []Way) []string {
	var notes []string
	for _, w := range first {
		if !w.Early {
			continue
		}
		for arm := range r.Plan.Arms {
			if r.ArmName(arm) == w.Name {
				notes = append(notes, w.Label()+" "+earlyWords(r, arm))
			}
		}
	}
	return notes
}

// sentences writes a row as sentences.
func sentences(d Decision) string {
	text := d.Need + ": " + d.Lead
	if d.State == "one run" {
		text += ": " + strings.Join(Texts(d.First), "; ")
	}
	for _, part := range []struct {
		lead string
		ways []Way
	}{{"; behind: ", d.Others}, {"; no figure: ", d.Refused}} {
		if len(part.ways) > 0 {
			text += part.lead + strings.Join(Texts(part.ways), ", ")
		}
	}
	return strings.Join(append([]string{text}, d.Notes...), ". ") + "."
}

// wayOf returns an arm as a way without a figure.
func wayOf(r *result.Result, l *claim.LoadAnalysis, arm int) Way {
	return Way{Name: l.Arms[arm].Name, Early: !r.Durable(arm)}
}

// notAsked returns the row for throughput, which an open loop cannot measure since its rate is given.
func notAsked(r *result.Result, l *claim.LoadAnalysis) Decision {
	d := Decision{
		Need: needs(rank.StoredRate), Metric: rank.StoredRate, State: "not asked", First: []Way{},
		Holds: holds(r, l, nil),
		Lead: "not asked: every way was sent the same load, " + paceName(r.Plan.Loads[l.Load]) +
			"; a closed loop (--in-flight) measures it",
	}
	d.Says = sentences(d)
	return d
}

// kept returns the row of entries that were lost, duplicated or reordered without any fault.
func kept(r *result.Result, l *claim.LoadAnalysis) Decision {
	d := Decision{Need: "no accepted entry lost", Metric: "kept", State: "counted", First: []Way{}}
	var sound []int
	for a := range l.Arms {
		arm, w := &l.Arms[a], wayOf(r, l, a)
		e := entries.StateOf(arm)
		switch {
		case arm.Rounds == 0:
			w.Why = "not measured"
			if why := arm.Invalid(); len(why) > 0 {
				w.Why = why[0]
			}
			d.Refused = append(d.Refused, w)
		case e.Missing > 0:
			w.Why = fmt.Sprintf("%s of %s missing", phrases.Thousands(e.Missing), phrases.Thousands(e.Accepted))
			d.Refused = append(d.Refused, w)
		default:
			w.Figure = fmt.Sprintf("0 of %s", phrases.Thousands(e.Accepted))
			if e.Accepted > 0 {
				w.Figure += fmt.Sprintf(", so at most 1 in %s",
					phrases.Thousands(uint64(1/rank.MostMissing(e.Accepted))))
			}
			d.First, sound = append(d.First, w), append(sound, a)
		}
		if e.Duplicated > 0 {
			d.Notes = append(d.Notes,
				fmt.Sprintf("%s: %s came to the store again, and were stored once", w.Label(),
					phrases.Thousands(e.Duplicated)))
		}
		if e.Reordered > 0 {
			d.Notes = append(d.Notes,
				fmt.Sprintf("%s: %s were stored before one that the same caller had sent earlier", w.Label(),
					phrases.Thousands(e.Reordered)))
		}
	}
	d.Refused = append(d.Refused, absentWays(r)...)
	var ways []string
	for _, w := range d.First {
		ways = append(ways, w.Label()+" ("+w.Figure+")")
	}
	d.Lead = cmp.Or(List(ways), "none of them")
	d.Notes = append(d.Notes, "counted while nothing failed; bounds hold with 95 % confidence")
	d.Holds = holds(r, l, sound)
	d.Says = sentences(d)
	return d
}

// decisionMethod says what a first place means.
func decisionMethod(r *result.Result, l *claim.LoadAnalysis) string {
	text := fmt.Sprintf("A way is first if it was proved better than each other way: every pair is compared within "+
		"every round, interval and sign-flip test agree, the difference is at least %s, and it remains after Holm's "+
		"correction over the pairs of its row and Benjamini and Hochberg's over the whole table. Ways that cannot be "+
		"told apart from the first are named with it. Intervals are 95 %%.", given(Practical(r)))
	if slices.ContainsFunc(l.Rankings, func(c claim.Ranking) bool {
		return slices.ContainsFunc(c.Entrants, func(e claim.Entry) bool { return !e.Durable })
	}) {
		text += " " + earlyMark + " answers before the entry is durable, or that is not known."
	}
	return text
}
