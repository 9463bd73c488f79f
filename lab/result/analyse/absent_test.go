package analyse_test

import (
	"reflect"
	"slices"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	bounds "wirelab/lab/result/threshold"
)

// An arm that is removed takes with it what the plan says about it, and can be put back at its place.
func TestWithout(t *testing.T) {
	t.Parallel()
	whole := plan.Plan{
		Arms: []plan.Arm{
			{Name: "a", Protocol: "p"},
			{Name: "b", Protocol: "q"},
			{Name: "c", Protocol: "q"},
			{Name: "d", Protocol: "r"},
		},
		Explain:   plan.Corners{From: "p", To: "r"},
		Published: []plan.Published{{Arm: "b", Mean: 1}, {Arm: "d", Mean: 2}, {Arm: "d", Mean: 3}},
		Contrasts: []plan.Contrast{{With: "a", Without: "b"}, {With: "c", Without: "d"}, {With: "a", Without: "c"}},
		Advice:    []plan.Advice{{Arm: "b", Over: "d"}, {Arm: "a", Over: "c"}, {Missing: "taste"}},
	}
	for name, c := range map[string]struct {
		why   map[int]string
		left  []string
		first string
	}{
		"none":          {nil, []string{"a", "b", "c", "d"}, ""},
		"the first two": {map[int]string{0: "x", 1: "y"}, []string{"c", "d"}, "a"},
		"some":          {map[int]string{1: "x", 3: "y"}, []string{"a", "c"}, ""},
		"all":           {map[int]string{0: "x", 1: "x", 2: "x", 3: "x"}, nil, "a"},
	} {
		p, gone := result.Without(whole, c.why)
		var left []string
		for _, arm := range p.Arms {
			left = append(left, arm.Name)
		}
		if !slices.Equal(left, c.left) || len(gone) != len(c.why) {
			t.Errorf("%s: %v are left, and %d gone", name, left, len(gone))
		}
		for _, f := range p.Published {
			if !slices.Contains(left, f.Arm) {
				t.Errorf("%s: a figure of %s is left", name, f.Arm)
			}
		}
		for _, contrast := range p.Contrasts {
			if !slices.Contains(left, contrast.With) || !slices.Contains(left, contrast.Without) {
				t.Errorf("%s: a contrast of what is gone is left: %+v", name, contrast)
			}
		}
		for _, advice := range p.Advice {
			if advice.Missing == "" && (!slices.Contains(left, advice.Arm) || !slices.Contains(left, advice.Over)) {
				t.Errorf("%s: a recommendation of what is gone is left: %+v", name, advice)
			}
		}
		for _, a := range gone {
			if a.Why != c.why[a.Place] || a.Arm != whole.Arms[a.Place] {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if p.Explain.From != "" && (!slices.Contains(left, "a") || !slices.Contains(left, "d")) {
			t.Errorf("%s: explained between %v", name, p.Explain)
		}
		r := &result.Result{Plan: p, Absent: gone}
		if got := r.Rebased(); got != c.first {
			t.Errorf("%s: instead of %q", name, got)
		}
		if asked := r.Asked(); !reflect.DeepEqual(asked.Arms, whole.Arms) ||
			len(asked.Published) != len(whole.Published) ||
			len(asked.Contrasts) != len(whole.Contrasts) || len(asked.Advice) != len(whole.Advice) {
			t.Errorf("%s: asked for %+v", name, asked)
		}
	}
	wild := &result.Result{Absent: []result.Absent{{Place: -7}, {Place: 99}}}
	if n := len(wild.Asked().Arms); n != 2 {
		t.Errorf("%d arms were asked for", n)
	}
}

// No threshold is decided for an absent arm, or for a difference from it that another arm replaces.
func TestJudgeAbsent(t *testing.T) {
	t.Parallel()
	r := resulttest.Absent()
	a := analyse.Result(r)
	for _, c := range []struct {
		text   string
		states map[string]bounds.Outcome
	}{
		{"p99 > 10s", map[string]bounds.Outcome{
			"log-grpc": bounds.Passed, "log-http": bounds.Passed,
			"log-rabbit": bounds.Spoiled, "log-rabbit-direct": bounds.Spoiled,
		}},
		{"log-grpc: p99 > 10s", map[string]bounds.Outcome{"log-grpc": bounds.Passed}},
		{"log-rabbit: p99 > 10s", map[string]bounds.Outcome{"log-rabbit": bounds.Spoiled}},
		{"cpu/req > +900%", map[string]bounds.Outcome{
			"log-grpc": bounds.Spoiled, "log-http": bounds.Spoiled,
			"log-rabbit-direct": bounds.Spoiled,
		}},
		{"log-http: cpu/req > +900%", map[string]bounds.Outcome{"log-http": bounds.Spoiled}},
	} {
		threshold, err := bounds.ParseThreshold(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if err := threshold.Check(r.Asked()); err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		j, got := bounds.Judge(r, &a, []bounds.Threshold{threshold}), map[string]bounds.Outcome{}
		for _, f := range j.Findings {
			got[f.ArmName] = f.Outcome
			if gone := slices.ContainsFunc(r.Absent,
				func(a result.Absent) bool { return a.Name() == f.ArmName }); f.Absent != gone ||
				gone && (f.Known || f.Why == "") {
				t.Errorf("%s: %+v", c.text, f)
			}
		}
		if !reflect.DeepEqual(got, c.states) {
			t.Errorf("%s: %v", c.text, got)
		}
	}
}
