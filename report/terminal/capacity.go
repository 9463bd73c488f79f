package terminal

import (
	"wirelab/report"
	"wirelab/result"
)

// capacity writes what was found of the highest rates.
func (p *page) capacity(r *result.Result, c *result.CapacityAnalysis) {
	p.title("capacity under " + c.Objective)
	p.wrapped("", report.Capacities(c), bold)
	p.blank()
	for _, text := range report.CapacitySentences(c) {
		p.wrapped("· ", text, plain)
	}
	p.blank()
	t := table{head: [][]cell{{
		{text: "arm"}, {text: "capacity"}, {text: "vs first", right: true}, {text: "95 % CI"}, {text: "verdict"},
		{text: "closed loop", right: true}, {text: "probes", right: true},
	}}}
	for i := range c.Arms {
		a := &c.Arms[i]
		ratio, interval := report.CapacityRatio(a.Difference)
		verdict := cell{}
		if a.Difference != nil {
			verdict = cell{text: report.CapacityWord(a.Difference), in: of(a.Difference.Verdict)}
		}
		probes := 0
		for _, round := range a.Rounds {
			probes += round.Probes
		}
		closed := report.Absent
		if a.Closed.Known {
			closed = report.Rate(a.Closed.Value, 3)
		}
		t.body = append(t.body, []cell{
			{text: a.Name}, {text: report.CapacityOf(a)}, {text: ratio, right: true}, {text: interval}, verdict,
			{text: closed, right: true}, {text: result.Thousands(uint64(probes)), right: true},
		})
	}
	p.trimmed(t)
	p.blank()
	for i := range c.Arms {
		if text := report.CapacityRounds(&c.Arms[i]); text != "" {
			p.wrapped(cut(c.Arms[i].Name, p.style.Width/2)+" by round: ", text, faint)
		}
	}
	for _, note := range report.CapacityNotes(r, c) {
		p.wrapped("· ", note, plain)
	}
	p.blank()
	p.wrapped("", report.CapacityMethod(r), faint)
}

// trimmed writes a table that is as wide as the page at most: the first column
// is shortened, and where that is not enough the last ones are left out.
func (p *page) trimmed(t table) {
	room := func() int {
		widths := t.widths()
		return p.style.Width - sum(widths) - gap*(len(widths)-1)
	}
	for room() < 0 && len(t.head[0]) > 3 && t.widths()[0] <= shortestArm {
		for _, rows := range [][][]cell{t.head, t.body} {
			for i := range rows {
				rows[i] = rows[i][:len(rows[i])-1]
			}
		}
	}
	if over := -room(); over > 0 {
		longest := max(t.widths()[0]-over, shortestArm)
		for _, row := range t.body {
			row[0].text = cut(row[0].text, longest)
		}
		if room() < 0 {
			p.trimmed(t)
			return
		}
	}
	p.table(t)
}
