package capacity

import (
	"math"
	"strconv"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// The bounds of a search.
const (
	// ProbeLeast is the least that a probe lasts, and ProbeTail how many calls
	// must lie beyond the greatest quantile (docs/concepts/load.md).
	ProbeLeast = 5 * time.Second
	ProbeTail  = 100
	// ProbeMost is the most that a probe lasts. Rates so low that it would not
	// do are not tried.
	ProbeMost = 10 * time.Minute
	// ProbeParts is in how many parts a probe's window is cut: with fewer, the
	// interval of the jackknife is wide whatever is measured; with more, parts
	// depend on each other.
	ProbeParts = 10

	searchDown = 256 // the lowest rate is this part of the closed loop's
	searchUp   = 16  // the highest is so many times the closed loop's
)

// Length is the duration of a probe at a rate: [result.Capacity.Probe] or, if that is longer, the time in which 100
// calls are beyond the objective's highest quantile. A short probe has exactly the given duration.
func Length(c *result.Capacity, o Objective, rate float64) time.Duration {
	least := time.Duration(c.Probe)
	if c.Short {
		return least
	}
	tail := ProbeTail / (rate * (1 - o.Tail()))
	return min(max(least, time.Duration(tail*float64(time.Second))), ProbeMost)
}

// SearchFrom returns a search that begins from what the arm did in the closed
// loop, calls per second, at a quarter of it.
func SearchFrom(c *result.Capacity, o Objective, closed float64) *Search {
	start := closed / 4
	least := closed / searchDown
	if !c.Short {
		least = max(least, ProbeTail/((1-o.Tail())*ProbeMost.Seconds()))
	}
	least = max(tidy(least), rateLeast)
	start = max(start, least)
	return &Search{Start: start, Least: least, Most: max(tidy(min(searchUp*closed, rateMost)), start)}
}

// What a plan's loads may have, so that a probe can be run by hand.
const (
	rateLeast = 0.1
	rateMost  = 10e6
)

// closedRate is what the closed loop did, calls per second.
func closedRate(s *result.CapacitySearch) float64 {
	v, ok := metric.Throughput(&s.Closed)
	if !ok || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// Search finds the highest rate at which something passes: doubling (or
// halving) from a start until a rate that passes and one that does not are
// known, then bisecting until they are SearchStep apart. It remembers each
// rate and never probes one again, so it always ends: noise near the edge
// changes the result by little, and cannot prolong the search. The result is a
// pure function of the probes, so that verifying a result computes it again.
//
// A spoiled probe neither passes nor fails: it is repeated. If it is spoiled
// again, the generator cannot be trusted at its rate, and the search continues
// below it.
type Search struct {
	// Start is the first rate; Least and Most bound those tried. 0 < Least <=
	// Start <= Most.
	Start, Least, Most float64

	low  float64 // the highest rate that passed; 0: none
	high float64 // the lowest above it that is not to be passed; 0: none
	late bool    // high is one that the generator could not be trusted at
	next float64
	// tried is how often next was spoiled so far; over tells that there is no next.
	tried int
	over  bool
	begun bool
}

// SearchStep is how far apart, as a share, the two rates may be between which
// a capacity is known to lie.
const SearchStep = 0.03

// SearchTries is how often a rate is tried whose probes are spoiled.
const SearchTries = 3

// Next returns the rate to probe, in requests per second; ok is false when the
// search is over.
func (s *Search) Next() (rate float64, ok bool) {
	if !s.begun {
		s.begun, s.next = true, min(max(tidy(s.Start), s.Least), s.Most)
	}
	return s.next, !s.over
}

// Tell tells what came of the rate that Next returned.
func (s *Search) Tell(found result.ProbeOutcome) {
	at, ok := s.Next()
	if !ok {
		return
	}
	switch found {
	case result.ProbePassed:
		s.low = at
	case result.ProbeFailed:
		s.high, s.late = at, false
	default:
		if s.tried++; s.tried < SearchTries {
			return // the same rate again
		}
		s.high, s.late = at, true
	}
	s.tried = 0
	s.advance(at)
}

// advance chooses the next rate, or ends the search.
func (s *Search) advance(at float64) {
	switch {
	case s.high == 0: // it passed: on to twice as much
		s.over = at >= s.Most
		s.next = min(2*at, s.Most)
	case s.low == 0: // not yet: on to half
		s.over = at <= s.Least
		s.next = max(at/2, s.Least)
	default:
		s.next = tidy(math.Sqrt(s.low * s.high))
		s.over = s.high <= s.low*(1+SearchStep) || s.next <= s.low || s.next >= s.high
	}
}

// tidy rounds a rate to four digits, so that people can read it and type it.
func tidy(rate float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 4, 64), 64)
	if err != nil {
		return rate
	}
	return v
}

// Found tells what was found; [claim.CapacityUnknown] before the search is over.
func (s *Search) Found() claim.Found {
	f := claim.Found{Low: s.low, High: s.high, Limited: s.late}
	switch {
	case !s.over:
		f.Kind = claim.CapacityUnknown
	case s.low > 0 && s.high > 0 && !s.late:
		f.Kind = claim.CapacityFound
	case s.low > 0:
		f.Kind = claim.CapacityAtLeast
	case !s.late:
		f.Kind = claim.CapacityBelow
	default:
		f.Kind = claim.CapacityUnknown
	}
	return f
}
