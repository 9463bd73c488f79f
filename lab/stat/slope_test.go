package stat_test

import (
	"math"
	"testing"

	"wirelab/lab/stat"
)

func TestSlope(t *testing.T) {
	t.Parallel()
	far := []float64{1e9, 1e9 + 1, 1e9 + 2}
	for name, c := range map[string]struct {
		x, y []float64
		want float64
	}{
		"nothing":            {nil, nil, 0},
		"one":                {[]float64{1}, []float64{5}, 0},
		"all at one x":       {[]float64{2, 2, 2}, []float64{1, 2, 3}, 0},
		"level":              {[]float64{1, 2, 3}, []float64{7, 7, 7}, 0},
		"a line":             {[]float64{0, 1, 2, 3}, []float64{1, 3, 5, 7}, 2},
		"a line that falls":  {[]float64{3, 0, 2}, []float64{-6, 0, -4}, -2},
		"about a line":       {[]float64{1, 2, 3, 4}, []float64{6, 5, 7, 10}, 1.4}, // by hand: 7 / 5
		"far from the start": {far, []float64{1e12, 1e12 + 3, 1e12 + 6}, 3},
	} {
		if got := stat.Slope(c.x, c.y); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
