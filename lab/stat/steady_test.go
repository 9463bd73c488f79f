package stat_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/stat"
)

func series(r *rand.Rand, n int, level func(i int) float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 100*level(i) + r.NormFloat64()
	}
	return x
}

func TestMSER5(t *testing.T) {
	t.Parallel()
	flat := func(int) float64 { return 1 }
	for _, c := range []struct {
		name  string
		n     int
		level func(i int) float64
		// The share of 300 series that must be called steady, and the mean of cut.
		least, most    float64
		cutMin, cutMax float64
	}{
		{"flat, 20 windows", 20, flat, 0.5, 0.7, 0, 5},
		{"flat, 40 windows", 40, flat, 0.8, 1, 0, 8},
		{"flat, 160 windows", 160, flat, 0.95, 1, 0, 30},
		{
			"a cold start of 10 windows", 60, func(i int) float64 { return 1 + 0.5*math.Exp(-float64(i)/3) }, 0.7,
			1, 10,
			25,
		},
		{"a step after a quarter", 60, func(i int) float64 { return 1 + b2f(i < 15)*0.3 }, 0.7, 1, 15, 21},
		{"climbing to the end", 40, func(i int) float64 { return 1 + 0.02*float64(i) }, 0, 0, 0, 40},
		{"settles after three quarters", 40, func(i int) float64 { return 1 - 0.02*float64(min(i, 30)) }, 0, 0, 0, 40},
	} {
		r := rand.New(rand.NewPCG(31, uint64(c.n)))
		steady, cuts := 0.0, 0.0
		for range 300 {
			cut, ok := stat.MSER5(series(r, c.n, c.level))
			if cut%5 != 0 || cut > c.n/2 {
				t.Fatalf("%s: cut %d", c.name, cut)
			}
			steady += b2f(ok) / 300
			cuts += float64(cut) / 300
		}
		t.Logf("%s: steady in %.2f, cut %.1f", c.name, steady, cuts)
		if steady < c.least || steady > c.most || cuts < c.cutMin || cuts > c.cutMax {
			t.Errorf("%s: steady in %.2f, cut %.1f on average", c.name, steady, cuts)
		}
	}
	if cut, steady := stat.MSER5(make([]float64, 19)); cut != 0 || steady {
		t.Errorf("19 values: %d, %v", cut, steady)
	}
	if cut, steady := stat.MSER5(make([]float64, 20)); cut != 0 || !steady {
		t.Errorf("a constant: %d, %v", cut, steady)
	}
}

func b2f(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func TestMannKendall(t *testing.T) {
	t.Parallel()
	// By hand: 10 ascending values have S = 45, variance 10·9·25/18 = 125,
	// z = 44/√125 = 3.9355, p = 0.0000830.
	within(t, "ascending", stat.MannKendall([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), 8.30e-5, 0.01)
	within(t, "descending", stat.MannKendall([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}), 8.30e-5, 0.01)
	// Ties: 1 1 2 2 3 3 has S = 12, variance (6·5·17 − 3·2·1·9)/18 = 25.33, z = 11/5.033 = 2.1855.
	within(t, "ties", stat.MannKendall([]float64{1, 1, 2, 2, 3, 3}), 0.02885, 0.01)
	for name, x := range map[string][]float64{"nothing": nil, "three": {1, 2, 3}, "constant": {5, 5, 5, 5, 5}} {
		if p := stat.MannKendall(x); p != 1 {
			t.Errorf("%s: p = %v", name, p)
		}
	}
	r := rand.New(rand.NewPCG(32, 32))
	alarms := 0.0
	for range 2000 {
		if stat.MannKendall(series(r, 30, func(int) float64 { return 1 })) < 0.05 {
			alarms++
		}
	}
	if share := alarms / 2000; share > 0.065 || share < 0.03 {
		t.Errorf("a trend is seen in %v of series without", share)
	}
}

func TestExponentialFit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(33, 33))
	draw := func(n int, gap func() float64) bool {
		h := stat.NewHistogram()
		for range n {
			h.Record(int64(1e6 * gap()))
		}
		_, plausible, err := stat.ExponentialFit(h)
		if err != nil {
			t.Fatal(err)
		}
		return plausible
	}
	refused := 0
	for range 1000 {
		if !draw(1000, r.ExpFloat64) {
			refused++
		}
	}
	if refused < 1 || refused > 25 { // 1 % of 1,000
		t.Errorf("%d of 1,000 exponential samples refused", refused)
	}
	if !draw(1_000_000, r.ExpFloat64) {
		t.Error("a million refused: the buckets show")
	}
	for name, gap := range map[string]func() float64{
		"equal gaps":      func() float64 { return 1 },
		"uniform gaps":    func() float64 { return 2 * r.Float64() },
		"a floor of 10 %": func() float64 { return 0.1 + 0.9*r.ExpFloat64() },
		"bursts":          func() float64 { return r.ExpFloat64() * r.ExpFloat64() },
	} {
		if draw(1000, gap) {
			t.Errorf("%s pass for exponential", name)
		}
	}
	for _, h := range []*stat.Histogram{stat.NewHistogram(), histogramOf(seq(9)), histogramOf(make([]int64, 50))} {
		if _, _, err := stat.ExponentialFit(h); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%d values: %v", h.Count(), err)
		}
	}
}

// TestExponentialFitIsTheSortedSum compares with the textbook's sum over a sorted list.
func TestExponentialFitIsTheSortedSum(t *testing.T) {
	t.Parallel()
	values := []int64{3, 3, 7, 20, 41, 41, 55, 90, 130, 500, 501}
	n, sum := float64(len(values)), 0.0
	for _, v := range values {
		sum += float64(v) + 0.5
	}
	a2 := -n
	for i, v := range values {
		f := 1 - math.Exp(-(float64(v)+0.5)/(sum/n))
		back := 1 - math.Exp(-(float64(values[len(values)-1-i])+0.5)/(sum/n))
		a2 -= (2*float64(i) + 1) / n * (math.Log(f) + math.Log(1-back))
	}
	got, _, err := stat.ExponentialFit(histogramOf(values))
	if err != nil {
		t.Fatal(err)
	}
	within(t, "A²", got, a2*(1+0.6/n), 1e-9)
}
