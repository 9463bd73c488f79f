package calls_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/resulttest"
)

// Each step has its own times and its share of the whole, and none where the times of the arm are refused.
func TestStepsOfChains(t *testing.T) {
	t.Parallel()
	r := resulttest.Chained()
	a := analyse.Result(r)
	for _, arm := range a.Loads[0].Arms {
		if len(arm.Steps) != 3 || arm.Steps[0].Name != "login" || arm.Steps[1].Name != "list" ||
			arm.Steps[2].Name != "buy" {
			t.Fatalf("%+v", arm.Steps)
		}
		whole := a.Loads[0].Row(plan.ServiceP50).Cells[0].Estimate.Value
		for i, part := range []float64{0.2, 0.68, 0.1} {
			s := arm.Steps[i]
			if !s.P50.Known || !s.P90.Known || !s.P99.Known ||
				!(s.P50.Value < s.P90.Value && s.P90.Value < s.P99.Value) || s.P50.Value >= whole {
				t.Errorf("%s: %+v of %v", s.Name, s, whole)
			}
			if math.Abs(s.Share.Value-part) > 0.02 {
				t.Errorf("%s has a share of %v, want %v", s.Name, s.Share.Value, part)
			}
		}
	}
	wrong := &r.Rounds[3].Trials[0]
	wrong.OK, wrong.Errors = wrong.OK-1, map[string]uint64{result.WrongReply: 1}
	a = analyse.Result(r)
	for i, arm := range a.Loads[0].Arms {
		for _, s := range arm.Steps {
			for _, e := range []claim.Estimate{s.P50, s.P90, s.P99, s.Share} {
				if e.Known != (i != wrong.Arm) || !e.Known && (e.Why == "" || e.Refused == nil) {
					t.Errorf("%s, %s: %+v", arm.Name, s.Name, e)
				}
			}
		}
	}
}

// A result keeps its steps when it is written and read. A result whose steps do not have the time of each right call is
// refused.
func TestStepsAreKept(t *testing.T) {
	t.Parallel()
	r := resulttest.Chained()
	if flaws := consistency.Flaws(r); len(flaws) > 0 {
		t.Fatal(flaws)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again result.Result
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	of := again.Rounds[2].Trials[1].Steps
	if len(of) != 3 || of[1].Times.Quantile(0.5) != r.Rounds[2].Trials[1].Steps[1].Times.Quantile(0.5) {
		t.Errorf("%+v", of)
	}
	twice := result.AddSteps(result.AddSteps(nil, of), r.Rounds[1].Trials[1].Steps)
	if got, want := twice[0].Times.Count(), r.Rounds[2].Trials[1].OK+r.Rounds[1].Trials[1].OK; got != want {
		t.Errorf("%d times, want %d", got, want)
	}
	for says, spoil := range map[string]func(*result.Trial){
		"steps[1].times": func(x *result.Trial) { x.Steps[1].Times.Record(7) },
		"steps[0].times": func(x *result.Trial) { x.Steps[0].Times = nil },
		"steps[2].name":  func(x *result.Trial) { x.Steps[2].Name = "" },
		"at most 64":     func(x *result.Trial) { x.Steps = result.NewSteps(make([]string, 65)) },
	} {
		r := resulttest.Chained()
		spoil(&r.Rounds[0].Trials[0])
		_ = analyse.Result(r) // takes any
		if flaws := fmt.Sprint(consistency.Flaws(r)); !strings.Contains(flaws, says) {
			t.Errorf("%s: %s", says, flaws)
		}
	}
}
