package main

import (
	"bytes"
	"strings"
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
)

// Where nothing was measured the exit code says so, whatever kept it from being measured, and
// the first line says why: a script must never take silence for an answer.
func TestNothingMeasuredIsNoAnswer(t *testing.T) {
	t.Parallel()
	open := func(primary string) *result.Result {
		r := resulttest.Make(resulttest.Setting{
			Name: "slow", Rounds: 12, Seed: 3, Loads: []plan.Load{{Rate: 500, InFlight: 256}},
			Arms: []resulttest.Arm{{
				Name: "a", Protocol: "grpc", Multiplexed: true, ServerCPU: 1e4, ClientCPU: 1e4,
				Response: 1e6,
			}},
		})
		r.Plan.Primary, r.Ending = primary, result.RoundsDone
		return r
	}
	for _, c := range []struct {
		name   string
		change func(r *result.Result)
		code   int
		says   string
	}{
		{"all is well", func(*result.Result) {}, desk.ExitOK, ""},
		{"all arms died in the warm-up of the only round", func(r *result.Result) {
			r.Rounds = r.Rounds[:1]
			r.Rounds[0].Trials = nil
			r.Rounds[0].Failures = []result.Failure{{Arm: 0, Why: "the warm-up: too many files are open"}}
		}, desk.ExitNoWord, "failed in 1 of 1 rounds, first: the warm-up: too many files are open"},
		{"no call was due", func(r *result.Result) {
			for n := range r.Rounds {
				old := r.Rounds[n].Trials[0]
				r.Rounds[n].Trials[0] = result.Trial{
					Window: old.Window, Steady: true, Order: old.Order,
					Driver: old.Driver,
				}
			}
		}, desk.ExitNoWord, "no call was due in any slice"},
		{"no call was answered", func(r *result.Result) {
			for n := range r.Rounds {
				tr := &r.Rounds[n].Trials[0]
				tr.Errors, tr.OK, tr.Completed = map[string]uint64{"unavailable": tr.Sent}, 0, 0
				tr.Response, tr.Service, tr.Lag, tr.Wake, tr.Punctual = nil, nil, nil, nil, nil
			}
		}, desk.ExitNoWord, "unavailable"},
		{"too few calls for the quantile that decides", func(r *result.Result) {
			r.Plan.Primary = plan.ResponseP999
		}, desk.ExitUndecided, "needs"},
		{"the only arm was taken out", func(r *result.Result) {
			r.Ending, r.Arms[0].Out = result.Failed, "failed in 2 rounds in a row: nothing listens there"
		}, desk.ExitFailed, "a failed in 2 rounds in a row: nothing listens there"},
	} {
		for _, gated := range []bool{false, true} {
			r := open(plan.ResponseP50)
			c.change(r)
			var out bytes.Buffer
			a := newApp(cli.Terminal{Stdout: &out, Stderr: &out}, nil, func(string) string { return "" })
			o := conductOptions{}
			if gated {
				o.gate.FailIf = []string{"errors > 0.1%", "p50 > 10s"}
				if err := o.gate.Prepare(r.Plan, o.gate.FailIf, false); err != nil {
					t.Fatal(err)
				}
			}
			err := a.conclude(r, o)
			code := desk.ExitOK
			if err != nil {
				code = desk.ExitCodeOf(err)
			}
			switch {
			case gated && c.code == desk.ExitNoWord && (code == desk.ExitOK || code == desk.ExitUndecided):
				t.Errorf("%s, with thresholds: exit code %d", c.name, code)
			case !gated && (code != c.code || c.code != desk.ExitOK && !strings.Contains(err.Error(), c.says)):
				t.Errorf("%s: exit code %d, %v", c.name, code, err)
			}
			analysis := analyse.Result(r)
			if first := report.Summarise(r, &analysis, nil).Answer[0]; report.Empty(&analysis.Loads[0]) &&
				!strings.Contains(first, c.says) {
				t.Errorf("%s: the first line is %q", c.name, first)
			}
		}
	}
}
