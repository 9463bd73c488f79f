package analyse_test

import (
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/resulttest"
)

// Only the machine can disturb a round, and not an arm. A repeated round must be confirmed by what was kept of it.
func TestDisturbed(t *testing.T) {
	t.Parallel()
	make := func() *result.Result {
		return resulttest.Make(resulttest.Setting{
			Arms: resulttest.Arms()[:2], Rounds: 10, Seed: 9,
			Loads: []plan.Load{{InFlight: 1}},
		})
	}
	for name, c := range map[string]struct {
		change func(*result.Round)
		gate   result.Gate // "": it is not disturbed
	}{
		"quiet":                       {func(*result.Round) {}, ""},
		"steal":                       {func(r *result.Round) { r.Noise.Steal = 0.06 }, result.Steal},
		"some steal":                  {func(r *result.Round) { r.Noise.Steal = 0.05 }, ""},
		"neighbours":                  {func(r *result.Round) { r.Noise.Others = 0.6 }, result.Neighbours},
		"a neighbour":                 {func(r *result.Round) { r.Noise.Others = 0.4 }, ""},
		"a used quota":                {func(r *result.Round) { r.Noise.Throttled = 1 }, result.Throttling},
		"a quota that nobody can see": {func(r *result.Round) { r.Noise.Throttled = -1 }, ""},
		"a driver that waits": {func(r *result.Round) {
			d := r.Trials[1].Driver
			d.Waited, d.Others = d.Wall/5, d.Wall
		}, result.GeneratorWaits},
		"an arm that is slow": {func(r *result.Round) { r.Trials[0].Service.RecordN(1e9, 1000) }, ""},
		"an arm that fails":   {func(r *result.Round) { r.Trials[0].Errors = map[string]uint64{"internal": 5} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := make()
			round := r.Rounds[2]
			c.change(&round)
			m, ok := gate.Disturbed(r, &round, kinds.OfPlan(r.Plan).Manner)
			if ok != (c.gate != "") || m.Gate != c.gate {
				t.Fatalf("%v, by %q; want %q", ok, m.Gate, c.gate)
			}
			if !ok {
				return
			}
			m.Place, m.Round = 2, round
			r.Remade = append(r.Remade, m)
			if flaws := consistency.Flaws(r); len(flaws) > 0 {
				t.Errorf("it contradicts itself: %v", flaws)
			}
			if words := gate.RemadeWords(r); !strings.HasPrefix(words, "1 of 11 rounds was repeated") {
				t.Error(words)
			}
		})
	}
}

// An edited file is not accepted as one whose rounds had to be repeated.
func TestRemadeIsChecked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*result.Result){
		"without a reason":    func(r *result.Result) { r.Remade[0].Round.Noise.Steal = 0 },
		"with another reason": func(r *result.Result) { r.Remade[0].Gate = result.Neighbours },
		"with another value":  func(r *result.Result) { r.Remade[0].Value = 0.5 },
		"in no place":         func(r *result.Result) { r.Remade[0].Place = 19 },
		"more than may be": func(r *result.Result) {
			r.Remade = append(r.Remade, r.Remade[0], r.Remade[0], r.Remade[0], r.Remade[0], r.Remade[0])
		},
		"with broken trials":   func(r *result.Result) { r.Remade[0].Round.Trials[0].Arm = 7 },
		"before the beginning": func(r *result.Result) { r.Remade[0].Round.Began = r.Began.Add(-1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := resulttest.Make(resulttest.Setting{
				Arms: resulttest.Arms()[:2], Rounds: 10, Seed: 9,
				Loads: []plan.Load{{InFlight: 1}},
			})
			r.Plan.Rounds = plan.Rounds{Min: 10, Max: 10}
			other := resulttest.Make(resulttest.Setting{
				Arms: resulttest.Arms()[:2], Rounds: 10, Seed: 9,
				Loads: []plan.Load{{InFlight: 1}},
			})
			round := other.Rounds[1]
			round.Noise.Steal = 0.2
			m, _ := gate.Disturbed(r, &round, kinds.OfPlan(r.Plan).Manner)
			m.Place, m.Round = 1, round
			r.Remade = []result.Remade{m}
			before := len(consistency.Flaws(r))
			change(r)
			if after := consistency.Flaws(r); len(after) <= before {
				t.Errorf("nothing is said of it: %v", after)
			}
		})
	}
}
