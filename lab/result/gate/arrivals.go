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

// expected is how many calls the rate gives in so much time, and how far from
// it they may be. It is NaN for stages and recordings: the head of a slice is
// not measured, so they do not tell what was due in the rest. The number of
// independent gaps in a time varies by their spread (renewal theory: its
// variance tends to spread² × its mean).
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

// Schedule compares an open loop with its plan: as many calls due as the rate
// says, and every one of them made.
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
		c.OK, c.Detail = false, fmt.Sprintf("%s calls were due, where the rate gives %s ± %s",
			words.Thousands(s.All.Planned), words.Thousands(uint64(calls)), words.Thousands(uint64(slack)))
	}
	s.Add(c)
	s.overload()
}

// waitedShare of calls may wait for others in flight before a note says so.
const waitedShare = 0.01

// overload tells of calls that the service left no room for. Those that were
// made late for want of it count from when they were due, so that nothing is
// wrong with their times; those that were not made at all have none.
func (s *Subject) overload() {
	switch {
	case s.All.unsent > 0 && s.Load.Fails():
		// A broker that stays away keeps sends from being made: its outage says
		// so, and to refuse that would be to show the others alone.
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("%s of %s sends due were never made, since %d others had no answer yet: times are without them",
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
			Fix: "a lower --rate; wirelab curve and wirelab capacity tell which it bears",
		})
	}
	if s.All.Planned > 0 && float64(s.All.Late) > waitedShare*float64(s.All.Planned) {
		s.State.Notes = append(s.State.Notes,
			fmt.Sprintf("%s of the calls waited to be made, since %d others had no answer yet: this is in their times",
				words.Percent(float64(s.All.Late)/float64(s.All.Planned)), s.Load.InFlight))
	}
}

// OwnLag is the lateness that is the generator's own.
func OwnLag(t *result.Trial) *stat.Histogram {
	switch {
	case t.Late == 0:
		return t.Lag
	case t.Wake != nil:
		return t.Wake
	case t.Late >= t.Sent:
		return nil // none was made when it was due, for want of room
	}
	return t.Lag // of an earlier wirelab, which did not tell them apart
}

// lateness compares how late calls were made with the times they are to tell.
// It looks at all rounds together, as the quantiles it guards do: a late round
// that moves one moves the other. For p99.9 the rule for p99 is moved one nine
// along. Only the generator's own lateness is looked at: calls that waited for
// others to be answered were kept by the service, and their times say so.
//
// Where it is known what the lateness did to each quantile, one that it moved by no more
// than the share that it may have is good, however late some were (docs/adr/0031).
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
			Fix: s.lighter("--driver raw, ") + "a lower --rate, or fewer processes beside it (wirelab doctor)",
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

// OneIn says what a quantile of lateness means: of 0.99, "1 call in 100 was made", and later than the quantile.
// That 99 % were made up to it would read as if nearly all were late.
func OneIn(q float64, made string) string {
	noun, verb, _ := strings.Cut(made, " ")
	return fmt.Sprintf("1 %s in %s %s", noun, strconv.Itoa(int(math.Round(1/(1-q)))), verb)
}

// movedBy is by what share of itself a quantile of the response times is above what it
// were with every call that could be made made when it was due; 0 where nobody knows.
func movedBy(punctual, response *stat.Histogram, q float64) float64 {
	if punctual == nil || response == nil || punctual.Count() == 0 || response.Count() == 0 {
		return 0
	}
	is := float64(response.Quantile(q))
	return max(0, (is-float64(punctual.Quantile(q)))/max(1, is))
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
