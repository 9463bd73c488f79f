package stat_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"wirelab/lab/stat"
)

// queue simulates n requests through an M/M/1 queue of load rho with a mean service time of 100 µs, and returns the
// response times. It starts in the steady state. The q-quantile of the response time is −ln(1−q)·100 µs/(1−rho).
func queue(r *rand.Rand, rho float64, n int) *stat.Histogram {
	const service = 100_000.0
	h := stat.NewHistogram()
	wait := 0.0
	if r.Float64() < rho {
		wait = r.ExpFloat64() * service / (1 - rho)
	}
	for range n {
		s := r.ExpFloat64() * service
		h.Record(int64(wait + s))
		wait = max(0, wait+s-r.ExpFloat64()*service/rho)
	}
	return h
}

func TestQuantileIntervalCoversTheTruth(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const repeats, rounds = 200, 10
	for _, c := range []struct {
		rho, q float64
		n      int
	}{{0.3, 0.99, 1500}, {0.7, 0.5, 2000}, {0.7, 0.99, 5000}} {
		r := rand.New(rand.NewPCG(21, uint64(100*c.rho)))
		truth := -math.Log(1-c.q) * 100_000 / (1 - c.rho)
		covered, sum := 0, 0.0
		for range repeats {
			var arm []*stat.Histogram
			for range rounds {
				arm = append(arm, queue(r, c.rho, c.n))
			}
			e, err := stat.QuantileInterval(arm, c.q, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			if e.Low <= truth && truth <= e.High {
				covered++
			}
			sum += e.Value
		}
		share, bias := float64(covered)/repeats, sum/repeats/truth-1
		t.Logf("rho %v, q %v: covers in %v, bias %.2f %%", c.rho, c.q, share, 100*bias)
		if share < 0.90 || share > 0.985 || math.Abs(bias) > 0.03 {
			t.Errorf("rho %v, q %v: covers in %v, bias %v", c.rho, c.q, share, bias)
		}
	}
}

func TestQuantileRatioOfIdenticalArms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const repeats, rounds = 200, 10
	r := rand.New(rand.NewPCG(22, 22))
	differ, covered := 0, 0
	for range repeats {
		var a, b, c []*stat.Histogram
		for range rounds {
			a, b = append(a, queue(r, 0.5, 1000)), append(b, queue(r, 0.5, 1000))
			slow := stat.NewHistogram() // B again, 20 % slower
			for _, bucket := range queue(r, 0.5, 1000).Buckets() {
				slow.RecordN(bucket.High*6/5, bucket.Count)
			}
			c = append(c, slow)
		}
		e, err := stat.QuantileRatio(a, b, 0.99, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if v := (stat.Rule{Practical: -1}).Judge(e).Verdict; v == stat.ABetter || v == stat.BBetter {
			differ++
		}
		e, err = stat.QuantileRatio(a, c, 0.99, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		if e.Low <= 1.2 && 1.2 <= e.High {
			covered++
		}
	}
	if share := float64(differ) / repeats; share > 0.05+3*math.Sqrt(0.05*0.95/repeats) {
		t.Errorf("p99 of identical arms differs in %v", share)
	}
	if share := float64(covered) / repeats; share < 0.90 {
		t.Errorf("the interval covers a ratio of 1.2 in %v", share)
	}
}

// TestJackknifeByHand uses rounds of one value each, whose median is known.
func TestJackknifeByHand(t *testing.T) {
	t.Parallel()
	var rounds []*stat.Histogram
	for _, v := range []int64{100, 200, 400} {
		rounds = append(rounds, histogramOf([]int64{v, v, v}))
	}
	// All: 200. Without 100: of 200 200 200 400 400 400 the third, 200.
	// Without 200: 100. Without 400: 100. In units of ln 2 around ln 100:
	// θ = 1; without: 1, 0, 0; pseudo-values 3·1 − 2·(1, 0, 0) = 1, 3, 3.
	e, err := stat.QuantileInterval(rounds, 0.5, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	half := 4.302653 * (2 / math.Sqrt(3)) / math.Sqrt(3) * math.Ln2
	within(t, "value", e.Value, 200, 1e-12)
	within(t, "low", e.Low, 200*math.Exp(-half), 1e-6)
	within(t, "high", e.High, 200*math.Exp(half), 1e-6)
}

func TestQuantilesRefuse(t *testing.T) {
	t.Parallel()
	one, empty, zero := histogramOf([]int64{5, 6}), stat.NewHistogram(), histogramOf([]int64{0})
	for name, c := range map[string]struct {
		a, b     []*stat.Histogram
		q, alpha float64
	}{
		"one round":      {[]*stat.Histogram{one}, []*stat.Histogram{one}, 0.5, 0.05},
		"unpaired":       {[]*stat.Histogram{one, one}, []*stat.Histogram{one, one, one}, 0.5, 0.05},
		"an empty round": {[]*stat.Histogram{one, one}, []*stat.Histogram{one, empty}, 0.5, 0.05},
		"a nil round":    {[]*stat.Histogram{one, nil}, []*stat.Histogram{one, one}, 0.5, 0.05},
		"durations of 0": {[]*stat.Histogram{zero, zero}, []*stat.Histogram{one, one}, 0.5, 0.05},
		"quantile 0":     {[]*stat.Histogram{one, one}, []*stat.Histogram{one, one}, 0, 0.05},
		"quantile 1":     {[]*stat.Histogram{one, one}, []*stat.Histogram{one, one}, 1, 0.05},
		"quantile NaN":   {[]*stat.Histogram{one, one}, []*stat.Histogram{one, one}, math.NaN(), 0.05},
		"alpha 2":        {[]*stat.Histogram{one, one}, []*stat.Histogram{one, one}, 0.5, 2},
	} {
		if e, err := stat.QuantileRatio(c.a, c.b, c.q, c.alpha); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

func TestTailRule(t *testing.T) {
	t.Parallel()
	of := func(counts ...uint64) []*stat.Histogram {
		var all []*stat.Histogram
		for _, n := range counts {
			h := stat.NewHistogram()
			h.RecordN(1, n)
			all = append(all, h)
		}
		return all
	}
	for _, c := range []struct {
		q                 float64
		rounds            []*stat.Histogram
		ok                bool
		need, needInRound uint64
		why               string
	}{
		{0.99, of(5000, 5000), true, 10_000, 1000, "exactly 100 beyond"},
		{0.99, of(5000, 4999), false, 10_000, 1000, "one short"},
		{0.99, of(99_000, 999), false, 10_000, 1000, "one round has 9 beyond"},
		{0.999, of(20_500, 20_500), false, 100_000, 10_000, "as in: p99.9 needs 100,000, have 41,000"},
		{0.5, of(100, 100), true, 200, 20, "a median"},
		{0.01, of(10_000), true, 10_000, 1000, "the low tail likewise"},
		{0.9, nil, false, 1000, 100, "no rounds"},
		{0.9, []*stat.Histogram{nil}, false, 1000, 100, "nothing in the round"},
		{1, of(1 << 60), false, math.MaxUint64, math.MaxUint64, "the maximum has nothing beyond"},
		{math.NaN(), of(1 << 60), false, math.MaxUint64, math.MaxUint64, "no quantile at all"},
	} {
		got := stat.Tail(c.q, c.rounds)
		if got.OK() != c.ok || got.Need != c.need || got.NeedInRound != c.needInRound {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
}

// Several quantiles at once equal the same quantiles one after another.
func TestQuantileIntervals(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var rounds []*stat.Histogram
	for range 12 {
		h := stat.NewHistogram()
		for range 2000 {
			h.Record(int64(50_000 * random.ExpFloat64()))
		}
		rounds = append(rounds, h)
	}
	qs := []float64{0.1, 0.5, 0.9, 0.99}
	all, err := stat.QuantileIntervals(rounds, qs, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range qs {
		if one, err := stat.QuantileInterval(rounds, q, 0.05); err != nil || one != all[i] {
			t.Errorf("%v: %+v together, %+v alone (%v)", q, all[i], one, err)
		}
	}
	for _, bad := range [][]float64{{0.5, 1}, {0, 0.5}} {
		if _, err := stat.QuantileIntervals(rounds, bad, 0.05); !errors.Is(err, stat.ErrInput) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
