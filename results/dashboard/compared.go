package dashboard

import (
	"fmt"
	"net/http"
	"strings"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result/claim"
	histories "wirelab/lab/result/history"
	"wirelab/lab/result/metric"
	"wirelab/results/report"
)

// comparePage is the data of the page of a comparison.
type comparePage struct {
	frame
	Heads []compareHead
	Pairs []comparePair
	Loads []compareLoad
	JSON  string // address of the same as JSON
}

// compareHead describes one of the results.
type compareHead struct {
	Letter, ID, Title, Work, Began, Machine, Host, Build, Rounds, Resolves string
}

// comparePair says whether the first result and another can be compared.
type comparePair struct {
	Letters    string // "A and B"
	Comparable bool
	Mark       string // "different machines", "not comparable", "comparable"
	Why        string
	Machine    []histories.Change
	Plan       []histories.Change
	Builds     []histories.Change
	Said       []saidShift
}

// saidShift is a verdict in words.
type saidShift struct{ Text, Tone string }

// compareLoad is the table of one load.
type compareLoad struct {
	Title string
	Arms  []compareArm
}

type compareArm struct {
	Name, About string
	// Silent lists the metrics for which no result has a figure, by reason. A table of dashes with the same sentence
	// in each row would say no more.
	Silent    []silence
	Reference bool
	Rows      []compareRow
}

// silence is a reason, and the metrics that have no figure because of it.
type silence struct {
	Metrics []string
	Why     string
}

// said reports whether any result has a figure in a row.
func (r compareRow) said() bool {
	for _, c := range r.Cells {
		if !c.Absent && c.Refused == "" {
			return true
		}
	}
	return false
}

// silent records why no result has a figure of a metric.
func (a *compareArm) silent(r compareRow) {
	var whys []string
	for _, c := range r.Cells {
		why := c.Letter + ": " + c.Refused
		if c.Absent {
			why = c.Letter + ": not in this result"
		}
		whys = append(whys, why)
	}
	why := strings.Join(whys, "; ")
	for i := range a.Silent {
		if a.Silent[i].Why == why {
			a.Silent[i].Metrics = append(a.Silent[i].Metrics, r.Metric)
			return
		}
	}
	a.Silent = append(a.Silent, silence{[]string{r.Metric}, why})
}

type compareRow struct {
	Metric, Unit string
	Primary      bool
	Cells        []compareCell
}

// compareCell is one metric of one result, and its change from the first result.
type compareCell struct {
	Letter, Value, Interval string
	// From is the arm's difference from the first arm in the same result.
	From                            string
	Shift, Within, Word, Tone, Note string
	Absent                          bool   // the result has no such load or arm
	Refused                         string // why there is no value
}

func letter(i int) string { return string(rune('A' + i)) }

func (d *Dashboard) comparePage(w http.ResponseWriter, r *http.Request) error {
	q := ask(r, true)
	ids := q.ids()
	if err := q.done(); err != nil {
		return err
	}
	c, err := d.compare(r.Context(), ids)
	if err != nil {
		return err
	}
	p := comparePage{frame: d.frame("results", "Comparison"), JSON: "/api/v1" + comparing(ids)}
	for i := range c.Results {
		p.Heads = append(p.Heads, headOf(letter(i), &c.Results[i]))
	}
	for i := range c.Pairs {
		p.Pairs = append(p.Pairs, c.pairOf(i))
	}
	for l := range c.Results[0].a.Loads {
		p.Loads = append(p.Loads, c.loadOf(&c.Results[0].a.Loads[l]))
	}
	return d.render(w, http.StatusOK, "compare", p)
}

func headOf(letter string, c *comparedResult) compareHead {
	s := c.Summary
	h := compareHead{
		Letter: letter, ID: s.ID, Title: c.r.Plan.About, Work: workOf(s.Workload, s.Operations),
		Began:   day(s.Began) + " UTC",
		Machine: report.Machine(c.Environment), Host: s.Host, Build: fmt.Sprintf("%.12s", c.Environment.Commit),
		Rounds: report.Plural(s.Rounds, "round"), Resolves: report.Resolves(c.Certificate),
	}
	if h.Title == "" {
		h.Title = h.Work
	}
	if c.Environment.Dirty && h.Build != "" {
		h.Build += " with changes"
	}
	return h
}

func workOf(workload string, operations []string) string {
	return workload + "." + strings.Join(operations, ", ")
}

