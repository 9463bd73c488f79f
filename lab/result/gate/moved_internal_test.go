package gate

import (
	"math/rand/v2"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// Whatever delays are added to whichever calls, no quantile moves by more than the bound, except for the width of a
// histogram's buckets.
func TestMovedAtMost(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 25))
	tight := 0
	for range 400 {
		n := 200 + random.IntN(2000)
		base, spread := 1e5*(1+100*random.Float64()), random.Float64()*random.Float64()
		share, worst := random.Float64()*random.Float64(), base*random.Float64()*3
		honest, longer, sum := &stat.Histogram{}, &stat.Histogram{}, 0.0
		for range n {
			took := base * (1 + spread*random.ExpFloat64())
			honest.Record(int64(took))
			if random.Float64() < share {
				delay := worst * random.Float64()
				took, sum = took+delay, sum+delay
			}
			longer.Record(int64(took))
		}
		mean := sum / float64(n)
		for _, q := range []float64{0.5, 0.9, 0.99} {
			is, was := float64(longer.Quantile(q)), float64(honest.Quantile(q))
			most := movedAtMost(longer, q, mean)
			if was < is*(1-most)-0.03*is {
				t.Fatalf("p%g is %v and was %v: moved by more than %v, by a mean of %v", 100*q, is, was, most, mean)
			}
			if most < 0.2 {
				tight++
			}
		}
		if mean > 0 && movedAtMost(longer, 0, mean) < 0.9*mean/longer.Mean() {
			t.Fatal("a mean is moved by the mean")
		}
	}
	if tight < 100 {
		t.Errorf("%d of 1,200 bounds say anything", tight)
	}
}

// A wait delays the calls that become due during it, and at most those in flight.
func TestDelayed(t *testing.T) {
	t.Parallel()
	h := &stat.Histogram{}
	h.RecordN(int64(100*time.Millisecond), 1000)
	trial := &result.Trial{OK: 1000, Window: plan.Duration(10 * time.Second), Service: h} // 10 in flight, 100 a second
	for _, c := range []struct {
		stretch time.Duration
		want    float64 // calls delayed by a wait
	}{{0, 10}, {time.Millisecond, 1.1}, {10 * time.Millisecond, 2}, {time.Second, 10}} {
		got := delayed(trial, time.Second, c.stretch) * 1000 / 1e9
		if got < c.want*0.97 || got > c.want*1.03 {
			t.Errorf("stretches of %v hold up %v calls, want %v", c.stretch, got, c.want)
		}
	}
}

// A figure that moved little is kept with a wider interval. A figure that moved much is refused, and no other.
func TestFiguresAreJudgedOneByOne(t *testing.T) {
	t.Parallel()
	check := claim.Check{
		Gate: result.GeneratorWaits,
		Moved: []claim.Shift{
			{Share: 0.02},
			{Quantile: 0.5, Share: 0.01},
			{Quantile: 0.9, Share: 0.04},
			{Quantile: 0.99, Share: 0.2},
		},
	}
	state := claim.ArmState{Checks: []claim.Check{check}}
	for id, refused := range map[string]bool{
		plan.ResponseMean: false, plan.ResponseP50: false, plan.ResponseP90: false, plan.ResponseP99: true,
		"response-p95":  true,
		plan.Throughput: false, plan.ServerCPU: false,
	} {
		_, _, quantile, _ := plan.QuantileMetric(id)
		m := metric.Metric{ID: id, Quantile: quantile}
		if (state.Why(m) != "" || state.SpoiledBy(m) != nil) != refused {
			t.Errorf("%s: refused %v", id, !refused)
		}
	}
	p50 := metric.Metric{ID: plan.ResponseP50, Quantile: 0.5}
	rate := metric.Metric{ID: plan.Throughput, Higher: true}
	e := claim.Estimate{Known: true, Value: 100, Low: 99, High: 101}
	e.Allow(p50, state.Moved(p50))
	if e.Low > 98.02 || e.Low < 98 || e.High != 101 {
		t.Errorf("a time: %+v", e)
	}
	e = claim.Estimate{Known: true, Value: 100}
	e.Allow(rate, state.Moved(rate))
	if e.Low != 100 || e.High < 102 || e.High > 102.1 {
		t.Errorf("a rate: %+v", e)
	}
}
