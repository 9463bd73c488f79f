package html

import (
	"strings"

	"wirelab/results/report"
	"wirelab/results/report/block"
)

// method says how the experiment was measured, and how to repeat it.
type method struct {
	Facts       block.Facts
	Reading     string
	Arms        *block.Table
	Command     string
	Seed        string
	Verify      string
	Replay      string
	Environment []block.Block // headings with facts below them
	Versions    int
}

func (s *sheet) method() method {
	r := s.r
	m := method{
		Command: r.Command, Seed: itoa64(r.Plan.Seed), Verify: "wirelab verify " + r.ID,
		Replay: "wirelab replay " + r.ID,
		Arms:   report.ArmTable(r), Environment: report.EnvironmentBlocks(r),
	}
	m.Versions = len(m.Environment[len(m.Environment)-1].(block.Facts))
	for _, f := range report.Facts(r, s.a) {
		if validityFacts[f.Name] == "" { // the others are in the part on validity
			m.Facts = append(m.Facts, f)
		}
	}
	if n := r.Network; n != nil && len(n.Notes) > 0 {
		m.Facts = append(m.Facts, block.Fact{Name: "of the network", Text: strings.Join(n.Notes, ". ")})
	}
	if len(s.a.Loads) > 0 {
		m.Reading = report.Method(r)
	}
	return m
}

// published has published figures and ours for comparison.
type published struct {
	Title   string
	Table   *figure // nil if the plan has only notes
	Columns []block.Column
	Parts   []report.PublishedPart
}

func (s *sheet) published() *published {
	p := &published{Title: report.PublishedTitle(s.r), Parts: report.PublishedParts(s.r, s.a)}
	switch {
	case len(s.a.Loads) == 0 || len(p.Parts) == 0 && !report.HasPublished(s.r):
		return nil
	case !report.HasPublished(s.r):
		return p
	}
	t := report.PublishedTable(s.r, s.shown).Without(true)
	p.Table, p.Columns = s.table(nil, t), t.Columns
	return p
}
