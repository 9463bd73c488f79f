package gate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// Arrivals applies the gates on when calls were due and made.
func (s *Subject) Arrivals() {
	if !s.Load.Open() {
		return
	}
	s.Schedule()
	if s.All.OK == 0 {
		return
	}
	s.Law()
	s.lateness()
}

// expected is the number of calls that the rate gives in a window, and the allowed deviation. It is NaN for stages
// and recordings, because the first part of a slice is not measured, so it is unknown how many calls were due in the
// rest. The variance of the number of independent gaps in a time depends on their spread: by renewal theory it tends
// to spread² × the mean.
func (s *Subject) expected(window time.Duration, slices int) (calls, slack float64) {
	if len(s.Load.Stages) > 0 || s.Load.Replays() {
		return math.NaN(), 0
	}
	calls = s.Load.Rate * window.Seconds()
	switch s.Load.Arrivals {
	case plan.Constant:
		return calls, max(claim.EvenShare*calls, float64(slices)) // a slice cuts off up to one call
	case plan.LogNormal:
		return calls, claim.PoissonSD * max(1, s.Load.Spread) * math.Sqrt(calls)
	case plan.Sampled:
		return calls, claim.PoissonSD * max(1, s.Load.Recording.Spread()) * math.Sqrt(calls)
	}
	return calls, claim.PoissonSD * math.Sqrt(calls)
}

// Schedule compares an open loop with its plan: as many calls were due as the rate gives, and every one of them was
// made.
func (s *Subject) Schedule() {
	calls, slack := s.expected(s.All.Window, s.All.Slices)
	off := math.Abs(float64(s.All.Planned) - calls)
	readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
		calls, slack := s.expected(time.Duration(max(t.Window, 0)), len(t.Order))
		off := math.Abs(float64(t.Planned) - calls)
		return claim.Finite(off), t.Sent+t.Unsent >= t.Planned && !(off > slack), true
	})
	made := s.All.Sent + s.All.unsent
	c := claim.Check{
		Gate: result.Schedule, OK: true, Value: off, Limit: slack, Unit: "calls from the plan", Rounds: readings,
		Detail: words.Thousands(s.All.Planned) + " calls due, all made",
		Fix:    "a lower --rate, or more calls in flight at most",
	}
	switch {
	case made < s.All.Planned:
		c.OK, c.Detail = false,
			fmt.Sprintf("%s of %s planned calls were never made", words.Thousands(s.All.Planned-made),
				words.Thousands(s.All.Planned))
	case off > slack:
		c.OK, c.Detail = false, fmt.Sprintf("%s calls were due, but the rate gives %s ± %s",
			words.Thousands(s.All.Planned), words.Thousands(uint64(calls)), words.Thousands(uint64(slack)))
	}
	s.Add(c)
	s.overload()
}

// waitedShare is the share of calls that may wait for others in flight before a note reports it.
const waitedShare = 0.01

// overload reports calls that could not be made because the service was too slow. The times of calls that were made
// late for this reason count from when they were due, so they are right. Calls that were not made at all have no
// times.
func (s *Subject) overload() {
	switch {
	case s.All.unsent > 0 && s.Load.Fails():
		// A broker that is down prevents sends. Its outage shows that. Refusing its figures would leave only the arms
		// that did not fail.
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("%s of %s sends due were never made, since %d others had no answer yet: the times do not "+
				"include them",
				words.Thousands(s.All.unsent), words.Thousands(s.All.Planned), s.Load.InFlight))
	case s.All.unsent > 0:
		readings, _ := s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
			return float64(t.Unsent),
				t.Unsent == 0, true
		})
		s.Add(claim.Check{
			Gate: result.Overload, Value: float64(s.All.unsent), Unit: "calls", Rounds: readings,
			Detail: fmt.Sprintf("overloaded: %s of %s calls due were never made, since %d others had no answer yet",
				words.Thousands(s.All.unsent), words.Thousands(s.All.Planned), s.Load.InFlight),
			Fix: "a lower --rate; wirelab curve and wirelab capacity show which rate it can sustain",
		})
	}
	if s.All.Planned > 0 && float64(s.All.Late) > waitedShare*float64(s.All.Planned) {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("%s of the calls waited to be made, since %d others had no answer yet: their times "+
				"include that",
				words.Percent(float64(s.All.Late)/float64(s.All.Planned)), s.Load.InFlight))
	}
}

