package analyse_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/history"
	"wirelab/lab/result/resulttest"
)

// swing makes two arms whose ratio alternates around a mean.
func swing(ratio, by float64, rounds int) *result.Result {
	return hand(2, rounds, func(arm, round int) float64 {
		if arm == 0 {
			return 20
		}
		return 20 * ratio * (1 + by*float64(2*(round%2)-1))
	})
}

func agree(was, here *result.Result) history.Agreement {
	a, b := analyse.Result(was), analyse.Result(here)
	return history.Agree(&a, &b, was.Environment, here.Environment)
}

func TestAgree(t *testing.T) {
	t.Parallel()
	worse := swing(1.32, 0.01, 10)
	alike := swing(1.0, 0.01, 10)
	spoiled := swing(1.32, 0.01, 10)
	each(spoiled, func(_ int, t *result.Trial) { t.Errors, t.Sent = map[string]uint64{"mismatch": 1}, t.Sent+1 })
	for _, c := range []struct {
		name      string
		was, here *result.Result
		want      history.Holding
		apart     bool
	}{
		{"the same again", worse, worse, history.Holds, false},
		{"worse again, but less so", worse, swing(1.10, 0.01, 10), history.Holds, true},
		{"the opposite", worse, swing(0.9, 0.01, 10), history.Contradicted, true},
		{"no difference here", worse, alike, history.Contradicted, true},
		{
			"a small difference, and none here: some values are in both", swing(1.02, 0.008, 10),
			swing(1.008, 0.012, 10),
			history.NotDecided, false,
		},
		{"too vague here", worse, swing(1.1, 0.5, 10), history.NotDecided, false},
		{"too few rounds here", worse, swing(1.32, 0.01, 9), history.NotDecided, false},
		{"invalid here", worse, spoiled, history.NotDecided, false},
		{"nothing here", worse, &result.Result{}, history.NotDecided, false},
		{"equivalent again", alike, swing(1.002, 0.01, 10), history.Holds, false},
		{"a difference within the margin is equivalent still", alike, swing(1.02, 0.001, 10), history.Holds, true},
		{"beyond the margin", alike, swing(1.06, 0.01, 10), history.Contradicted, true},
		{"across the margin", alike, swing(1.03, 0.02, 10), history.NotDecided, true},
	} {
		got := agree(c.was, c.here)
		if len(got.Conclusions) == 0 {
			t.Fatalf("%s: no conclusion", c.name)
		}
		first := got.Conclusions[0]
		if !first.Primary || first.Metric != plan.ServerCPU || first.Holding != c.want || first.Apart != c.apart {
			t.Errorf("%s: %q, apart %v, %+v", c.name, first.Holding, first.Apart, first.Here)
		}
		if (first.Why == "") != (c.want == history.Holds) {
			t.Errorf("%s: why %q", c.name, first.Why)
		}
	}
}

func TestConclusionsInOrder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := resulttest.Closed()
	got := agree(r, r)
	if n := got.Count(true, history.Holds); n != 4 || got.Environment != nil {
		t.Errorf("%d primary conclusions hold, want 4; differs %v", n, got.Environment)
	}
	if !slices.IsSortedFunc(got.Conclusions, func(a, b history.Conclusion) int {
		if a.Primary == b.Primary {
			return 0
		} else if a.Primary {
			return -1
		}
		return 1
	}) {
		t.Error("the primary metric is not first")
	}
	a := analyse.Result(r)
	claims := 0
	for _, l := range a.Loads {
		for _, row := range l.Rows {
			for _, c := range row.Cells {
				if c.Difference != nil && c.Difference.Verdict.Claim() && !strings.HasPrefix(row.Metric, "service") {
					claims++
				}
			}
		}
	}
	if len(got.Conclusions) != claims || got.Count(true, history.Holds)+got.Count(false, history.Holds) != claims {
		t.Errorf("%d conclusions of %d claims, or an experiment disagrees with itself", len(got.Conclusions), claims)
	}
	for _, none := range []*result.Result{{}, resulttest.Short(3), resulttest.OneArm()} {
		if n := len(agree(none, r).Conclusions); n != 0 {
			t.Errorf("%d conclusions of what claims nothing", n)
		}
	}
}

func TestEnvironmentChanges(t *testing.T) {
	t.Parallel()
	was := resulttest.Closed()
	here := *was
	here.Environment.CPU, here.Environment.Go, here.Environment.MemoryBytes = "Other CPU", "go1.27",
		was.Environment.MemoryBytes+1<<20
	here.Environment.Libraries = map[string]string{"google.golang.org/grpc": "v1.86.0", "example.com/new": "v1"}
	want := []history.Change{
		{What: "CPU", Was: "Example CPU at 2.40GHz", Here: "Other CPU"},
		{What: "Go", Was: "go1.26.8", Here: "go1.27"},
		{What: "library example.com/new", Was: "none", Here: "v1"},
		{What: "library google.golang.org/grpc", Was: "v1.85.0", Here: "v1.86.0"},
	}
	if got := agree(was, &here).Environment; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Two runs of the same two arms hardly ever contradict each other, whatever their noise, because claims are rare
// enough.
func TestRepeatsRarelyContradict(t *testing.T) {
	t.Parallel()
	contradicted, all := 0, 0
	for seed := range uint64(30) {
		ratio := 1 + 0.02*float64(seed%6)
		got := agree(noisy(seed, 12, 0.03, 20, 20*ratio), noisy(1000+seed, 12, 0.03, 20, 20*ratio))
		for _, c := range got.Conclusions {
			if c.Primary {
				all++
				if c.Holding == history.Contradicted {
					contradicted++
				}
			}
		}
	}
	if float64(contradicted) > 0.03*float64(all)+2*math.Sqrt(0.03*float64(all)) || all < 10 {
		t.Errorf("%d of %d conclusions were contradicted", contradicted, all)
	}
}
