package kinds

import (
	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
)

// refuseFigures takes what the failed checks cover out of the arm's figures that are no
// metrics. Accounts of what came, and what did not, stay: a refusal is about them.
func refuseFigures(s *gate.Subject) {
	state := s.State
	why := func(id string) string { return state.Why(MustMetric(id)) }
	whole := ""
	if all := state.Invalid(); len(all) > 0 {
		whole = all[0]
	}
	kind := Of(s.Load)
	// An arm that does not keep up is refused, and shown by how little it answers.
	if kind.Rate != plan.Throughput {
		state.Refused.Move("achieved", &state.Achieved, why(kind.Rate))
	} else if c := Refusal(state, s.Trials, plan.Throughput); c != nil {
		state.Refused.Move("achieved", &state.Achieved, c.Detail)
	}
	f := &state.Floor
	f.Refused.Move("times", &f.Times, why(plan.ServiceP50))
	f.Refused.Move("headroom", &f.Headroom, why(kind.Rate))
	if d := state.Database; d != nil && whole != "" {
		for i := range d.Counts {
			c := &d.Counts[i]
			c.Refused, c.Value = &claim.Refused{Value: c.Value, Why: whole}, 0
		}
	}
	kind.Refuse(state, why, whole)
}
