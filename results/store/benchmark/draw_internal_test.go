package benchmark

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Every rank is drawn as often as any other.
func TestRanksAreDrawnEvenly(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	const n, k, times = 20, 5, 20_000
	var drawn [n]int
	for range times {
		all := ranks(random, n, k)
		if len(all) != k || !slices.IsSorted(all) {
			t.Fatalf("%v", all)
		}
		for _, rank := range all {
			drawn[rank]++
		}
	}
	for rank, got := range drawn { // binomial: 5000 ± 4.5 standard deviations of 61
		if math.Abs(float64(got)-times*k/n) > 280 {
			t.Errorf("rank %d was drawn %d times, want about %d", rank, got, times*k/n)
		}
	}
	if all := fmt.Sprint(ranks(random, 3, 5), ranks(random, 0, 5),
		ranks(random, 5, 5)); all != "[0 1 2] [] [0 1 2 3 4]" {
		t.Errorf("small populations: %s", all)
	}
}
