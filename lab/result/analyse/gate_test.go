package analyse_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/stat"
)

// each changes every trial of the second arm.
func each(r *result.Result, change func(round int, t *result.Trial)) {
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Arm == 1 {
				change(n, t)
			}
		}
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	closed := func() *result.Result { return noisy(1, 10, 0.02, 20, 21) }
	open := func(arrivals string) *result.Result {
		return resulttest.Make(resulttest.Setting{
			Arms: resulttest.Arms()[:2], Rounds: 10, Seed: 5,
			Loads: []plan.Load{{Rate: 2000, Arrivals: arrivals, InFlight: 256}},
		})
	}
	poisson := func() *result.Result { return open(plan.Poisson) }
	constant := func() *result.Result { return open(plan.Constant) }
	for _, c := range []struct {
		name   string
		make   func() *result.Result
		change func(round int, t *result.Trial)
		fails  []result.Gate
		says   string
	}{
		{"all is well, closed", closed, func(int, *result.Trial) {}, nil, ""},
		{"all is well, Poisson", poisson, func(int, *result.Trial) {}, nil, ""},
		{"all is well, constant", constant, func(int, *result.Trial) {}, nil, ""},
		{"one wrong answer in all rounds is too many", closed, func(n int, t *result.Trial) {
			if n == 3 {
				t.Errors, t.Sent = map[string]uint64{"mismatch": 1}, t.Sent+1
			}
		}, []result.Gate{result.Answers}, "1 of 10,001 calls failed: 1 mismatch"},
		{"kinds of error, most frequent first", closed, func(n int, t *result.Trial) {
			if n < 2 {
				t.Errors, t.Sent = map[string]uint64{"internal": 1, "unavailable": 4}, t.Sent+5
			}
		}, []result.Gate{result.Answers}, "8 unavailable, 2 internal"},
		{
			"calls that vanished", closed, func(_ int, t *result.Trial) { t.Sent += 2 },
			[]result.Gate{result.Accounts},
			"do not add up",
		},
		{"calls without a time", closed, func(n int, t *result.Trial) {
			if n == 0 {
				t.Response = nil
			}
		}, []result.Gate{result.Accounts}, "9,000 timed"},
		{"one round in ten may be unsteady", closed, func(n int, t *result.Trial) { t.Steady = n > 0 }, nil, ""},
		{
			"two may not", closed, func(n int, t *result.Trial) { t.Steady = n > 1 },
			[]result.Gate{result.Steady},
			"2 of 10 rounds",
		},
		{
			"twice the calls that one caller can make", closed, func(_ int, t *result.Trial) { t.Window /= 2 },
			[]result.Gate{result.Physics},
			"2 calls in flight, but 1",
		},
		{
			"a driver that paused between calls", closed, func(_ int, t *result.Trial) { t.Window += t.Window / 20 },
			[]result.Gate{result.Physics},
			"0.952",
		},
		{
			"a call that straddles the end counts half", closed,
			func(_ int, t *result.Trial) { t.Drained += t.Window / 30; t.Window -= t.Window / 30; t.Completed -= 34 },
			nil, "",
		},
		{"arrivals that were never sent", poisson, func(n int, t *result.Trial) {
			if n == 0 {
				t.Planned += 3
			}
		}, []result.Gate{result.Schedule}, "3 of"},
		{
			"a schedule that is not the rate's, Poisson", poisson,
			func(_ int, t *result.Trial) { t.Window += t.Window / 50 },
			[]result.Gate{result.Schedule},
			"were due",
		},
		{
			"a schedule that is not the rate's, constant", constant,
			func(_ int, t *result.Trial) { t.Window += t.Window / 100 },
			[]result.Gate{result.Schedule},
			"were due",
		},
		{
			"a late generator", poisson,
			func(_ int, t *result.Trial) { t.Lag = resulttest.Times(t.OK, time.Millisecond) },
			[]result.Gate{result.OnTime50, result.OnTime99, result.OnTime999},
			"generator late",
		},
		{
			"late for the tail, not for the median", poisson,
			func(_ int, t *result.Trial) { t.Lag = resulttest.Times(t.OK, 20*time.Microsecond) },
			[]result.Gate{result.OnTime99, result.OnTime999},
			"generator late",
		},
	} {
		r := c.make()
		each(r, c.change)
		a := analyse.Result(r)
		state := a.Loads[0].Arms[1]
		var failed []result.Gate
		said := ""
		for _, check := range state.Checks {
			if !check.OK {
				failed = append(failed, check.Gate)
				said += check.Detail + "\n"
			}
			if check.Detail == "" {
				t.Errorf("%s: %s says nothing", c.name, check.Gate)
			}
		}
		if !slices.Equal(failed, c.fails) || !strings.Contains(said, c.says) {
			t.Errorf("%s: failed %q, want %q that says %q; said %q", c.name, failed, c.fails, c.says, said)
		}
		primary := cell(t, a, 0, a.Loads[0].Primary, 1)
		whole := len(failed) > 0 && (failed[0] != result.OnTime50 && failed[0] != result.OnTime99)
		if whole != (len(state.Invalid()) > 0) {
			t.Errorf("%s: invalid for %q", c.name, state.Invalid())
		}
		want := claim.Invalid
		if slices.Contains(failed, result.Steady) {
			want = claim.Unsteady // a separate finding
		}
		if len(failed) > 0 && (primary.Estimate.Known || primary.Difference.Verdict != want ||
			primary.Difference.Known) {
			t.Errorf("%s: a number is shown all the same: %+v, %+v", c.name, primary.Estimate, primary.Difference)
		}
	}
}

