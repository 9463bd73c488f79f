package terminal

import (
	"fmt"
	"io"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// WriteAgreement writes which conclusions of an experiment hold in another,
// here: what differs between machines and builds, the sentence, and a line for
// each conclusion. The error is w's.
func WriteAgreement(w io.Writer, was, here *result.Result, a *result.Agreement, s Style) error {
	p := newPage(w, s)
	was, _ = report.Marked(was, nil)
	p.title("replay")
	p.wrapped("original  ", fmt.Sprintf("%s, %s, seed %d", was.ID, report.Rounds(len(was.Rounds)), was.Plan.Seed), plain)
	p.wrapped("here      ", fmt.Sprintf("%s, %s, seed %d", here.ID, report.Rounds(len(here.Rounds)), here.Plan.Seed), plain)
	p.environment(a.Environment)
	p.blank()
	p.wrapped("", report.Agreed(a), bold)
	shown, hidden := worthTelling(a)
	for i := 0; i < len(shown); {
		n := i
		for n < len(shown) && shown[n].Metric == shown[i].Metric && shown[n].Load == shown[i].Load {
			n++
		}
		p.blank()
		p.conclusions(was, shown[i:n])
		i = n
	}
	if hidden > 0 {
		p.blank()
		p.wrapped("", fmt.Sprintf("Conclusions of other metrics that hold are not shown (%d); --json lists them.", hidden), faint)
	}
	p.early(was)
	notes := report.AgreedNotes(was.Plan, a, was.ArmName)
	if len(notes) > 0 {
		p.blank()
	}
	for _, note := range notes {
		p.wrapped("· ", note, plain)
	}
	return p.out.Flush() // remembers the first error of all writes
}

// worthTelling are the conclusions of primary metrics, and of the others those
// that do not simply hold; hidden is how many are left out.
func worthTelling(a *result.Agreement) (shown []result.Conclusion, hidden int) {
	for _, c := range a.Conclusions {
		if c.Primary || c.Holding != result.Holds || c.Apart {
			shown = append(shown, c)
		} else {
			hidden++
		}
	}
	return shown, hidden
}

// environment warns of what differs.
func (p *page) environment(changes []result.Change) {
	if len(changes) == 0 {
		p.wrapped("machine   ", "the same machine and build, as far as is recorded", plain)
		return
	}
	p.wrapped("machine   ", "it is not the same machine or build, so conclusions may rightly differ:", yellow)
	for _, c := range changes {
		p.wrapped("          ", c.What+": "+c.Was+", here "+c.Here, plain)
	}
}

// conclusions writes those of one metric under one load.
func (p *page) conclusions(r *result.Result, all []result.Conclusion) {
	m, err := result.MetricByID(all[0].Metric)
	if err != nil {
		return // not reached: conclusions are made from metrics
	}
	title := m.Title + ", " + report.LoadName(r.Plan, all[0].Load)
	if all[0].Primary {
		title += " (primary)"
	}
	p.wrapped("", title, bold)
	t := p.conclusionTable(r, m, all, report.Found)
	if p.over(t) > 0 {
		t = p.conclusionTable(r, m, all, report.FoundBriefly)
	}
	p.shorten(t, 0, shortestArm)
	p.table(t)
}

func (p *page) conclusionTable(r *result.Result, m result.Metric, all []result.Conclusion, found func(*result.Difference) string) table {
	t := table{head: [][]cell{{{text: " arm"}, {text: "original"}, {}, {text: "here"}, {text: "conclusion"}}}}
	for i := range all {
		c := &all[i]
		t.body = append(t.body, []cell{
			{text: " " + r.ArmName(c.Arm)},
			{text: report.Word(m, c.Was.Verdict)},
			{text: found(&c.Was)},
			{text: found(&c.Here)},
			{text: report.Held(c), in: ofHolding(c.Holding)},
		})
	}
	return t
}

// shortestArm is how many columns an arm's name keeps at least, beside four
// other columns.
const shortestArm = 8

func ofHolding(h result.Holding) ink {
	switch h {
	case result.Holds:
		return green
	case result.Contradicted:
		return red
	}
	return yellow
}
