package html

import (
	"maps"
	"slices"
	"strings"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

// method is how it was measured, and how to do it again.
type method struct {
	Facts       []report.Fact
	Reading     string
	Arms        []report.Fact
	Command     string
	Seed        string
	Verify      string
	Replay      string
	Environment []report.Fact
	Versions    []report.Fact
}

func (s *sheet) method() method {
	r := s.r
	m := method{Command: r.Command, Seed: itoa64(r.Plan.Seed), Verify: "wirelab verify " + r.ID, Replay: "wirelab replay " + r.ID}
	for _, f := range report.Facts(r, s.a) {
		if f.Name == "question" || f.Name == "machine" || f.Name == "run" || f.Name == "baseline" || f.Name == "result" {
			m.Facts = append(m.Facts, f)
		}
	}
	if n := r.Network; n != nil {
		m.Facts = append(m.Facts, report.Fact{Name: "network", Text: networkLine(n)})
	}
	if len(s.a.Loads) > 0 {
		m.Reading = report.Method(r)
	}
	for i := range r.Plan.Arms {
		m.Arms = append(m.Arms, report.Fact{Name: r.ArmName(i), Text: report.Arm(r, i)})
	}
	for _, absent := range r.Absent {
		m.Arms = append(m.Arms, report.Fact{Name: absent.Name(), Text: report.AbsentWhy(absent)})
	}
	e := r.Environment
	for _, f := range []report.Fact{
		{Name: "host", Text: e.Host},
		{Name: "system", Text: strings.TrimSpace(e.OS + " " + e.Kernel)},
		{Name: "CPU", Text: e.CPU},
		{Name: "CPUs", Text: itoa(e.CPUs)},
		{Name: "memory", Text: gib(e.MemoryBytes)},
		{Name: "governor", Text: e.Governor},
		{Name: "clock source", Text: e.ClockSource},
		{Name: "virtual", Text: e.Virtual},
	} {
		if f.Text != "" && f.Text != "0" {
			m.Environment = append(m.Environment, f)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Settings)) {
		m.Environment = append(m.Environment, report.Fact{Name: key, Text: e.Settings[key]})
	}
	commit := e.Commit
	if e.Dirty {
		commit += ", with changes that were not committed"
	}
	for _, f := range []report.Fact{{Name: "wirelab", Text: commit}, {Name: "Go", Text: e.Go}} {
		if f.Text != "" {
			m.Versions = append(m.Versions, f)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(e.Libraries)) {
		m.Versions = append(m.Versions, report.Fact{Name: key, Text: e.Libraries[key]})
	}
	return m
}

// networkLine says what path there was between driver and server.
func networkLine(n *result.Network) string {
	text := n.Spec
	if n.Name != "" {
		text = n.Name + " (" + n.Spec + ")"
	}
	return strings.Join(append([]string{text + ", by " + n.Via}, n.Notes...), ". ")
}

func gib(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return report.Significant(float64(bytes)/(1<<30), 3) + " GiB"
}

// published are others' figures beside ours.
type published struct {
	Title   string
	Table   *figure // nil where only the plan has something to say
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
