package result

import (
	"math"
	"strconv"
)

// ProbeOutcome is whether an arm keeps its objective at a rate.
type ProbeOutcome string

// The outcomes.
const (
	ProbePassed ProbeOutcome = "passed"
	ProbeFailed ProbeOutcome = "failed"
	// ProbeSpoiled: the generator, or the machine, was not fit to tell.
	ProbeSpoiled ProbeOutcome = "spoiled"
)

// Search finds the highest rate at which something passes: doubling (or
// halving) from a start until a rate that passes and one that does not are
// known, then bisecting until they are SearchStep apart. It remembers and
// never asks again, so that it ends whatever it is told: noise near the edge
// moves what it finds by little, and cannot keep it going. It is a pure
// function of what it is told, and so is made again by who verifies a result.
//
// A spoiled probe neither passes nor fails: it is repeated; where it still is
// spoiled, its rate is one that the generator cannot be trusted at, and the
// search goes on below it.
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
func (s *Search) Tell(found ProbeOutcome) {
	at, ok := s.Next()
	if !ok {
		return
	}
	switch found {
	case ProbePassed:
		s.low = at
	case ProbeFailed:
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

// FoundKind is what a search can say.
type FoundKind string

// What a search can say.
const (
	// CapacityFound: it passes at Low and fails at High, SearchStep apart.
	CapacityFound FoundKind = "found"
	// CapacityAtLeast: it passes at Low; above it nothing that can be trusted failed.
	CapacityAtLeast FoundKind = "at least"
	// CapacityBelow: it fails at High, the lowest rate tried.
	CapacityBelow FoundKind = "below"
	// CapacityUnknown: no probe could be trusted, or the search did not end.
	CapacityUnknown FoundKind = "unknown"
)

// Found is what a search found.
type Found struct {
	Kind FoundKind `json:"kind"`
	Low  float64   `json:"low,omitempty"`  // passes
	High float64   `json:"high,omitempty"` // does not pass, or not for sure
	// Limited: at High it was the generator, or the machine, that was not up to it.
	Limited bool `json:"limited,omitempty"`
}

// Found tells what was found; [CapacityUnknown] before the search is over.
func (s *Search) Found() Found {
	f := Found{Low: s.low, High: s.high, Limited: s.late}
	switch {
	case !s.over:
		f.Kind = CapacityUnknown
	case s.low > 0 && s.high > 0 && !s.late:
		f.Kind = CapacityFound
	case s.low > 0:
		f.Kind = CapacityAtLeast
	case !s.late:
		f.Kind = CapacityBelow
	default:
		f.Kind = CapacityUnknown
	}
	return f
}

// Value is the capacity in requests per second where it was found: between the
// two rates, on logarithms.
func (f Found) Value() (float64, bool) {
	return math.Sqrt(f.Low * f.High), f.Kind == CapacityFound
}
