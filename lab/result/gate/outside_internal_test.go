package gate

import (
	"math/rand/v2"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// waited is a trial whose calls waited for the driver and the server, and the same trial without either.
func waited(random *rand.Rand) (t *result.Trial, honest *stat.Histogram, driver, server float64) {
	n := 200 + random.IntN(2000)
	base, spread := 1e5*(1+100*random.Float64()), random.Float64()*random.Float64()
	driverShare, serverShare := random.Float64(), 0.2*random.Float64()*random.Float64()
	driverWorst, serverWorst := base*3*random.Float64(), base*random.Float64()
	unknown := 0.05 * random.Float64() // the share of calls for which the time outside is unknown
	two := random.IntN(2) == 0
	t = &result.Trial{OK: uint64(n), Response: &stat.Histogram{}, Outside: &stat.Histogram{}}
	honest = &stat.Histogram{}
	for range n {
		took := base * (1 + spread*random.ExpFloat64())
		if two && random.Float64() < 0.2 {
			took *= 1.33
		}
		honest.Record(int64(took))
		if random.Float64() < serverShare {
			wait := serverWorst * random.Float64()
			took, server = took+wait, server+wait
		}
		outside := took
		if random.Float64() < driverShare {
			wait := driverWorst * random.Float64()
			took, driver = took+wait, driver+wait
		}
		if random.Float64() < unknown {
			outside = 0
		}
		t.Outside.Record(int64(outside))
		t.Response.Record(int64(took))
	}
	return t, honest, driver / float64(n), server / float64(n)
}

// For all distributions, waits and unknown calls, no figure moved by more than the bound for both together, and the
// bound is smaller than without the measurement.
func TestMovedByBoth(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 25))
	kept, keptBefore := 0, 0
	for range 500 {
		trial, honest, driver, server := waited(random)
		for _, q := range []float64{0, 0.5, 0.9, 0.99} {
			is, was := trial.Response.Mean(), honest.Mean()
			if q > 0 {
				is, was = float64(trial.Response.Quantile(q)), float64(honest.Quantile(q))
			}
			most := movedByBoth(trial, q, driver, server)
			if was < is*(1-most)-0.03*is {
				t.Fatalf("seed %d: p%g is %v and was %v: moved by more than %v", seed, 100*q, is, was, most)
			}
			if most <= claim.MovedShare {
				kept++
			}
			if movedAtMost(trial.Response, q, driver+server) <= claim.MovedShare {
				keptBefore++
			}
		}
	}
	if kept <= keptBefore {
		t.Errorf("%d figures are kept, %d were without measuring", kept, keptBefore)
	}
}

// The time lost in the driver is unknown unless it is known for each call. Then the smaller of two bounds holds.
func TestLostInDriver(t *testing.T) {
	t.Parallel()
	trial := &result.Trial{OK: 1000, Response: &stat.Histogram{}}
	trial.Response.RecordN(1e6, 1000)
	if _, known := lostInDriver(trial, 0.5); known {
		t.Error("known, and nobody measured it")
	}
	trial.Outside = &stat.Histogram{}
	trial.Outside.RecordN(98e4, 999)
	if _, known := lostInDriver(trial, 0.5); known {
		t.Error("known, and a call is missing")
	}
	trial.Outside.Record(0)
	for _, q := range []float64{0, 0.5, 0.9} {
		if share, known := lostInDriver(trial, q); !known || share < 0.018 || share > 0.023 {
			t.Errorf("quantile %g: %v, %v", q, share, known)
		}
		if share, known := least(0.5, true, trial, q); !known || share > 0.023 {
			t.Errorf("quantile %g: %v, %v", q, share, known)
		}
		if share, _ := least(0.001, true, trial, q); share != 0.001 {
			t.Errorf("quantile %g: %v", q, share)
		}
	}
	if share, known := lostInDriver(trial, 1); !known || share > 0.023 {
		t.Errorf("the longest: %v, %v", share, known)
	}
}

// If a driver was held up for a third of the time in one round of three, as by other processes, the effect was
// measured.
func TestWaitsAreJudgedByWhatWasLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		minor   int
		is      time.Duration
		outside time.Duration // 0: not measured
		ok      bool
	}{
		{"lost little", 3, 15 * time.Millisecond, 14800 * time.Microsecond, true},
		{"lost much", 3, 15 * time.Millisecond, 14 * time.Millisecond, false},
		{"not measured", 3, 15 * time.Millisecond, 0, false},
		{"quick, and lost what a machine takes to wake", 3, 165 * time.Microsecond, 125 * time.Microsecond, true},
		{"quick, and lost more", 3, 165 * time.Microsecond, 100 * time.Microsecond, false},
		{"of an earlier form", 2, 165 * time.Microsecond, 125 * time.Microsecond, false},
	} {
		s := &Subject{
			State: &claim.ArmState{},
			Result: &result.Result{
				Minor: c.minor, Environment: result.Environment{CPUs: 2},
				Rounds: make([]result.Round, 3),
			},
		}
		s.Result.Placement.DriverCPUs = []int{0}
		for n := range 3 {
			h, outside := &stat.Histogram{}, (*stat.Histogram)(nil)
			h.RecordN(int64(c.is), 500)
			if c.outside > 0 {
				outside = &stat.Histogram{}
				outside.RecordN(int64(c.outside), 500)
			}
			s.Trials = append(s.Trials, &result.Trial{
				OK: 500, Window: plan.Duration(time.Second), Response: h, Service: h, Outside: outside,
				Driver: &result.Usage{
					Wall: plan.Duration(time.Second), Waited: plan.Duration(350 * time.Millisecond),
					Others: plan.Duration(350 * time.Millisecond),
				},
			})
			s.Rounds = append(s.Rounds, n)
		}
		s.GeneratorWaits(1)
		check := s.State.Checks[0]
		if check.OK != c.ok {
			t.Errorf("%s: %+v", c.name, check)
		}
		for _, m := range check.Moved {
			if (m.Limit > claim.MovedShare) != (c.minor >= 3 && c.is < time.Millisecond) {
				t.Errorf("%s: limit %v", c.name, m.Limit)
			}
		}
	}
}

// A quantile is that of the calls of all rounds together. A round in which most calls waited moves its own median
// much, and that of all rounds little.
func TestQuantilesAreJudgedTogether(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minor int
		kept  []uint64 // calls of 500 that were, by round
		ok    bool
	}{{3, []uint64{0, 0, 300}, true}, {2, []uint64{0, 0, 300}, false}, {3, []uint64{200, 300, 400}, false}} {
		s := &Subject{
			State:  &claim.ArmState{},
			Result: &result.Result{Minor: c.minor, Environment: result.Environment{CPUs: 2}},
		}
		for n, kept := range c.kept {
			h, outside := &stat.Histogram{}, &stat.Histogram{}
			outside.RecordN(15e6, 500)
			h.RecordN(15e6, 500-kept)
			h.RecordN(20e6, kept)
			s.Trials = append(s.Trials, &result.Trial{
				OK: 500, Window: plan.Duration(time.Second), Response: h, Service: h, Outside: outside,
				Driver: &result.Usage{Wall: plan.Duration(time.Second)},
			})
			s.Rounds = append(s.Rounds, n)
		}
		var check claim.Check
		s.judge(&check, "it waited", func(t *result.Trial, q float64) (float64, bool) {
			if q != 0.5 {
				return 0, true
			}
			return lostInDriver(t, q)
		})
		if check.OK != c.ok {
			t.Errorf("%d: %+v", c.minor, check)
		}
	}
}
