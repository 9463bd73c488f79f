package analyse_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// hand returns a closed-loop result of arms "a", "b", … with one call in
// flight, whose server CPU per request, in µs, is cpu(arm, round).
func hand(arms, rounds int, cpu func(arm, round int) float64) *result.Result {
	r := &result.Result{Schema: result.Schema, Plan: plan.Plan{
		Primary: plan.ServerCPU, Practical: 0.01, Equivalent: 0.03, Loads: []plan.Load{{InFlight: 1}},
	}}
	for a := range arms {
		r.Plan.Arms = append(r.Plan.Arms, plan.Arm{Name: string(rune('a' + a)), Protocol: "p"})
	}
	for n := range rounds {
		var round result.Round
		for a := range arms {
			const calls, each = 1000, 100_000
			h := stat.NewHistogram()
			h.RecordN(each, calls)
			round.Trials = append(round.Trials, result.Trial{
				Arm: a, Steady: true, Window: calls * each, Sent: calls, OK: calls, Completed: calls,
				Response: h, Service: h, Lag: stat.NewHistogram(), WireSent: calls * 100, WireReceived: calls * 50,
				Server: &result.Usage{CPU: plan.Duration(calls * 1000 * cpu(a, n))},
				Driver: &result.Usage{Allocations: new(uint64), CPU: calls * 1000},
			})
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

// noisy is hand with log-normal noise of the given spread around a mean for each arm.
func noisy(seed uint64, rounds int, spread float64, means ...float64) *result.Result {
	random := rand.New(rand.NewPCG(seed, 0))
	return hand(len(means), rounds,
		func(arm, _ int) float64 { return means[arm] * math.Exp(spread*random.NormFloat64()) })
}

func cell(t *testing.T, a claim.Analysis, load int, metric string, arm int) claim.Cell {
	t.Helper()
	row := a.Loads[load].Row(metric)
	if row == nil {
		t.Fatalf("no row for %s", metric)
	}
	return row.Cells[arm]
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	// alternate gives ratios b/a that alternate around a mean.
	alternate := func(mean, swing float64) func(int, int) float64 {
		return func(arm, round int) float64 {
			if arm == 0 {
				return 20
			}
			return 20 * mean * (1 + swing*float64(2*(round%2)-1))
		}
	}
	for _, c := range []struct {
		name   string
		rounds int
		cpu    func(arm, round int) float64
		want   claim.Verdict
		ratio  float64
	}{
		{"a third more CPU in every round is worse", 10, alternate(1.32, 0.01), claim.Worse, 1.32},
		{"a third less is better", 10, alternate(0.68, 0.01), claim.Better, 0.68},
		{"hardly any difference, narrowly", 10, alternate(1.001, 0.01), claim.Equivalent, 1.001},
		{
			"a proved difference below the practical threshold is none", 10, alternate(1.005, 0.001), claim.Equivalent,
			1.005,
		},
		{"a difference lost in noise", 10, alternate(1.02, 0.20), claim.Inconclusive, 1},
		{"nine rounds bear no claim, however large", 9, alternate(2, 0.01), claim.TooFew, 2},
		{"ten do", 10, alternate(2, 0.01), claim.Worse, 2},
		{"the very same figure every time", 10, alternate(1, 0), claim.Equivalent, 1},
	} {
		a := analyse.Result(hand(2, c.rounds, c.cpu))
		d := cell(t, a, 0, plan.ServerCPU, 1).Difference
		if d.Verdict != c.want || math.Abs(d.Ratio-c.ratio) > 0.011*c.ratio {
			t.Errorf("%s: %q with ratio %.4f [%.4f, %.4f], want %q with %.3f", c.name, d.Verdict, d.Ratio, d.Low,
				d.High, c.want, c.ratio)
		}
		if (d.More > 0) != (c.want == claim.Inconclusive || c.want == claim.TooFew) {
			t.Errorf("%s: %d more rounds", c.name, d.More)
		}
		if d.Verdict == claim.Inconclusive && (d.Detectable <= 0 || d.Why == "") {
			t.Errorf("%s: does not say what could be seen: %+v", c.name, d)
		}
	}
}

func TestMadeUpEffects(t *testing.T) {
	t.Parallel()
	a := analyse.Result(resulttest.Closed())
	if a.Rounds != 30 || len(a.Loads) != 2 || a.Requests == 0 {
		t.Fatalf("%d rounds, %d loads, %d requests", a.Rounds, len(a.Loads), a.Requests)
	}
	for _, c := range []struct {
		metric string
		arm    int
		want   claim.Verdict
		truth  float64
	}{
		{plan.ServerCPU, 1, claim.Worse, 31.9 / 24.1},
		{plan.ServerCPU, 2, claim.Equivalent, 24.2 / 24.1},
		{plan.Throughput, 1, claim.Worse, 61. / 74},
		{plan.ResponseP50, 1, claim.Worse, 74. / 61},
		{plan.ResponseP99, 1, claim.Worse, 74. / 61},
		{plan.WireSent, 1, claim.Better, 97. / 212},
		{plan.ServerAllocations, 2, claim.Worse, 29. / 24},
	} {
		d := cell(t, a, 0, c.metric, c.arm).Difference
		if d.Verdict != c.want || d.Low > c.truth*1.001 || d.High < c.truth*0.999 {
			t.Errorf("%s of arm %d: %q, [%.4f, %.4f]; want %q around %.4f", c.metric, c.arm, d.Verdict, d.Low, d.High,
				c.want, c.truth)
		}
	}
	if d := cell(t, a, 0, plan.WireSent, 1).Difference; !d.Exact {
		t.Error("bytes that are the same in every round are not exact")
	}
	places := []int{a.Loads[0].Arms[0].Place, a.Loads[0].Arms[1].Place, a.Loads[0].Arms[2].Place}
	if !slices.Equal(places, []int{1, 3, 1}) {
		t.Errorf("places %v, want the equivalent arms to share the first", places)
	}
	if a.Loads[0].Row(plan.ServerCPU).Alpha != 0.04 || a.Loads[0].Row(plan.Throughput).Alpha != 0.05 {
		t.Error("an experiment that stops on width needs alpha 0.04 in the primary metric, and there only")
	}
}

// Two equal arms must not be called different more often than promised.
func TestAlikeArmsAreRarelyToldApart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, c := range []struct{ arms, repeats int }{{2, 200}, {6, 100}} {
		experiments, claims := 0, 0
		for seed := range uint64(c.repeats) {
			means := slices.Repeat([]float64{20}, c.arms)
			a := analyse.Result(noisy(seed, 10, 0.05, means...))
			experiments++
			if slices.ContainsFunc(a.Loads[0].Row(plan.ServerCPU).Cells, func(c claim.Cell) bool {
				return c.Difference != nil &&
					(c.Difference.Verdict == claim.Better || c.Difference.Verdict == claim.Worse)
			}) {
				claims++
			}
		}
		n := float64(experiments)
		if limit := 0.05*n + 2*math.Sqrt(n*0.05*0.95); float64(claims) > limit {
			t.Errorf("%d arms: a false claim in %d of %d experiments, at most %.0f are allowed", c.arms, claims,
				experiments, limit)
		}
	}
}

// Without Holm, one of five differences of p = 0.03 would be claimed.
func TestManyArmsNeedMore(t *testing.T) {
	t.Parallel()
	ratios := []float64{0.98, 1.05, 1.06, 1.00, 1.04, 1.07, 0.99, 1.03, 1.06, 1.02} // p about 0.01
	values := func(arm, round int) float64 {
		switch arm {
		case 0:
			return 20
		case 1:
			return 20 * ratios[round]
		}
		return 20 * (1 + 0.05*float64(2*((round+arm)%2)-1))
	}
	alone := cell(t, analyse.Result(hand(2, 10, values)), 0, plan.ServerCPU, 1).Difference
	among := cell(t, analyse.Result(hand(8, 10, values)), 0, plan.ServerCPU, 1).Difference
	if alone.Verdict != claim.Worse {
		t.Fatalf("alone: %q, p %v", alone.Verdict, alone.P)
	}
	if among.Verdict == claim.Worse || among.P != alone.P || among.Adjusted <= alone.Adjusted {
		t.Errorf("among eight arms: %q, p %v adjusted %v", among.Verdict, among.P, among.Adjusted)
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	base := noisy(7, 12, 0.02, 20, 26, 20.1, 19)
	before := analyse.Result(base)
	random := rand.New(rand.NewPCG(3, 4))
	for range 5 {
		r := *base
		r.Rounds = slices.Clone(base.Rounds)
		random.Shuffle(len(r.Rounds), func(i, j int) { r.Rounds[i], r.Rounds[j] = r.Rounds[j], r.Rounds[i] })
		arms := append([]int{0}, random.Perm(3)...) // new place of each arm; the first stays
		for i := 1; i < len(arms); i++ {
			arms[i]++
		}
		for n := range r.Rounds {
			r.Rounds[n].Trials = slices.Clone(r.Rounds[n].Trials)
			for i := range r.Rounds[n].Trials {
				r.Rounds[n].Trials[i].Arm = arms[r.Rounds[n].Trials[i].Arm]
			}
			random.Shuffle(len(r.Rounds[n].Trials), func(i, j int) {
				r.Rounds[n].Trials[i], r.Rounds[n].Trials[j] = r.Rounds[n].Trials[j], r.Rounds[n].Trials[i]
			})
		}
		after := analyse.Result(&r)
		for a := range arms {
			was, is := cell(t, before, 0, plan.ServerCPU, a), cell(t, after, 0, plan.ServerCPU, arms[a])
			if math.Abs(is.Estimate.Value/was.Estimate.Value-1) > 1e-9 ||
				before.Loads[0].Arms[a].Place != after.Loads[0].Arms[arms[a]].Place {
				t.Errorf("arm %d: %+v became %+v", a, was.Estimate, is.Estimate)
			}
			if a > 0 && (was.Difference.Verdict != is.Difference.Verdict ||
				math.Abs(is.Difference.Low/was.Difference.Low-1) > 1e-9) {
				t.Errorf("arm %d: %+v became %+v", a, was.Difference, is.Difference)
			}
		}
	}
}

func TestSwappingArmsTurnsTheClaim(t *testing.T) {
	t.Parallel()
	there := cell(t, analyse.Result(noisy(1, 10, 0.02, 20, 26)), 0, plan.ServerCPU, 1).Difference
	r := noisy(1, 10, 0.02, 20, 26)
	for n := range r.Rounds {
		r.Rounds[n].Trials[0].Arm, r.Rounds[n].Trials[1].Arm = 1, 0
	}
	back := cell(t, analyse.Result(r), 0, plan.ServerCPU, 1).Difference
	if there.Verdict != claim.Worse || back.Verdict != claim.Better {
		t.Errorf("%q and, swapped, %q", there.Verdict, back.Verdict)
	}
	if math.Abs(there.Low*back.High-1) > 1e-9 || math.Abs(there.Ratio*back.Ratio-1) > 1e-9 {
		t.Errorf("[%v, %v] and, swapped, [%v, %v]", there.Low, there.High, back.Low, back.High)
	}
}

func TestCutShort(t *testing.T) {
	t.Parallel()
	for rounds, known := range map[int]bool{0: false, 1: true, 3: true} {
		a := analyse.Result(resulttest.Short(rounds))
		for _, load := range a.Loads {
			for _, row := range load.Rows {
				for arm, c := range row.Cells {
					if c.Difference != nil && c.Difference.Verdict.Claim() {
						t.Errorf("%d rounds: a claim about %s of arm %d: %+v", rounds, row.Metric, arm, c.Difference)
					}
				}
			}
			if c := load.Row(plan.ServerCPU).Cells[1]; c.Estimate.Known != known ||
				c.Estimate.Interval() != (rounds > 1) || c.Difference.Verdict != claim.TooFew {
				t.Errorf("%d rounds: %+v, %+v", rounds, c.Estimate, c.Difference)
			}
		}
	}
}

func TestOnlyRoundsWithBothArmsArePaired(t *testing.T) {
	t.Parallel()
	// Arm b is missing in two rounds in which everything cost ten times as much. Without pairing, b would look cheap.
	r := hand(2, 14, func(arm, round int) float64 {
		v := 20 + 0.1*float64((round+arm)%3)
		if round < 2 {
			v *= 10
		}
		return v
	})
	for n := range 2 {
		r.Rounds[n].Trials = r.Rounds[n].Trials[:1]
		r.Rounds[n].Failures = []result.Failure{{Arm: 1, Why: "no answer"}}
	}
	a := analyse.Result(r)
	d := cell(t, a, 0, plan.ServerCPU, 1).Difference
	if d.Rounds != 12 || d.Verdict != claim.Equivalent {
		t.Errorf("%+v", d)
	}
	if notes := a.Loads[0].Arms[1].Notes; len(notes) != 1 ||
		!strings.Contains(notes[0], "2 of 14 rounds, first: no answer") {
		t.Errorf("notes %q", notes)
	}
	if got := effect.UsableRounds(r); got != 12 {
		t.Errorf("%d usable rounds, want 12", got)
	}
}

func TestZerosGiveNoRatio(t *testing.T) {
	t.Parallel()
	r := noisy(1, 10, 0.02, 20, 20)
	both := cell(t, analyse.Result(r), 0, plan.ClientAllocations, 1)
	if both.Estimate.Value != 0 || !both.Estimate.Known || both.Difference.Verdict != claim.Equivalent {
		t.Errorf("no allocations in either: %+v, %+v", both.Estimate, both.Difference)
	}
	for n := range r.Rounds {
		r.Rounds[n].Trials[1].Driver = &result.Usage{Allocations: new(uint64(5000))}
	}
	if one := cell(t, analyse.Result(r), 0, plan.ClientAllocations, 1); one.Difference.Verdict != claim.Unmeasured ||
		one.Difference.Known || one.Estimate.Value != 5 {
		t.Errorf("no allocations in the first: %+v", one.Difference)
	}
}

// An analysis of a stored result equals that of the fresh result.
func TestStoredResultsSayTheSame(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, r := range map[string]*result.Result{
		"closed": resulttest.Closed(), "open": resulttest.Open(),
		"troubled": resulttest.Troubled(), "none": {},
	} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(name, err)
		}
		var again result.Result
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(name, err)
		}
		before, after := analyse.Result(r), analyse.Result(&again)
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%s: the analysis changed in storage", name)
		}
		if _, err := json.Marshal(after); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMetricByID(t *testing.T) {
	t.Parallel()
	for _, id := range plan.MetricIDs() {
		if m, err := kinds.MetricByID(id); err != nil || m.ID != id || m.Title == "" || m.Short == "" || m.Gain == "" ||
			m.Loss == "" {
			t.Errorf("%s: %+v, %v", id, m, err)
		}
	}
	if _, err := kinds.MetricByID("speed"); err == nil || !strings.Contains(err.Error(), `did you mean throughput?`) {
		t.Errorf("an unknown metric: %v", err)
	}
}
