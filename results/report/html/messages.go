package html

import (
	_ "embed" // for the template
	"fmt"
	"html/template"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
	"wirelab/results/report"
)

//go:embed scenarios.gohtml
var scenariosText string

// scenarios is the table over several scenarios.
type scenarios struct {
	Groups  []scenarioGroup
	Caption string
	File    string
	Data    template.URL
}

// scenarioGroup is one scenario with what decides under it, and its arms.
type scenarioGroup struct {
	Name, Decides string
	Rows          []report.ScenarioRow
}

// scenarios makes the table over several scenarios; nil where there is one.
func (s *sheet) scenarios() *scenarios {
	rows, shown := report.Scenarios(s.r, s.a), report.Scenarios(s.r, s.shown)
	if len(rows) == 0 {
		return nil
	}
	t := &scenarios{Caption: report.ScenarioCaption}
	last := -1
	for i, row := range rows {
		if row.Load != last {
			t.Groups, last = append(t.Groups, scenarioGroup{Name: row.Scenario, Decides: row.Decides}), row.Load
		}
		g := &t.Groups[len(t.Groups)-1]
		g.Rows = append(g.Rows, shown[i])
	}
	f := &figure{}
	f.data(s.file("scenarios", nil), report.ScenarioTable(s.r, s.a).Data)
	t.File, t.Data = f.File, f.Data
	return t
}

// messageStages are those of a message on its way.
func messageStages() []stage {
	of := func(of func(*result.Messages) *stat.Histogram) func(*result.Trial) *stat.Histogram {
		return func(t *result.Trial) *stat.Histogram {
			if t.Messages == nil {
				return nil
			}
			return of(t.Messages)
		}
	}
	return []stage{
		{"accepted", of(func(m *result.Messages) *stat.Histogram { return m.AcceptedAfter }), [4]string{plan.AcceptedP50, "", plan.AcceptedP99, ""}},
		{"acknowledged", func(t *result.Trial) *stat.Histogram { return t.Response }, [4]string{plan.ResponseP50, plan.ResponseP90, plan.ResponseP99, plan.ResponseP999}},
		{"delivered", of(func(m *result.Messages) *stat.Histogram { return m.DeliveredAfter }), [4]string{plan.DeliveredP50, plan.DeliveredP90, plan.DeliveredP99, plan.DeliveredP999}},
	}
}

// backlogsOf are what waited in each slice of a trial, and how long after the
// slices the last of it arrived.
func backlogsOf(t *result.Trial) (lists [][]int64, drained time.Duration) {
	switch {
	case t.Messages != nil:
		return t.Messages.Backlog, time.Duration(t.Messages.Drained) / time.Duration(max(len(t.Messages.Backlog), 1))
	case t.Followed == nil:
		return nil, 0
	}
	for _, one := range t.Followed.Backlog {
		wide := make([]int64, len(one))
		for i, n := range one {
			wide[i] = int64(n)
		}
		lists = append(lists, wide)
	}
	return lists, time.Duration(t.Followed.Drained)
}

// mergedOf is of how many readings each of a trial's backlogs is the most.
func mergedOf(t *result.Trial) int {
	if t.Messages == nil {
		return 1
	}
	return max(t.Messages.Merged, 1)
}

// messagesBacklog makes the words of a backlog those of messages.
func (s *sheet) messagesBacklog(l *result.LoadAnalysis, f *figure) {
	f.Title = "Backlog: acknowledged and not yet delivered"
	f.Caption = "Messages, over the time since a slice's first send: the line is the middle slice, the band reaches from the least to the most of all."
	if slices.ContainsFunc(l.Arms, func(a result.ArmState) bool { return a.Messages != nil && len(a.Messages.Done) > 0 }) {
		f.Caption += fmt.Sprintf(" Shaded: from %s until all was as before, median over all slices.", l.Scenario)
	}
	f.Caption += " A slice ends at the dashed line: what waits there is read later."
	f.Head[4] = "last one delivered after its end"
}

// spans are when something was done to an arm's broker, from a slice's first send
// on: what is recorded counts from the window, before which an open loop has a head.
func (s *sheet) spans(l *result.LoadAnalysis, arm int) []report.Span {
	all := report.Spans(&l.Arms[arm])
	head := time.Duration(0)
	for _, t := range report.Trials(s.r, l.Load, arm) {
		head = time.Duration(s.r.Plan.Slice) - time.Duration(t.Window)/time.Duration(max(len(t.Order), 1))
		break
	}
	for i := range all {
		all[i].Began += head
		if all[i].Over > 0 {
			all[i].Over += head
		}
	}
	return all
}
