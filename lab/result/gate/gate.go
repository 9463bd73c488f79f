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

// spoiledShare is the share of an arm's rounds that may fail a gate that is judged round by round. These rounds are
// kept, since excluding odd ones would be selection. Allowing none would be too strict: the test for a trend alone
// fails in one of a hundred trials without a trend, and of a hundred rounds on a shared machine one is disturbed. Up
// to a tenth of the rounds moves the mean by less than the interval shows, since differences are taken within rounds.
const spoiledShare = 0.1

// enough reports whether few enough rounds failed.
func enough(failed, rounds int) bool { return float64(failed) <= spoiledShare*float64(rounds) }

// Manner is what a check needs to know about a kind of load.
type Manner struct {
	// Things are the units of a load, and Replies are their answers: "calls", "replies".
	Things, Replies string
	// Begun follows "1,000 calls", and says that they began, or that they belong to streams.
	Begun string
	// Made says that one was made: "call was made".
	Made string
	// Streamed reports that one request asks for all events, so that only received data is about each.
	Streamed bool
	// Raw reports that there is a raw driver, which is recommended if the other is too slow.
	Raw bool
	// Renewed reports that connections opened during the measurement belong to the load itself, and say nothing about
	// a proxy in front of a target.
	Renewed bool
	// Behind is how long what stands behind the calls was at work for what they handed over; nil: no longer than they
	// took.
	Behind func(t *result.Trial) time.Duration
	// Fewer says how to reduce the generator's work, and Remedy what to do about wrong replies; "" is the usual
	// advice.
	Fewer, Remedy string
}

// Subject is what gates are applied to: an arm's trials under a load.
type Subject struct {
	Result *result.Result
	Arm    int
	Load   plan.Load
	Manner Manner
	Trials []*result.Trial
	Rounds []int // of each trial, from 0
	All    Totals
	// Floorless says why there is no floor to compare with, if none was measured.
	Floorless string
	State     *claim.ArmState
	// Host is the one whose driver alone the trials are of; "" where they are of all drivers.
	Host string
	// The times of all trials' calls together; nil until they are needed.
	responses, services, lags, owns *stat.Histogram
}

// together returns the histogram at into. On first use it is merged from all trials.
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

// Add appends a check. It drops the advice if there is nothing to change, and replaces numbers that JSON cannot hold
// by 0.
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

// Each reads a gate's value in every round. A round without a reading is left out.
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

// Failures says in how many rounds an arm failed, with the first reason; nil if it did not. of returns the failures
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
