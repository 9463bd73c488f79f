package history_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/history"
	"wirelab/lab/result/resulttest"
)

// run is an experiment with two arms. The second costs times as much as usual.
func run(seed uint64, times float64) *result.Result {
	arms := resulttest.Arms()[:2]
	arms[1].ServerCPU = time.Duration(times * float64(arms[1].ServerCPU))
	return resulttest.Make(resulttest.Setting{
		Name: "quick", Arms: arms, Loads: []plan.Load{{InFlight: 1}}, Rounds: 20,
		Seed: seed, Noise: 0.01,
	})
}

func compared(was, here *result.Result) history.CrossRun {
	a, b := analyse.Result(was), analyse.Result(here)
	return history.Compare(was, here, &a, &b)
}

func row(t *testing.T, s history.CrossRun, arm int, metric string) history.SharedRow {
	t.Helper()
	for _, r := range s.Loads[0].Arms[arm].Rows {
		if r.Metric == metric {
			return r
		}
	}
	t.Fatalf("no %s", metric)
	return history.SharedRow{}
}

// What changed between two runs is found, what did not is equivalent, and the first arm, which has no arm to compare
// with, gets no verdict (grb-M12).
func TestCompareRuns(t *testing.T) {
	t.Parallel()
	s := compared(run(1, 1), run(2, 1.1))
	if !s.Comparable || s.Why != "" || len(s.Loads) != 1 || len(s.Loads[0].Arms) != 2 {
		t.Fatalf("%+v", s)
	}
	cpu := row(t, s, 1, plan.ServerCPU).Shift
	if cpu == nil || cpu.Verdict != claim.Worse || cpu.Low > 1.1 || cpu.High < 1.1 {
		t.Errorf("server CPU shifted by %+v, it is 10 %% dearer", cpu)
	}
	if d := row(t, s, 1, plan.WireSent).Shift; d == nil || d.Verdict != claim.Equivalent || !d.Exact {
		t.Errorf("bytes shifted by %+v", d)
	}
	if d := row(t, s, 0, plan.ServerCPU); d.Shift != nil || !d.Was.Known || !d.Here.Known {
		t.Errorf("the first arm: %+v", d)
	}
	if d := row(t, compared(run(1, 1), run(3, 0.9)), 1, plan.ServerCPU).Shift; d.Verdict != claim.Better {
		t.Errorf("cheaper: %+v", d)
	}
	if d := row(t, compared(run(1, 1), run(4, 1)), 1, plan.ServerCPU).Shift; d.Verdict != claim.Equivalent {
		t.Errorf("the same: %+v", d)
	}
}

// If two results cannot be compared, there is no verdict, and the reason is given.
func TestRunsThatCannotBeCompared(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*result.Result)
		why   string
	}{
		"another host":   {func(r *result.Result) { r.Environment.Host = "other" }, "different machines: host"},
		"another kernel": {func(r *result.Result) { r.Environment.Kernel = "7.0" }, "different machines: system"},
		"other CPUs": {
			func(r *result.Result) { r.Placement.ServerCPUs = []int{1} },
			"different machines: CPUs of server",
		},
		"another network": {
			func(r *result.Result) { r.Plan.Network = "cloud" },
			"different questions: network (none, cloud)",
		},
		"another warm-up":   {func(r *result.Result) { r.Plan.WarmUp *= 2 }, "different questions: warm up"},
		"another data set":  {func(r *result.Result) { r.Plan.Data = "small" }, "no arm in common"},
		"other requests":    {func(r *result.Result) { r.Plan.Requests = "known" }, "no load in common"},
		"another operation": {func(r *result.Result) { r.Plan.Operation = "ListFeatures" }, "no load in common"},
		"another load":      {func(r *result.Result) { r.Plan.Loads[0].InFlight = 2 }, "no load in common"},
		"another first arm": {func(r *result.Result) {
			r.Plan.Arms[0], r.Plan.Arms[1] = r.Plan.Arms[1], r.Plan.Arms[0]
		}, "the first arms differ"},
		"one arm in common": {func(r *result.Result) { r.Plan.Arms[1].Connections = 7 }, "one arm in common"},
	} {
		other := run(2, 1.1)
		c.spoil(other)
		s := compared(run(1, 1), other)
		if s.Comparable || !strings.HasPrefix(s.Why, c.why) {
			t.Errorf("%s: comparable %v, why %q", name, s.Comparable, s.Why)
		}
		if text := fmt.Sprintf("%+v", s.Loads); strings.Contains(text, "Shift:0x") {
			t.Errorf("%s: there is a verdict", name)
		}
	}
	// Possible reasons for different figures are listed, and prevent no verdict.
	other := run(2, 1)
	other.Environment.Commit, other.Environment.Go, other.Plan.Rounds.Max, other.Plan.Seed = "abc", "go1.99", 50, 9
	if s := compared(run(1, 1), other); !s.Comparable || len(s.Builds) != 2 {
		t.Errorf("another build: %v %q, builds %v", s.Comparable, s.Why, s.Builds)
	}
}

// A figure that a gate refused, or that has too few rounds, is not compared.
func TestCrossRunWithGates(t *testing.T) {
	t.Parallel()
	wrong := run(2, 1)
	for n := range wrong.Rounds {
		wrong.Rounds[n].Trials[1].Errors = map[string]uint64{result.WrongReply: 3}
	}
	if d := row(t, compared(run(1, 1), wrong), 1, plan.ServerCPU).Shift; d.Known || d.Verdict != claim.Invalid {
		t.Errorf("wrong replies: %+v", d)
	}
	few := run(2, 2)
	few.Rounds = few.Rounds[:6]
	if d := row(t, compared(run(1, 1), few), 1, plan.ServerCPU).Shift; d.Verdict != claim.TooFew {
		t.Errorf("six rounds: %+v", d)
	}
}

// Runs of the same arms are called different as rarely as promised.
func TestCrossRunOfEqualArms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const repeats = 40
	claims := 0
	for seed := range uint64(repeats) {
		d := row(t, compared(run(100+seed, 1), run(500+seed, 1)), 1, plan.ServerCPU).Shift
		if d.Verdict == claim.Better || d.Verdict == claim.Worse {
			claims++
		}
	}
	if claims > 6 { // 5 % of 40 and three standard deviations
		t.Errorf("%d of %d comparisons of equal arms claim a difference", claims, repeats)
	}
}

// Estimates are those of the analysis, without its comparisons.
func TestEstimates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"closed": resulttest.Closed(), "open": resulttest.Open(),
		"troubled": resulttest.Troubled(),
	} {
		said := analyse.Result(r)
		for l, load := range history.Estimates(r) {
			for _, row := range load.Rows {
				full := said.Loads[l].Row(row.Metric)
				for a, c := range row.Cells {
					if full == nil || !reflect.DeepEqual(c.Estimate, full.Cells[a].Estimate) || c.Difference != nil {
						t.Errorf("%s, load %d, %s, arm %d: %+v", name, l, row.Metric, a, c)
					}
				}
			}
		}
	}
	if len(history.Estimates(resulttest.Capacity())) != 0 {
		t.Error("a search has estimates")
	}
}