// OwnLag is the lateness that the generator itself caused.
func OwnLag(t *result.Trial) *stat.Histogram {
	switch {
	case t.Late == 0:
		return t.Lag
	case t.Wake != nil:
		return t.Wake
	case t.Late >= t.Sent:
		return nil // no call was made when it was due, because none was free
	}
	return t.Lag // from an earlier wirelab, which did not separate them
}

// lateness compares how late calls were made with the times that are measured. It uses all rounds together, like the
// quantiles that it protects: a late round that changes one changes the other. The rule for p99.9 is that for p99,
// shifted by one nine. Only the generator's own lateness counts. Calls that waited for replies to others were delayed
// by the service, and their times include that.
//
// If the effect of lateness on each quantile is known, a quantile that it changed by no more than the allowed share
// is valid, however late some calls were (docs/adr/0031).
func (s *Subject) lateness() {
	late := s.own()
	if late.Count() == 0 {
		return
	}
	punctual := grid.Merge(s.Trials, func(t *result.Trial) *stat.Histogram { return t.Punctual })
	check := func(gate result.Gate, name string, q, guarded float64,
		limit func(service, response *stat.Histogram) time.Duration,
	) {
		is, most := time.Duration(late.Quantile(q)), limit(s.service(), s.response())
		moved := movedBy(punctual, s.response(), guarded)
		c := claim.Check{
			Gate: gate, OK: is <= most, Value: micros(is), Limit: micros(most), Unit: "µs",
			Fix: s.lighter("--driver raw, ") + "a lower --rate, or fewer other processes (wirelab doctor)",
		}
		c.Rounds, _ = s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
			own := OwnLag(t)
			if own == nil || own.Count() == 0 {
				return 0, false, false
			}
			is := time.Duration(own.Quantile(q))
			return micros(is), is <= limit(t.Service, t.Response), true
		})
		text := fmt.Sprintf("%s later than %v after it was due, the limit is %v", OneIn(q, "call was made"),
			words.Brief(is), words.Brief(most))
		if punctual.Count() > 0 {
			text = fmt.Sprintf("%s later than %v after it was due, which moved %s by %s", OneIn(q, s.Manner.Made),
				words.Brief(is), name, words.Percent(moved))
			if c.OK = c.OK || moved <= claim.LagShare; !c.OK || is > most {
				c.Value, c.Limit, c.Unit = moved, claim.LagShare, "of the quantile"
				if s.shifts() {
					c.Moved = []claim.Shift{{Quantile: guarded, Share: moved}}
				}
				c.Rounds, _ = s.Each(func(_ int, t *result.Trial) (float64, bool, bool) {
					by := movedBy(t.Punctual, t.Response, guarded)
					return by, by <= claim.LagShare, t.Punctual != nil
				})
			}
		}
		c.Detail = words.Choose(c.OK, text, "generator late: "+text)
		s.Add(c)
	}
	share := func(h *stat.Histogram, q float64) time.Duration {
		if h == nil || h.Count() == 0 {
			return 0
		}
		return time.Duration(claim.LagShare * float64(h.Quantile(q)))
	}
	check(result.OnTime50, "the median", 0.99, 0.5,
		func(service, _ *stat.Histogram) time.Duration { return max(claim.LagFloor, share(service, 0.5)) })
	check(result.OnTime99, "the 99th percentile", 0.999, 0.99,
		func(_, response *stat.Histogram) time.Duration { return share(response, 0.99) })
	check(result.OnTime999, "the 99.9th percentile", 0.9999, 0.999,
		func(_, response *stat.Histogram) time.Duration { return share(response, 0.999) })
}

// OneIn describes a quantile of lateness: for 0.99, "1 call in 100 was made", to be followed by how much later. "99 %
// were made within" would sound as if nearly all were late.
func OneIn(q float64, made string) string {
	noun, verb, _ := strings.Cut(made, " ")
	return fmt.Sprintf("1 %s in %s %s", noun, strconv.Itoa(int(math.Round(1/(1-q)))), verb)
}

// movedBy is the share of itself by which a quantile of the response times is higher than if every call that could be
// made had been made when it was due. It is 0 if that is unknown.
func movedBy(punctual, response *stat.Histogram, q float64) float64 {
	if punctual == nil || response == nil || punctual.Count() == 0 || response.Count() == 0 {
		return 0
	}
	is := float64(response.Quantile(q))
	return max(0, (is-float64(punctual.Quantile(q)))/max(1, is))
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
