package terminal

import (
	"bufio"
	"io"

	"wirelab/lab/result"
	"wirelab/results/report"
)

// WriteJudgement writes how a result stands against thresholds: the verdict,
// and for each threshold a line for every arm and load it is for. The error is w's.
func WriteJudgement(w io.Writer, r *result.Result, j *result.Judgement, s Style) error {
	p := newPage(w, s)
	p.title("thresholds")
	return p.judgement(r, j, p.findings)
}

// WriteCheck is [WriteJudgement] for a screen: the answer first, no line wider than the
// style says, and what has no room gives way from the least to the most important. The
// error is w's.
func WriteCheck(w io.Writer, r *result.Result, j *result.Judgement, s Style) error {
	p := newPage(w, s)
	return p.judgement(r, j, p.checked)
}

// judgement writes the verdict, then each threshold with the table that of makes of its findings, then the notes.
func (p *page) judgement(r *result.Result, j *result.Judgement, of func([]result.Finding) table) error {
	j = report.MarkedJudgement(r, j)
	p.wrapped("", report.Judged(r.Plan, j), ofOutcome(j.Outcome))
	for i := 0; i < len(j.Findings); {
		n := i
		for n < len(j.Findings) && j.Findings[n].Threshold == j.Findings[i].Threshold {
			n++
		}
		p.blank()
		p.wrapped("", j.Findings[i].Threshold, bold)
		p.table(of(j.Findings[i:n]))
		i = n
	}
	p.blank()
	p.early(r)
	for _, note := range report.JudgedNotes(j) {
		p.wrapped("· ", note, plain)
	}
	return p.out.Flush() // remembers the first error of all writes
}

// shortestLoad is how many columns a load's name keeps at least.
const shortestLoad = 10

// lines are what a table says of findings: arm, load, figure, interval, outcome.
func lines(all []result.Finding) (t table) {
	for i := range all {
		f := &all[i]
		value, interval := report.Figure(f)
		t.body = append(t.body, []cell{
			{text: " " + f.ArmName},
			{text: f.LoadName},
			{text: value, right: true},
			{text: interval},
			{text: report.OutcomeWords(f), in: ofOutcome(f.Outcome)},
		})
	}
	return t
}

// checked is the lines of one threshold in the page's width: first the rounds that are
// missing go, then the interval, then the middle of loads and of arms.
func (p *page) checked(all []result.Finding) table {
	t := lines(all)
	if p.over(t) > 0 {
		for i, row := range t.body {
			row[4].text = string(all[i].Outcome)
		}
	}
	if p.over(t) > 0 {
		t.without(3, 4)
	}
	for _, part := range []struct{ column, least int }{{1, shortestLoad}, {0, shortestName}} {
		if n := p.over(t); n > 0 {
			most := max(t.widths()[part.column]-n, part.least)
			for _, row := range t.body {
				row[part.column].text = middleCut(row[part.column].text, most)
			}
		}
	}
	return t
}

// newPage returns a page of a width that can be written on.
func newPage(w io.Writer, s Style) *page {
	if s.Width == 0 {
		s.Width = usualWidth
	}
	s.Width = max(s.Width, leastWidth)
	return &page{out: bufio.NewWriter(w), style: s}
}

// ofOutcome is the ink of an outcome.
func ofOutcome(o result.Outcome) ink {
	switch o {
	case result.Passed:
		return green
	case result.Crossed, result.Spoiled:
		return red
	}
	return yellow
}

// findings is the lines of one threshold. Names of arms give way where
// the width does not hold them.
func (p *page) findings(all []result.Finding) table {
	t := lines(all)
	p.shorten(t, 0, shortestName)
	if p.over(t) > 0 {
		for i, row := range t.body { // the notes say why
			row[4].text = string(all[i].Outcome)
		}
	}
	return t
}

// shortestName is how many columns an arm's name keeps at least.
const shortestName = 12