// pairOf says whether the first result and another can be compared, and why not.
func (c *comparison) pairOf(i int) comparePair {
	s := &c.Pairs[i].CrossRun
	p := comparePair{
		Letters: "A and " + letter(i+1), Comparable: s.Comparable, Why: report.Capitalised(s.Why) + ".",
		Machine: s.Machine, Plan: s.Plan, Builds: s.Builds,
		Mark: "not comparable",
	}
	switch {
	case s.Comparable:
		p.Mark, p.Why = "comparable",
			"The same machine, question and first arm: the verdicts compare each arm's difference "+
				"from "+c.Results[0].r.ArmName(0)+", which ran with it in both results."
	case len(s.Machine) > 0:
		p.Mark, p.Why = "different machines", "There is no verdict: differences may come from the machines."
	}
	if !s.Comparable {
		return p
	}
	for _, l := range s.Loads {
		for _, arm := range l.Arms {
			for _, row := range arm.Rows {
				if row.Primary && row.Shift != nil {
					p.Said = append(p.Said, c.say(i, l, arm, row))
				}
			}
		}
	}
	return p
}

// say writes the verdict on a primary metric as a sentence.
func (c *comparison) say(i int, l histories.SharedLoad, arm histories.SharedArm, row histories.SharedRow) saidShift {
	first := c.Results[0].r
	m, err := kinds.MetricByID(row.Metric)
	if err != nil {
		return saidShift{}
	}
	text := report.Load(first.Plan, l.Was) + ", " + first.ArmName(arm.Was) + " against " + first.ArmName(0) + ": " +
		m.Title + " "
	switch v := row.Shift; v.Verdict {
	case claim.Better, claim.Worse:
		text += report.Change(v) + " " + report.Interval(v) + " from A to " + letter(i+1) + ": " +
			report.Word(m, v.Verdict) + "."
	case claim.Equivalent:
		text += "unchanged from A to " + letter(i+1) + ", " + report.Verdict(m, v) + "."
	case claim.Inconclusive:
		if !report.Bounded(v) {
			text += "is undecided: " + report.Interval(v) + "."
			break
		}
		text += "may have changed by " + report.Interval(v) + " %: undecided."
	default:
		text += "cannot be told: " + v.Why + "."
	}
	return saidShift{text, toneOf(row.Shift.Verdict)}
}

func toneOf(v claim.Verdict) string {
	switch v {
	case claim.Better:
		return "better"
	case claim.Worse:
		return "worse"
	case claim.Equivalent:
		return "same"
	}
	return "open"
}

// loadOf makes the table of one of the first result's loads.
func (c *comparison) loadOf(l *claim.LoadAnalysis) compareLoad {
	first := c.Results[0].r
	t := compareLoad{Title: report.LoadName(first.Plan, l.Load)}
	metrics := report.Main(l)
	for a := range l.Arms {
		arm := compareArm{Name: l.Arms[a].Name, About: report.Arm(first, a), Reference: a == 0 && len(l.Arms) > 1}
		for _, m := range metrics {
			row := l.Row(m.ID)
			unit := report.RowUnit(m, row)
			line := compareRow{Metric: m.Short, Unit: unit.Name, Primary: row.Primary}
			line.Cells = append(line.Cells,
				cellOf(0, m, unit, row.Cells[a].Estimate, row.Cells[a].Difference, nil, l.Arms[0].Name))
			for i := range c.Pairs {
				line.Cells = append(line.Cells, c.other(i, l.Load, a, m, unit))
			}
			if line.said() {
				arm.Rows = append(arm.Rows, line)
			} else {
				arm.silent(line)
			}
		}
		t.Arms = append(t.Arms, arm)
	}
	return t
}

// other returns the cell of another result, which may not have the load or the arm.
func (c *comparison) other(i, load, arm int, m metric.Metric, unit report.Unit) compareCell {
	other := &c.Results[i+1]
	for _, l := range c.Pairs[i].Loads {
		if l.Was != load {
			continue
		}
		for _, a := range l.Arms {
			if a.Was != arm {
				continue
			}
			for _, row := range a.Rows {
				if row.Metric != m.ID {
					continue
				}
				var from *claim.Difference
				for j := range other.a.Loads {
					if found := other.a.Loads[j].Row(m.ID); other.a.Loads[j].Load == l.Here && found != nil {
						from = found.Cells[a.Here].Difference
					}
				}
				return cellOf(i+1, m, unit, row.Here, from, row.Shift, other.r.ArmName(0))
			}
		}
	}
	return compareCell{Letter: letter(i + 1), Absent: true}
}

func cellOf(i int, m metric.Metric, unit report.Unit, e claim.Estimate, from, shift *claim.Difference,
	first string,
) compareCell {
	c := compareCell{Letter: letter(i), Value: report.Value(e, unit)}
	if !e.Known {
		c.Refused = e.Why
		return c
	}
	if e.Low != e.High {
		c.Interval = report.BoundsOf(e, unit)
	}
	if from != nil && from.Known {
		c.From = report.Change(from) + " from " + first
	}
	if shift == nil {
		return c
	}
	c.Word, c.Tone = report.Word(m, shift.Verdict), toneOf(shift.Verdict)
	if shift.Known {
		c.Shift, c.Within = report.Change(shift), report.Interval(shift)
	} else {
		c.Note = shift.Why
	}
	return c
}
