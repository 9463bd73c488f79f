package main

import (
	"strings"
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
)

// TestOnlyTheAnswerMakesTheExitCode: late calls spoil an open loop's times, and
// so the answer where those are asked for, but not where CPU time is.
func TestOnlyTheAnswerMakesTheExitCode(t *testing.T) {
	t.Parallel()
	for primary, spoiled := range map[string]bool{plan.ResponseP99: true, plan.ServerCPU: false} {
		r := resulttest.Make(resulttest.Setting{
			Name: "late", Rounds: 12, Seed: 3, Loads: []plan.Load{{Rate: 500, InFlight: 256}},
			Arms: []resulttest.Arm{{
				Name: "a", Protocol: "grpc", Multiplexed: true, ServerCPU: 1e4, ClientCPU: 1e4,
				Response: 1e6,
			}},
		})
		r.Plan.Primary = primary
		for _, round := range r.Rounds {
			for i := range round.Trials {
				round.Trials[i].Lag.RecordN(int64(1e9), round.Trials[i].OK)
			}
		}
		a := analyse.Result(r)
		if err := newApp(cli.Terminal{}, nil, nil).Unanswered(r, &a); (err != nil) != spoiled ||
			spoiled && !strings.Contains(err.Error(), "a (500/s") {
			t.Errorf("primary %s: %v", primary, err)
		}
	}
}
