package plan_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"wirelab/lab/plan"
)

func TestLevels(t *testing.T) {
	t.Parallel()
	if got, want := plan.Levels([]float64{10_000}, 12),
		[]float64{1000, 2500, 5000, 7000, 8000, 9000, 10_000, 11_000, 12_000}; !slices.Equal(got, want) {
		t.Errorf("one arm: %v, want %v", got, want)
	}
	if got, want := plan.EvenLevels(1000, 3), []float64{333.3, 666.7, 1000}; !slices.Equal(got, want) {
		t.Errorf("even: %v, want %v", got, want)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		most := make([]float64, 1+random.IntN(8))
		for i := range most {
			most[i] = math.Exp(3 + 8*random.Float64())
		}
		count := 3 + random.IntN(plan.LevelsMax-2)
		got := plan.Levels(most, count)
		lowest, highest := 0.1*slices.Min(most), 1.2*slices.Max(most)
		switch {
		case len(got) > count || len(got) < 3 || !slices.IsSorted(got) ||
			len(slices.Compact(slices.Clone(got))) != len(got):
			t.Fatalf("%d of %v: %v", count, most, got)
		case math.Abs(got[0]/lowest-1) > 0.06 || math.Abs(got[len(got)-1]/highest-1) > 0.06:
			t.Fatalf("%v reaches from %v to %v: %v", most, lowest, highest, got)
		}
	}
}
