package result

import (
	"fmt"
	"math"
	"time"

	"wirelab/plan"
	"wirelab/stat"
)

// Limits on what an open loop's calls were due and made at (method.md §3.6).
const (
	lagFloor  = 50 * time.Microsecond // lateness that matters to no median
	lagShare  = 0.05                  // of the quantile that it would spoil
	evenShare = 0.005                 // of planned calls, constant rate
	poissonSD = 4                     // standard deviations of planned calls, Poisson
)

// arrivals applies the gates on when calls were due and made.
func (s *subject) arrivals() {
	if !s.load.Open() {
		return
	}
	s.schedule()
	if s.all.ok == 0 {
		return
	}
	s.law()
	s.lateness()
}

// expected is how many calls the rate gives in so much time, and how far from
// it they may be. It is NaN for stages: the head of a slice is not measured,
// so they do not tell what was due in the rest.
func (s *subject) expected(window time.Duration, slices int) (calls, slack float64) {
	if len(s.load.Stages) > 0 {
		return math.NaN(), 0
	}
	calls = s.load.Rate * window.Seconds()
	if s.load.Arrivals == plan.Constant {
		return calls, max(evenShare*calls, float64(slices)) // a slice cuts off up to one call
	}
	return calls, poissonSD * math.Sqrt(calls)
}

// schedule compares an open loop with its plan: as many calls due as the rate
// says, and every one of them made.
func (s *subject) schedule() {
	calls, slack := s.expected(s.all.window, s.all.slices)
	off := math.Abs(float64(s.all.planned) - calls)
	readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
		calls, slack := s.expected(time.Duration(max(t.Window, 0)), len(t.Order))
		off := math.Abs(float64(t.Planned) - calls)
		return finite(off), t.Sent >= t.Planned && !(off > slack), true
	})
	c := Check{
		Gate: Schedule, OK: true, Value: off, Limit: slack, Unit: "calls from the plan", Rounds: readings,
		Detail: Thousands(s.all.planned) + " calls due, all made",
		Fix:    "a lower --rate, or more calls in flight at most",
	}
	switch {
	case s.all.sent < s.all.planned:
		c.OK, c.Detail = false, fmt.Sprintf("%s of %s planned calls were never made", Thousands(s.all.planned-s.all.sent), Thousands(s.all.planned))
	case off > slack:
		c.OK, c.Detail = false, fmt.Sprintf("%s calls were due, where the rate gives %s ± %s",
			Thousands(s.all.planned), Thousands(uint64(calls)), Thousands(uint64(slack)))
	}
	s.add(c)
}

// lateness compares how late calls were made with the times they are to tell.
// It looks at all rounds together, as the quantiles it guards do: a late round
// that moves one moves the other. For p99.9 the rule for p99 is moved one nine
// along.
func (s *subject) lateness() {
	late := s.lag()
	if late.Count() == 0 {
		return
	}
	check := func(gate Gate, name string, q float64, limit func(service, response *stat.Histogram) time.Duration) {
		is, most := time.Duration(late.Quantile(q)), limit(s.service(), s.response())
		readings, _ := s.each(func(_ int, t *Trial) (float64, bool, bool) {
			if t.Lag == nil || t.Lag.Count() == 0 {
				return 0, false, false
			}
			is := time.Duration(t.Lag.Quantile(q))
			return micros(is), is <= limit(t.Service, t.Response), true
		})
		text := fmt.Sprintf("%s of calls were made up to %v after they were due, the limit is %v", name, brief(is), brief(most))
		s.add(Check{
			Gate: gate, OK: is <= most, Value: micros(is), Limit: micros(most), Unit: "µs", Rounds: readings,
			Detail: choose(is <= most, text, "generator late: "+text),
			Fix:    "--driver raw, a lower --rate, or fewer processes beside it (wirelab doctor)",
		})
	}
	share := func(h *stat.Histogram, q float64) time.Duration {
		if h == nil || h.Count() == 0 {
			return 0
		}
		return time.Duration(lagShare * float64(h.Quantile(q)))
	}
	check(OnTime50, "99 %", 0.99, func(service, _ *stat.Histogram) time.Duration { return max(lagFloor, share(service, 0.5)) })
	check(OnTime99, "99.9 %", 0.999, func(_, response *stat.Histogram) time.Duration { return share(response, 0.99) })
	check(OnTime999, "99.99 %", 0.9999, func(_, response *stat.Histogram) time.Duration { return share(response, 0.999) })
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
