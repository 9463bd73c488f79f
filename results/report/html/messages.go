package html

import (
	_ "embed" // for the template
	"fmt"
	"slices"
	"time"

	"wirelab/lab/kind/messages"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

//go:embed scenarios.gohtml
var scenariosText string

// scenarios is the table over several scenarios, with a group of rows for each.
type scenarios struct {
	*figure // with its caption and its data
	Groups  [][][]block.Cell
}

// scenarios makes the table over several scenarios; nil if there is only one.
func (s *sheet) scenarios() *scenarios {
	f := s.table(nil, report.ScenarioTable(s.r, s.a))
	if f == nil {
		return nil
	}
	t := &scenarios{figure: f}
	for _, row := range report.ScenarioTable(s.r, s.shown).Rows { // of the analysis with visible refused values
		if n := len(t.Groups); n == 0 || t.Groups[n-1][0][0].Text != row[0].Text {
			t.Groups = append(t.Groups, nil)
		}
		last := len(t.Groups) - 1
		t.Groups[last] = append(t.Groups[last], row)
	}
	return t
}

// messageStages returns the stages of a message.
func messageStages() []stage {
	of := func(of func(*result.Messages) *stat.Histogram) func(*result.Trial) *stat.Histogram {
		return func(t *result.Trial) *stat.Histogram {
			m := messages.Of(t)
			return of(&m)
		}
	}
	return []stage{
		{
			"accepted", of(func(m *result.Messages) *stat.Histogram { return m.AcceptedAfter }),
			[4]string{plan.AcceptedP50, "", plan.AcceptedP99, ""},
		},
		{
			"acknowledged", func(t *result.Trial) *stat.Histogram { return t.Response },
			[4]string{plan.ResponseP50, plan.ResponseP90, plan.ResponseP99, plan.ResponseP999},
		},
		{
			"delivered", of(func(m *result.Messages) *stat.Histogram { return m.DeliveredAfter }),
			[4]string{plan.DeliveredP50, plan.DeliveredP90, plan.DeliveredP99, plan.DeliveredP999},
		},
	}
}

// waited is what waited in each slice of a trial.
type waited struct {
	lists [][]int64
	// merged is of how many readings each is the most.
	merged int
	// drained is how long after the slices the last of it arrived.
	drained time.Duration
}

// messagesWaited are messages that were acknowledged and not delivered.
func messagesWaited(t *result.Trial) waited {
	m := messages.Of(t)
	return waited{m.Backlog, max(m.Merged, 1), time.Duration(m.Drained) / time.Duration(max(len(m.Backlog), 1))}
}

// messagesBacklog sets the words of a backlog for messages.
func (s *sheet) messagesBacklog(l *claim.LoadAnalysis, f *figure) {
	f.Title = "Backlog: acknowledged and not yet delivered"
	f.Caption = "Messages, over the time since a slice's first send: the line is the middle slice, the band reaches " +
		"from the least to the most of all."
	if slices.ContainsFunc(l.Arms,
		func(a claim.ArmState) bool { return len(messages.StateOf(&a).Done) > 0 }) {
		f.Caption += fmt.Sprintf(" Shaded: from %s until all was as before, median over all slices.", l.Scenario)
	}
	f.Caption += " A slice ends at the dashed line: what waits there is read later."
	f.Head[4] = "last one delivered after its end"
}

// spans returns the faults of an arm's broker, relative to a slice's first send. Recorded times are relative to the
// window, and in an open loop sending begins before it.
func (s *sheet) spans(l *claim.LoadAnalysis, arm int) []report.Span {
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
