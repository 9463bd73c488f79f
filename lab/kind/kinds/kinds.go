package kinds

import (
	"slices"

	"wirelab/lab/kind"
	"wirelab/lab/kind/calls"
	"wirelab/lab/kind/entries"
	"wirelab/lab/kind/messages"
	"wirelab/lab/kind/streams"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/words"
)

// StateOf counts what an arm did and applies the gates to it.
func StateOf(g grid.Grid, l, a int) claim.ArmState {
	kind := Of(g.Result.Plan.Loads[l])
	s := gate.Subject{
		Result: g.Result, Arm: a, Load: g.Result.Plan.Loads[l], Manner: kind.Manner, Trials: g.Of(l, a),
		State: &claim.ArmState{Name: g.Result.ArmName(a), Checks: []claim.Check{}},
	}
	for n, t := range g.Trials[l][a] {
		if t != nil {
			s.Rounds = append(s.Rounds, n)
		}
	}
	if a < len(g.Result.Arms) {
		s.Floorless = g.Result.Arms[a].Floorless
	}
	s.All = gate.Sum(s.Trials)
	s.State.Rounds, s.State.Requests = s.All.Rounds, s.All.OK
	s.Causes()
	if s.Load.Open() && s.All.Window > 0 {
		s.State.Planned = float64(s.All.Planned) / s.All.Window.Seconds()
		s.State.Achieved = float64(s.All.Completed) / s.All.Window.Seconds()
	}
	inPlay(&s, a)
	s.Reopened()
	if s.All.Rounds > 0 {
		kind.Gates(g, l, &s)
	}
	slices.SortStableFunc(s.State.Checks, func(a, b claim.Check) int {
		return slices.Index(result.Gates(), a.Gate) - slices.Index(result.Gates(), b.Gate)
	})
	s.State.Notes = append(s.State.Notes, gate.Failures(a, len(g.Result.Rounds), failuresOf(g.Result))...)
	refuseFigures(&s)
	return *s.State
}

// inPlay applies the gate on arms that were taken out, or got through no round: that there
// is nothing to refuse must not look like an answer.
func inPlay(s *gate.Subject, arm int) {
	out := s.Result.Out(arm)
	if out != "" {
		out = "taken out: " + out
	} else if s.All.Rounds == 0 && len(s.Result.Rounds) > 0 {
		out = "no round of it was measured"
		if why := gate.Failures(arm, len(s.Result.Rounds), failuresOf(s.Result)); len(why) > 0 {
			out = why[0]
		}
	}
	fix := "run it alone with wirelab serve, and see what it says"
	if s.Result.Plan.Arms[arm].Target != "" || len(s.Result.Plan.External) > 0 {
		fix = "look whether the server still runs, and at its log"
	}
	s.Add(claim.Check{Gate: result.InPlay, OK: out == "", Detail: words.Choose(out == "", "took part", out), Fix: fix})
}

func failuresOf(r *result.Result) func(round int) []result.Failure {
	return func(round int) []result.Failure { return r.Rounds[round].Failures }
}

// all are made once: reports ask for the kind of a load again and again.
var all = []*kind.Kind{calls.Kind(), entries.Kind(), messages.Kind(), streams.Kind()}

// All are the kinds of load, in the order in which reports show what they measure.
func All() []*kind.Kind { return slices.Clone(all) }

// Of is the kind of a load.
func Of(l plan.Load) *kind.Kind { return Named(l.Kind()) }

// OfPlan is the kind of a plan's loads, which is one: a checked plan has no others.
func OfPlan(p plan.Plan) *kind.Kind {
	if len(p.Loads) == 0 {
		return Named(plan.Calls)
	}
	return Of(p.Loads[0])
}

// Named returns the kind with a name. For an unknown name, which only an edited file can have, it returns calls.
func Named(name plan.Kind) *kind.Kind {
	return all[max(0, slices.IndexFunc(all, func(k *kind.Kind) bool { return k.Name == name }))]
}

// Early is what there is to know of an arm that acknowledges a message before it is durable; "" of others.
func Early(r *result.Result, arm int) string {
	if early := OfPlan(r.Plan).Early; early != nil {
		return early(r.Arm(arm))
	}
	return ""
}

// Followed tells how many of the things that a trial is of never came, and how many came again; not ok where they
// were not followed each by itself.
func Followed(t *result.Trial) (missing, again uint64, ok bool) {
	for _, k := range all {
		if k.Followed == nil {
			continue
		}
		if missing, again, ok = k.Followed(t); ok {
			return missing, again, true
		}
	}
	return 0, 0, false
}
