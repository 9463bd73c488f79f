package stat_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/stat"
)

func TestBeyondAgreesWithTheInterval(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 2 + random.IntN(30)
		x := make([]float64, n)
		for i := range x {
			x[i] = 20 * math.Exp(0.1*random.NormFloat64())
		}
		e, err := stat.GeometricMean(x, 0.04)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			limit float64
			out   bool
		}{
			{e.Low * 0.999, true},
			{e.Low * 1.001, false},
			{e.Value, false},
			{e.High * 0.999, false},
			{e.High * 1.001, true},
		} {
			if p := e.Beyond(c.limit); (p < e.Alpha) != c.out {
				t.Errorf("%+v at %v: p %v", e, c.limit, p)
			}
		}
		if p := e.Beyond(e.High); math.Abs(p-e.Alpha) > 1e-6 {
			t.Errorf("at the bound itself p is %v, want %v", p, e.Alpha)
		}
	}
}

func TestRoundsToClear(t *testing.T) {
	t.Parallel()
	e, err := stat.GeometricMean([]float64{19, 21, 20, 20.5, 19.5, 20, 21, 19, 20, 20.2}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if n := e.RoundsToClear(e.High, 0.05); n != 10 {
		t.Errorf("the bound is cleared by %d rounds, want the 10 there are", n)
	}
	near, far := e.RoundsToClear(e.Value*1.001, 0.05), e.RoundsToClear(e.Value*1.01, 0.05)
	if near <= far || far < 10 {
		t.Errorf("%d rounds for a limit near by, %d for one further off", near, far)
	}
	if n := e.RoundsToClear(e.Value, 0.05); n != 1_000_000 {
		t.Errorf("a value at its limit is cleared by %d rounds", n)
	}
	if strict := e.RoundsToClear(e.Value*1.01, 0.001); strict <= far {
		t.Errorf("%d rounds at alpha 0.001, %d at 0.05", strict, far)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	tens := func(n uint64) []uint64 {
		x := make([]uint64, 10)
		for i := range x {
			x[i] = n
		}
		return x
	}
	burst := tens(0)
	burst[3] = 100
	for _, c := range []struct {
		name         string
		failed, sent []uint64
		value        float64
		low, high    float64 // the range of the bounds
	}{
		{"none failed: the rule of three, two-sided", tens(0), tens(1000), 0, 0, 3.689 / 10000},
		{"all failed", tens(1000), tens(1000), 1, 1 - 3.689/10000, 1},
		{"ten in a thousand, evenly: Clopper and Pearson", tens(1), tens(100), 0.01, 0.0048, 0.0183},
		{"as many in one round: a burst proves nothing", burst, tens(1000), 0.01, 0, 0.0326},
	} {
		e, err := stat.Share(c.failed, c.sent, 0.05)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if e.Value != c.value || math.Abs(e.Low-c.low) > 2e-4 || math.Abs(e.High-c.high) > 2e-4 {
			t.Errorf("%s: %v [%v, %v], want [%v, %v]", c.name, e.Value, e.Low, e.High, c.low, c.high)
		}
	}
	for _, bad := range [][2][]uint64{{{1}, {2}}, {{1, 1}, {2}}, {{0, 0}, {1, 0}}, {{3, 0}, {2, 1}}} {
		if _, err := stat.Share(bad[0], bad[1], 0.05); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
