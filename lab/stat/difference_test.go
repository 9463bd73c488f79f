package stat_test

import (
	"errors"
	"math"
	"testing"

	"wirelab/lab/stat"
)

func TestPairedDifferenceByHand(t *testing.T) {
	t.Parallel()
	// Differences 1, 2, 3 whatever the rounds' own levels: see TestPairedRatioByHand.
	e, err := stat.PairedDifference([]float64{10, 100, -5}, []float64{11, 102, -2}, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	half := 4.302653 / math.Sqrt(3)
	within(t, "value", e.Value, 2, 1e-12)
	within(t, "low", e.Low, 2-half, 1e-6)
	within(t, "high", e.High, 2+half, 1e-6)
	if e.Rounds != 3 || e.Alpha != 0.05 {
		t.Errorf("%+v", e)
	}
}

func TestPairedDifferenceRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b []float64 }{
		"one round":      {[]float64{1}, []float64{2}},
		"unequal":        {[]float64{1, 2}, []float64{2}},
		"not a number":   {[]float64{1, math.NaN()}, []float64{2, 3}},
		"beyond numbers": {[]float64{1, math.Inf(1)}, []float64{2, 3}},
	} {
		if _, err := stat.PairedDifference(c.a, c.b, 0.05); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
