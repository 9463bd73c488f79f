package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/stat"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(b)) }

func TestAdjusted(t *testing.T) {
	t.Parallel()
	// By hand. Holm: 0.01·4, 0.02·3, max(0.06, 0.03·2), max(0.06, 0.5).
	// Benjamini–Hochberg: min(0.01·4, …), min(0.02·4/2, 0.03·4/3), 0.03·4/3, 0.5.
	p := []float64{0.03, 0.01, 0.5, 0.02}
	for _, c := range []struct {
		name      string
		got, want []float64
	}{
		{"holm", stat.Holm(p), []float64{0.06, 0.04, 0.5, 0.06}},
		{"benjamini-hochberg", stat.BenjaminiHochberg(p), []float64{0.04, 0.04, 0.5, 0.04}},
		{"holm caps at 1", stat.Holm([]float64{0.9, 0.8}), []float64{1, 1}},
		{"one p-value stays", stat.Holm([]float64{0.2}), []float64{0.2}},
	} {
		for i := range c.want {
			if !near(c.got[i], c.want[i]) {
				t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
				break
			}
		}
	}
	if len(stat.Holm(nil)) != 0 || len(stat.BenjaminiHochberg(nil)) != 0 {
		t.Error("no p-values give some")
	}
}

// JointP claims exactly what Judge claims by interval and sign-flip test.
func TestJointPAgreesWithJudge(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		a, b := make([]float64, 10), make([]float64, 10)
		for r := range a {
			a[r], b[r] = math.Exp(0.02*random.NormFloat64()), math.Exp(0.02+0.02*random.NormFloat64())
		}
		e, err := stat.PairedRatio(a, b, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		v := stat.Rule{Practical: -1}.Judge(e).Verdict
		claimed := v == stat.ABetter || v == stat.BBetter
		if claimed != (e.JointP() < 0.05) {
			t.Fatalf("judged %q, joint p %v: %+v", v, e.JointP(), e)
		}
	}
}

func TestRoundsForFamily(t *testing.T) {
	t.Parallel()
	for comparisons, want := range map[int]int{1: 6, 11: 9, 25: 10, 26: 11, 66: 12} {
		if got := stat.RoundsForFamily(comparisons, 0.05); got != want {
			t.Errorf("%d comparisons: %d rounds, want %d", comparisons, got, want)
		}
		if p := float64(comparisons) * 2 / math.Exp2(float64(want)); p >= 0.05 {
			t.Errorf("%d comparisons: %d rounds reach only %v", comparisons, want, p)
		}
	}
}

func TestGeometricMean(t *testing.T) {
	t.Parallel()
	e, err := stat.GeometricMean([]float64{1, 4}, 0.05)
	if err != nil || !near(e.Value, 2) || !near(e.Low*e.High, 4) || e.Low >= 2 {
		t.Errorf("of 1 and 4: %+v, %v", e, err)
	}
	if e, err := stat.GeometricMean([]float64{7, 7, 7}, 0.05); err != nil || e.Low != 7 || e.High != 7 {
		t.Errorf("of equal values: %+v, %v", e, err)
	}
	for _, x := range [][]float64{{1}, {1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}, {1e-300, 1e300}} {
		if e, err := stat.GeometricMean(x, 0.05); err == nil {
			t.Errorf("of %v: %+v", x, e)
		}
	}
}
