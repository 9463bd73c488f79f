package gate

import (
	"fmt"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// spoiledShare of an arm's rounds may fail a gate that is judged round by
// round; they are kept, since leaving out what looks odd is choosing. None at
// all would be too strict: the test for a trend alone fails one trial in a
// hundred that has none, and of some hundred rounds on a shared machine one
// meets a neighbour. Up to a tenth move the mean of the rounds by less than
// the interval shows, since differences are taken within rounds.
const spoiledShare = 0.1

// enough reports whether few enough rounds failed.
func enough(failed, rounds int) bool { return float64(failed) <= spoiledShare*float64(rounds) }

// Manner is what a check needs to know of a kind of load.
type Manner struct {
	// Things are what its loads are made of, and Replies what answers them: "calls", "replies".
	Things, Replies string
	// Begun follows "1,000 calls": they were begun, or are of streams.
	Begun string
	// Made says of one that it was: "call was made".
	Made string
	// Streamed: one request asks for all, so that only what is received tells of each.
	Streamed bool
	// Raw: there is a raw driver, to be recommended where the other is too slow.
	Raw bool
	// Renewed: connections opened while measuring are of the load itself, and no sign of what stands before a target.
	Renewed bool
	// Fewer is what lets the generator do less, and Remedy what to do about wrong replies; "" is what is usual.
	Fewer, Remedy string
}

// Subject is what the gates are applied to: an arm's trials under a load.
type Subject struct {
	Result *result.Result
	Arm    int
	Load   plan.Load
	Manner Manner
	Trials []*result.Trial
	Rounds []int // of each trial, from 0
	All    Totals
	// Floorless is why there is no floor to compare with, if nobody measured one.
	Floorless string
	State     *claim.ArmState
	// The times of all trials' calls together; nil until asked for.
	responses, services, lags, owns *stat.Histogram
}

// together returns what into points at, merging it from all trials the first time.
func (s *Subject) together(into **stat.Histogram, of func(*result.Trial) *stat.Histogram) *stat.Histogram {
	if *into == nil {
		*into = grid.Merge(s.Trials, of)
	}
	return *into
}

func (s *Subject) response() *stat.Histogram { return s.together(&s.responses, metric.Response) }

func (s *Subject) service() *stat.Histogram { return s.together(&s.services, metric.Service) }

func (s *Subject) lag() *stat.Histogram { return s.together(&s.lags, metric.Lag) }

func (s *Subject) own() *stat.Histogram { return s.together(&s.owns, OwnLag) }

// Add appends a check. What to change is left out where there is nothing to,
// and numbers that no file can hold are made 0.
func (s *Subject) Add(c claim.Check) {
	if c.OK && !c.Limited {
		c.Fix = ""
	}
	c.Value, c.Limit = claim.Finite(c.Value), claim.Finite(c.Limit)
	for i := range c.Rounds {
		c.Rounds[i].Value = claim.Finite(c.Rounds[i].Value)
	}
	s.State.Checks = append(s.State.Checks, c)
}

// Each reads a gate in every round. A round that cannot be read is left out.
func (s *Subject) Each(read func(round int,
	t *result.Trial) (value float64, ok, known bool),
) (readings []claim.Reading, failed int) {
	for i, t := range s.Trials {
		value, ok, known := read(s.Rounds[i], t)
		if !known {
			continue
		}
		readings = append(readings, claim.Reading{Round: s.Rounds[i] + 1, Value: value, OK: ok})
		if !ok {
			failed++
		}
	}
	return readings, failed
}

// worst is the reading that is furthest on the wrong side.
func worst(readings []claim.Reading, atLeast bool) float64 {
	far := 0.0
	for i, r := range readings {
		if i == 0 || r.Value > far != atLeast && r.Value != far {
			far = r.Value
		}
	}
	return far
}

// Totals are sums over an arm's trials under a load.
type Totals struct {
	Rounds, unsteady, drifting, Slices       int
	Planned, Sent, OK, Completed, open, Late uint64
	unsent                                   uint64
	Errors                                   map[string]uint64
	causes                                   stat.Causes
	Window, drained                          time.Duration
}

// Sum adds up the counts of trials.
func Sum(trials []*result.Trial) Totals {
	all := Totals{Rounds: len(trials), Errors: map[string]uint64{}}
	for _, t := range trials {
		if !t.Steady {
			all.unsteady++
		}
		if t.Drifting {
			all.drifting++
		}
		all.Slices += len(t.Order)
		all.Planned += t.Planned
		all.Sent += t.Sent
		all.OK += t.OK
		all.Completed += t.Completed
		all.Late += t.Late
		all.unsent += t.Unsent
		all.open = max(all.open, t.Open)
		for kind, n := range t.Errors {
			all.Errors[kind] += n
		}
		all.causes = all.causes.Add(t.Causes...)
		all.Window += time.Duration(max(t.Window, 0))
		all.drained += time.Duration(max(t.Drained, 0))
	}
	return all
}

// Failures tells in how many rounds an arm failed, and the first reason; nothing where it did not. of has the failures
// of a round.
func Failures(arm, rounds int, of func(round int) []result.Failure) []string {
	n, why := 0, ""
	for round := range rounds {
		failed := of(round)
		if at := slices.IndexFunc(failed, func(f result.Failure) bool { return f.Arm == arm }); at >= 0 {
			if n++; n == 1 {
				why = failed[at].Why
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("failed in %d of %d rounds, first: %s", n, rounds, why)}
}
