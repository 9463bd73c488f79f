package analyse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
)

func judge(t *testing.T, r *result.Result, texts ...string) threshold.Judgement {
	t.Helper()
	a := analyse.Result(r)
	return threshold.Judge(r, &a, thresholds(t, texts...))
}

func thresholds(t *testing.T, texts ...string) []threshold.Threshold {
	t.Helper()
	var all []threshold.Threshold
	for _, text := range texts {
		one, err := threshold.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func TestJudge(t *testing.T) {
	t.Parallel()
	steady := func(ratio, swing float64, rounds int) *result.Result {
		return hand(2, rounds, func(arm, round int) float64 {
			if arm == 0 {
				return 20
			}
			return 20 * ratio * (1 + swing*float64(2*(round%2)-1))
		})
	}
	failing := func(n uint64, every int) *result.Result {
		r := steady(1, 0, 10)
		each(r, func(round int, t *result.Trial) {
			if round%every == 0 {
				t.Errors, t.Sent = map[string]uint64{"unavailable": n}, t.Sent+n
			}
		})
		return r
	}
	for _, c := range []struct {
		name string
		r    *result.Result
		text string
		want threshold.Outcome
		says string // in Why, of the worst finding
		more bool
	}{
		{"proved beyond", steady(1.10, 0.01, 10), "cpu/req > +3%", threshold.Crossed, "", false},
		{"proved within", steady(1.01, 0.01, 10), "cpu/req > +3%", threshold.Passed, "", false},
		{
			"the interval holds the limit, the figure being above", steady(1.035, 0.02, 10), "cpu/req > +3%",
			threshold.Undecided, "holds the limit", true,
		},
		{
			"the interval holds the limit, the figure being below", steady(1.025, 0.02, 10), "cpu/req > +3%",
			threshold.Undecided, "holds the limit", true,
		},
		{"exactly at the limit is kept", steady(1.03, 0, 10), "cpu/req > +3%", threshold.Passed, "", false},
		{"exactly beyond", steady(1.0301, 0, 10), "cpu/req > +3%", threshold.Crossed, "", false},
		{
			"nine rounds decide nothing", steady(2, 0.01, 9), "cpu/req > +3%", threshold.Undecided,
			"9 of the 10 rounds",
			true,
		},
		{"an improvement that must be", steady(0.99, 0.01, 10), "cpu/req > -5%", threshold.Crossed, "", false},
		{"an improvement that is", steady(0.90, 0.01, 10), "cpu/req > -5%", threshold.Passed, "", false},
		{"less throughput than allowed", steady(1, 0, 10), "throughput < 20k/s", threshold.Crossed, "", false},
		{"throughput as asked for", steady(1, 0, 10), "throughput < 9k/s", threshold.Passed, "", false},
		{"an absolute limit, kept by both", steady(1.1, 0.01, 10), "cpu/req > 25us", threshold.Passed, "", false},
		{"an absolute limit, crossed by one", steady(1.1, 0.01, 10), "cpu/req > 21us", threshold.Crossed, "", false},
		{"the arm that keeps it", steady(1.1, 0.01, 10), "a: cpu/req > 21us", threshold.Passed, "", false},
		{
			"a quantile without calls enough", steady(1, 0, 10), "p99.9 > 20ms", threshold.Undecided,
			"needs 100,000 requests, have 10,000", false,
		},
		{"no allocation at all", steady(1, 0, 10), "client-allocs > 4", threshold.Passed, "", false},
		{"a count of none", steady(1, 0, 10), "connections > 0", threshold.Passed, "", false},
		{"no failure", steady(1, 0, 10), "errors > 0.1%", threshold.Passed, "", false},
		{"no failure in few calls", steady(1, 0, 10), "errors > 0.01%", threshold.Undecided, "holds the limit", true},
		{"no failure at all is asked for", steady(1, 0, 10), "errors > 0%", threshold.Passed, "", false},
		{"one failure where none may be", failing(1, 10), "errors > 0%", threshold.Crossed, "", false},
		{"a few failures are below the limit", failing(1, 2), "errors > 1%", threshold.Passed, "", false},
		{"many in every round are above it", failing(50, 1), "errors > 1%", threshold.Crossed, "", false},
		{
			"as many in one round prove nothing", failing(500, 10), "errors > 1%", threshold.Undecided,
			"holds the limit",
			true,
		},
		{
			"failures spoil every other figure", failing(1, 10), "cpu/req > +3%", threshold.Spoiled,
			"1 of 10,001 calls failed", false,
		},
	} {
		j := judge(t, c.r, c.text)
		worst := j.Findings[0]
		for _, f := range j.Findings {
			if f.Outcome == j.Outcome {
				worst = f
			}
		}
		if j.Outcome != c.want || !strings.Contains(worst.Why, c.says) || (worst.More > 0) != c.more {
			t.Errorf("%s: %q, %+v; want %q", c.name, j.Outcome, worst, c.want)
		}
		if (worst.Why == "") != (c.want == threshold.Passed || c.want == threshold.Crossed) {
			t.Errorf("%s: why %q", c.name, worst.Why)
		}
	}
}

// The worst finding decides for the whole: a proved crossing first, and a refused figure before an undecided one.
func TestWorstOutcomeCounts(t *testing.T) {
	t.Parallel()
	r := noisy(1, 10, 0.01, 20, 24)
	wrong := noisy(1, 10, 0.01, 20, 24, 20)
	each(wrong, func(_ int, t *result.Trial) { t.Errors, t.Sent = map[string]uint64{"mismatch": 1}, t.Sent+1 })
	for _, c := range []struct {
		r     *result.Result
		texts []string
		want  threshold.Outcome
	}{
		{r, []string{"cpu/req > +50%", "sent > +1%"}, threshold.Passed},
		{r, []string{"cpu/req > +50%", "p99.9 > 1s"}, threshold.Undecided},
		{r, []string{"cpu/req > +3%", "p99.9 > 1s"}, threshold.Crossed},
		{wrong, []string{"b: cpu/req > 30us", "p99.9 > 1s"}, threshold.Spoiled},
		{wrong, []string{"b: cpu/req > 30us", "c: cpu/req > 10us"}, threshold.Crossed},
		{wrong, []string{"c: cpu/req > 50us"}, threshold.Passed},
	} {
		if j := judge(t, c.r, c.texts...); j.Outcome != c.want {
			t.Errorf("%q: %q, want %q: %+v", c.texts, j.Outcome, c.want, j.Findings)
		}
	}
	r.Ending = result.Interrupted
	if j := judge(t, r, "cpu/req > +3%"); j.Outcome != threshold.Spoiled ||
		j.Findings[0].Outcome != threshold.Crossed || j.Why == "" {
		t.Errorf("interrupted: %+v", j)
	}
	if j := judge(t, &result.Result{}, "cpu/req > +3%"); j.Outcome != threshold.Spoiled || j.Why == "" {
		t.Errorf("nothing: %+v", j)
	}
}

// However a limit is moved towards the worse side, an outcome only gets better. No outcome is pass and fail at once,
// and all follow from the interval.
func TestOutcomesAreMonotone(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	rank := map[threshold.Outcome]int{threshold.Crossed: 0, threshold.Undecided: 1, threshold.Passed: 2}
	seen := map[threshold.Outcome]int{}
	for seed := range uint64(20) {
		r := noisy(seed, 10+int(seed%5), 0.03, 20, 20*math.Exp(0.1*random.NormFloat64()), 20)
		a := analyse.Result(r)
		for _, form := range []string{"cpu/req > %+.2f%%", "b: cpu/req > %.3fus", "throughput < -%.2f%%"} {
			before := -1
			for step := range 30 {
				limit := -12 + float64(step)
				if strings.Contains(form, "us") {
					limit = 15 + float64(step)/3
				}
				if strings.Contains(form, "throughput") {
					limit = 0.1 + float64(step)/2
				}
				j := threshold.Judge(r, &a, thresholds(t, fmt.Sprintf(form, limit), "allocs/req > +1%"))
				if now := rank[j.Outcome]; now < before {
					t.Fatalf("seed %d, "+form+": %q after a better one", seed, limit, j.Outcome)
				} else {
					before = now
				}
				for _, f := range j.Findings {
					beyond, within := f.Low > f.Limit*(1+1e-9), f.High <= f.Limit*(1+1e-9)
					if f.Below {
						beyond, within = f.High < f.Limit*(1-1e-9), f.Low >= f.Limit*(1-1e-9)
					}
					seen[f.Outcome]++
					if f.Outcome == threshold.Crossed && !beyond ||
						f.Outcome == threshold.Passed != (within && f.Bounded) {
						t.Fatalf("%+v", f)
					}
				}
			}
		}
	}
	if seen[threshold.Crossed] < 100 || seen[threshold.Undecided] < 100 || seen[threshold.Passed] < 100 {
		t.Errorf("the cases are lopsided: %v", seen)
	}
}

// With equal arms and a limit of no difference, half of all figures are beyond it. A false regression among four of
// them must still be rare.
func TestManyFindingsAreAdjusted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const repeats = 60
	alone, together := 0, 0
	for seed := range uint64(repeats) {
		j := judge(t, noisy(seed, 10, 0.05, 20, 20, 20, 20, 20), "cpu/req > +0%")
		if j.Outcome == threshold.Crossed {
			together++
		}
		for _, f := range j.Findings {
			if f.Low > f.Limit {
				alone++
				break
			}
		}
	}
	if limit := 0.025*repeats + 2*math.Sqrt(0.025*repeats); float64(together) > limit {
		t.Errorf("a false regression in %d of %d, at most %.0f are allowed", together, repeats, limit)
	}
	if alone < 2*together || alone < 4 {
		t.Errorf("without adjusting there would be %d, with it there are %d: the test shows nothing", alone, together)
	}
}

func TestLoadsAndArms(t *testing.T) {
	t.Parallel()
	r := resulttest.Closed()
	j := judge(t, r, "cpu/req > +3%", "grpc: p99 > 20ms @ 50 in flight")
	if len(j.Findings) != 5 || j.Compared != 5 {
		t.Fatalf("%d findings, %d compared", len(j.Findings), j.Compared)
	}
	if f := j.Findings[0]; f.ArmName != "grpc" || f.LoadName != "1 in flight" || f.Outcome != threshold.Crossed ||
		f.Alpha != 0.04 {
		t.Errorf("%+v", f)
	}
	if f := j.Findings[1]; f.ArmName != "connect" || f.Outcome != threshold.Passed {
		t.Errorf("%+v", f)
	}
	if f := j.Findings[4]; f.ArmName != "grpc" || f.Load != 1 || f.Metric != plan.ResponseP99 {
		t.Errorf("%+v", f)
	}
	for _, r := range []*result.Result{
		resulttest.Open(), resulttest.Troubled(), resulttest.Short(0),
		resulttest.Short(1), resulttest.OneArm(),
	} {
		j := judge(t, r, "cpu/req > +3%", "p99.9 > 20ms", "errors > 0.1%", "throughput < 1k/s", "connections > 0")
		for _, f := range j.Findings {
			if (f.Why == "") != (f.Outcome == threshold.Passed || f.Outcome == threshold.Crossed) {
				t.Errorf("%+v", f)
			}
		}
	}
}
