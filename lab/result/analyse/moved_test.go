package analyse_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// Every pair of arms allows for what moved either, also pairs without the first arm: no rank is claimed from a
// difference that a disturbance can have made.
func TestPairsHaveRoom(t *testing.T) {
	t.Parallel()
	const calls = 1000
	spread := func(pause time.Duration, cycles uint64) claim.Analysis {
		random := rand.New(rand.NewPCG(3, 9))
		r := hand(3, 10, func(int, int) float64 { return 20 })
		r.Plan.Primary = plan.ResponseP50
		for n := range r.Rounds {
			for a := range r.Rounds[n].Trials {
				h := stat.NewHistogram()
				middle := []float64{100e3, 104e3, 102e3}[a] * math.Exp(0.0005*random.NormFloat64())
				for i := range calls {
					h.Record(int64(middle * (1 + 0.08*(float64(i)/calls-0.5))))
				}
				trial := &r.Rounds[n].Trials[a]
				trial.Window, trial.Response, trial.Service = plan.Duration(calls*h.Mean()), h, h
				trial.Driver.Wall = trial.Window
				if a == 1 {
					trial.Driver.PauseP99, trial.Driver.GarbageCycles = plan.Duration(pause), new(cycles)
				}
			}
		}
		return analyse.Result(r)
	}
	calm, disturbed := spread(0, 0), spread(2*time.Millisecond, 225) // 45 % of the calls can have met it
	was, is := cell(t, calm, 0, plan.ResponseP50, 1), cell(t, disturbed, 0, plan.ResponseP50, 1)
	if !is.Estimate.Known || !(is.Estimate.Low < 0.98*was.Estimate.Low) || is.Estimate.High != was.Estimate.High {
		t.Errorf("the arm: %+v, before %+v", is.Estimate, was.Estimate)
	}
	if is.Difference == nil || !(is.Difference.Low < 0.98*was.Difference.Low) ||
		is.Difference.High != was.Difference.High {
		t.Errorf("from the first: %+v, before %+v", is.Difference, was.Difference)
	}
	if a, b := calm.Loads[0].Arms[1].Place, disturbed.Loads[0].Arms[1].Place; a != 3 || b != 2 {
		t.Errorf("place %d, and %d where it may be as fast as the third; want 3 and 2", a, b)
	}
}