// Lateness spoils only times that are measured from when calls were due.
func TestLatenessSparesCPU(t *testing.T) {
	t.Parallel()
	a := analyse.Result(resulttest.Open())
	cpu, p50 := cell(t, a, 1, plan.ServerCPU, 2), cell(t, a, 1, plan.ResponseP50, 2)
	if !cpu.Estimate.Known || p50.Estimate.Known || p50.Difference.Verdict != claim.Invalid {
		t.Errorf("CPU %+v, p50 %+v", cpu.Estimate, p50)
	}
	if a.Loads[1].Row(plan.Throughput) != nil {
		t.Error("throughput is a metric of an open loop, whose plan sets it")
	}
	if s := a.Loads[0].Arms[0]; math.Abs(s.Planned-2000) > 100 || s.Achieved != s.Planned {
		t.Errorf("planned %v/s, achieved %v/s", s.Planned, s.Achieved)
	}
}

func TestAnInvalidFirstArmLeavesNothingToCompare(t *testing.T) {
	t.Parallel()
	r := noisy(1, 10, 0.02, 20, 26, 30)
	r.Rounds[0].Trials[0].Errors = map[string]uint64{"mismatch": 1}
	r.Rounds[0].Trials[0].Sent++
	a := analyse.Result(r)
	c := cell(t, a, 0, plan.ServerCPU, 1)
	if !c.Estimate.Known || c.Difference.Verdict != claim.Invalid || !strings.Contains(c.Difference.Why, "mismatch") {
		t.Errorf("%+v, %+v", c.Estimate, c.Difference)
	}
	if a.Loads[0].Arms[0].Place != 0 || a.Loads[0].Arms[1].Place == 0 {
		t.Error("the valid arms can still be ranked, and the invalid one cannot")
	}
}

func TestTailsMustBeEarned(t *testing.T) {
	t.Parallel()
	a := analyse.Result(noisy(1, 10, 0.02, 20, 21)) // 1,000 calls in each round
	if c := cell(t, a, 0, plan.ResponseP99, 1); !c.Estimate.Known {
		t.Errorf("p99 of 10 × 1,000: %+v", c.Estimate)
	}
	c := cell(t, a, 0, plan.ResponseP999, 1)
	if c.Estimate.Known || c.Difference.Verdict != claim.Unmeasured ||
		c.Estimate.Why != "needs 100,000 requests, have 10,000" {
		t.Errorf("p99.9 of 10 × 1,000: %+v, %+v", c.Estimate, c.Difference)
	}
}

func TestPrimaryWidth(t *testing.T) {
	t.Parallel()
	whole := noisy(1, 40, 0.05, 20, 21, 22)
	cut := func(n int) *result.Result {
		r := *whole
		r.Rounds = whole.Rounds[:n]
		return &r
	}
	for rounds, want := range map[int]struct{ shown, ok bool }{
		0: {}, 2: {}, 3: {shown: true}, 9: {shown: true},
		10: {true, true},
	} {
		if w, ok := effect.PrimaryWidth(cut(rounds)); ok != want.ok || (w > 0) != want.shown {
			t.Errorf("%d rounds: %v, %v", rounds, w, ok)
		}
	}
	at10, _ := effect.PrimaryWidth(cut(10))
	at40, _ := effect.PrimaryWidth(whole)
	if at40 >= at10 || at40 < 0.01 || at40 > 0.04 {
		t.Errorf("±%v after 10 rounds, ±%v after 40", at10, at40)
	}
	wrong := cut(40)
	wrong.Rounds = slices.Clone(wrong.Rounds)
	wrong.Rounds[3].Trials = slices.Clone(wrong.Rounds[3].Trials)
	wrong.Rounds[3].Trials[2].Errors = map[string]uint64{"mismatch": 1}
	if _, ok := effect.PrimaryWidth(wrong); !ok {
		t.Error("an arm that answered wrongly keeps the others from being finished")
	}
	if w, ok := effect.PrimaryWidth(noisy(1, 10, 0.05, 20)); !ok || w < 0.01 || w > 0.1 {
		t.Errorf("one arm alone: ±%v, %v", w, ok)
	}
	if w, ok := effect.PrimaryWidth(resulttest.Open()); !ok || w <= 0 {
		t.Errorf("p99 in the open loop: ±%v, %v", w, ok)
	}
	if _, ok := effect.PrimaryWidth(&result.Result{}); ok {
		t.Error("an empty result may stop")
	}
}

// FuzzAnalyse analyses results that no experiment could have produced.
func FuzzAnalyse(f *testing.F) {
	for _, r := range []*result.Result{noisy(1, 3, 0.02, 20, 21), {}, resulttest.Short(1)} {
		text, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"plan":{"arms":[{},{}],"loads":[{"rate":1e308},{}]},"rounds":[{"trials":[{"arm":-1},{"arm":9,"load":9},{"arm":1,"window":-1,"ok":18446744073709551615,"response":null},{"arm":0,"driver":{},"server":{"cpu":-5}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r result.Result
		if json.Unmarshal(text, &r) != nil {
			return
		}
		if _, err := json.Marshal(analyse.Result(&r)); err != nil {
			t.Errorf("the analysis has no JSON form: %v", err)
		}
		if w, ok := effect.PrimaryWidth(&r); math.IsNaN(w) || math.IsInf(w, 0) || w < 0 ||
			ok && w == 0 && stat.SequentialRounds > len(r.Rounds) {
			t.Errorf("width %v, %v", w, ok)
		}
		effect.UsableRounds(&r)
	})
}
