package gate

import (
	"fmt"
	"math"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// The gate on the distribution of arrivals tests the times between sends. Sends are sometimes late, within the limits
// of gate 1. With 20,000 gaps, the Anderson-Darling test detects lateness of a hundredth of a gap, which does no
// harm. So the limit allows for two effects, both from simulation (Poisson arrivals with exponential lateness of
// 0.005 to 1 gaps on average, and with stalls of 2 to 50 gaps in 0.2 to 0.8 % of the time):
//
//   - lawPower: the test does not become stricter with more gaps than this. Stalls that affect no more than 1 %
//     of calls, which gate 1 does not detect, stay below the limit.
//   - lateFactor: for each gap and squared lateness (its 99th percentile, in mean gaps) the statistic grows by
//     0.03 to 0.05, and by up to 0.27 if calls that are due together are sent in the same nanosecond.
//
// With hardly any lateness, the gate refuses distributions as far off as one that keeps 5 % of the mean between any
// two calls. Equal gaps are refused until lateness is 1.2 mean gaps. Beyond that this gate says nothing, and only
// gate 1 applies.
const (
	lawPower   = 1000
	lateFactor = 0.3
	// evenSpread is the allowed coefficient of variation of equal gaps. trimmed gaps at each end are excluded from
	// it, as gate 1 excludes 1 % of calls. Lateness between 0 and l spreads gaps by at most l/√2.
	evenSpread = 0.05
	// lateBeyond is the lateness, in mean gaps, above which gaps mean nothing.
	lateBeyond = 1.2
	trimmed    = 0.01
)

// Law applies the gate on the times between sends, if they have a distribution that can be tested. For recorded and
// log-normal arrivals, the lateness of each call is enough: see lateness.
func (s *Subject) Law() {
	if a := s.Load.Arrivals; a == plan.LogNormal || s.Load.Recording.Given() {
		return
	}
	of, name := lawPoisson, "Anderson-Darling A²"
	if s.Load.Arrivals == plan.Constant {
		of, name = lawEven, "coefficient of variation"
	}
	gaps := grid.Merge(s.Trials, func(t *result.Trial) *stat.Histogram { return t.Gaps })
	value, limit, known := of(gaps, s.lateGaps(s.lag(), s.All.Planned, s.All.Window))
	if !known {
		return // not recorded, too few, or so late that gate 1 decides
	}
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		v, most, known := of(t.Gaps, s.lateGaps(t.Lag, t.Planned, time.Duration(max(t.Window, 0))))
		return v, v <= most, known
	})
	law := "exponential"
	if s.Load.Arrivals == plan.Constant {
		law = "equal"
	}
	text := fmt.Sprintf("%s of the times between calls is %.3g, the limit is %.3g", name, value, limit)
	s.Add(claim.Check{
		Gate: result.Law, OK: value <= limit, Value: value, Limit: limit, Unit: name, Rounds: readings,
		Detail: words.Choose(value <= limit, text, "times between calls are not "+law+": "+text),
		Fix:    "more calls in flight at most, so that no call waits for another; a lower --rate",
	})
}

// lateGaps is the 99th percentile of lateness, in mean gaps.
func (s *Subject) lateGaps(late *stat.Histogram, planned uint64, window time.Duration) float64 {
	if late == nil || late.Count() == 0 || planned == 0 || window <= 0 {
		return 0
	}
	return float64(late.Quantile(0.99)) * float64(planned) / float64(window)
}

// lawPoisson is the distance of gaps from exponential ones, and its limit.
func lawPoisson(gaps *stat.Histogram, late float64) (a2, limit float64, known bool) {
	if gaps == nil || gaps.Count() == 0 || late > lateBeyond {
		return 0, 0, false
	}
	a2, _, err := stat.ExponentialFit(gaps)
	if err != nil {
		return 0, 0, false
	}
	n := float64(gaps.Count())
	return a2, stat.ExponentialCritical*max(1, n/lawPower) + lateFactor*n*late*late, !math.IsNaN(a2) &&
		!math.IsInf(a2, 0)
}

// lawEven is the spread of gaps that should be equal, and its limit.
func lawEven(gaps *stat.Histogram, late float64) (spread, limit float64, known bool) {
	if gaps == nil || gaps.Count() < 2 || late > lateBeyond {
		return 0, 0, false
	}
	low, high := float64(gaps.Quantile(trimmed)), float64(gaps.Quantile(1-trimmed))
	n, sum, squares := 0.0, 0.0, 0.0
	for _, b := range gaps.Buckets() {
		// Gaps beyond either end count as if they were at that end.
		v := min(max((float64(b.Low)+float64(b.High))/2, low), high)
		n += float64(b.Count)
		sum += v * float64(b.Count)
		squares += v * v * float64(b.Count)
	}
	mean := sum / n
	if !(mean > 0) {
		return 0, 0, false
	}
	return math.Sqrt(max(0, squares/n-mean*mean)) / mean, math.Sqrt(evenSpread*evenSpread + late*late/2), true
}
