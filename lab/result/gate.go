package result

import (
	"fmt"
	"math"
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Gate is a check that makes numbers invalid when it fails, or marks them.
type Gate string

// The gates, with the gate of docs/concepts/checks.md that each is of.
const (
	InPlay   Gate = "in play"  // the arm was not taken out of the experiment
	Answers  Gate = "answers"  // 8: every reply was right
	Sequence Gate = "sequence" // 8: each event of a stream came once, and in order
	Entries  Gate = "entries"  // 8: each entry accepted was stored, and none that nobody sent
	Delivery Gate = "delivery" // 8: each message acknowledged was delivered once, in order and whole
	Recovery Gate = "recovery" // what was done to a broker, and what came of it, was over while anybody looked
	Accounts Gate = "accounts" // 6: every call begun is accounted for
	Steady   Gate = "steady"   // the warm-up reached a steady state
	Settled  Gate = "settled"  // a call cost the server no less at the end of a round than at its beginning
	Physics  Gate = "physics"  // 6: Little's law, in the closed loop
	// 6: bytes moved for each call; no process used more CPU than it had; a
	// server answered no more calls than one that does nothing.
	WireBytes Gate = "bytes on the wire"
	CPUTime   Gate = "CPU time"
	Ceiling   Gate = "throughput against the floor"
	// 2 and 3, in the open loop: as many calls as planned were due and made,
	// and apart from each other as the law says.
	Schedule Gate = "schedule"
	Law      Gate = "arrival law"
	// The service let every call due be made. The gate is there only where it
	// failed: the fault is the service's, and its curve shows it.
	Overload Gate = "overload"
	// 1: the calls of an open loop were made when they were due: closely
	// enough for its medians (and all up to p90), for p99 (and all from p90), for
	// p99.9 (and all beyond p99).
	OnTime50  Gate = "on time for p50"
	OnTime99  Gate = "on time for p99"
	OnTime999 Gate = "on time for p99.9"
	// 4: the generator had CPU to spare, had not to wait for it, and was not
	// stopped by its own garbage collection.
	GeneratorCPU    Gate = "generator CPU"
	GeneratorWaits  Gate = "generator waits"
	GeneratorPauses Gate = "generator pauses"
	// 7: the machine was there for the experiment.
	Steal      Gate = "steal"
	Neighbours Gate = "other processes"
	Throttling Gate = "throttling"
	Clock      Gate = "clock"
	// 5: the server is more of a call than client and kernel are.
	AboveFloor Gate = "floor"
	// The database's processes could be seen; where there is one outside the
	// server. It never fails: it marks.
	DatabaseSeen Gate = "database"
)

// Gates returns all gates in the order they are applied.
func Gates() []Gate {
	return []Gate{
		InPlay, Answers, Sequence, Entries, Delivery, Recovery, Accounts, Steady, Settled, Physics, WireBytes, CPUTime, Ceiling, Schedule, Overload, Law,
		OnTime50, OnTime99, OnTime999, GeneratorCPU, GeneratorWaits, GeneratorPauses,
		Clock, Throttling, Steal, Neighbours, AboveFloor, DatabaseSeen,
	}
}

// Check is a gate applied to an arm under a load.
type Check struct {
	Gate Gate `json:"gate"`
	// OK is false where the gate failed: the numbers that it covers are
	// invalid. Limited ones stay and are marked, always: they say something,
	// and less than they seem to.
	OK      bool `json:"ok"`
	Limited bool `json:"limited,omitempty"`
	// Detail says in words what was found; of a check that failed, why. Fix
	// says what to change; "" where all is well.
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
	// Value was found where at most (or, of AtLeast, at least) Limit is right,
	// both in Unit: "µs", "of wall time". Unit is "" where the gate is no
	// question of a number.
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitempty"`
	Unit    string  `json:"unit,omitempty"`
	// Rounds are the readings of each round, where there are any.
	Rounds []Reading `json:"rounds,omitempty"`
	// Moved is, of a check whose bound was passed and that is judged by what came of it, by how much figures may be
	// too high. Those that are off by little stay, with wider intervals; the others are invalid.
	Moved []Shift `json:"moved,omitempty"`
}

// Reading is a gate's value in one round. OK is what would be said of the
// round if it were alone; [Check] says over how many, or over what, the gate
// is judged.
type Reading struct {
	Round int     `json:"round"` // from 1
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}

// reach is which metrics a gate speaks of.
type reach int

const (
	everything reach = iota
	timing           // times and throughput, not what a call costs in CPU, bytes or allocations
	outages
	allTimes
	tail99
	tail999
)

// reach returns which metrics are invalid, or marked, when the gate fails.
func (g Gate) reach() reach {
	switch g {
	case Recovery:
		return outages
	case OnTime50:
		return allTimes
	case OnTime99:
		return tail99
	case OnTime999:
		return tail999
	case GeneratorCPU, GeneratorWaits, GeneratorPauses, Steal, Neighbours, Clock, AboveFloor, DatabaseSeen:
		return timing
	}
	return everything
}

// timed are the metrics other than quantiles that say how fast something was.
func timed() []string {
	return []string{
		plan.ResponseMean, plan.Throughput, plan.EventRate,
		plan.MessageRate, plan.DeliveredRate, plan.SendOutage, plan.DeliveryOutage, plan.DrainRate,
	}
}

// covers reports whether a metric is invalid when the gate fails.
func (g Gate) covers(m Metric) bool {
	switch g.reach() {
	case timing:
		return m.Quantile > 0 || slices.Contains(timed(), m.ID)
	case outages:
		return m.ID == plan.SendOutage || m.ID == plan.DeliveryOutage
	case allTimes:
		return m.Quantile > 0 || m.ID == plan.ResponseMean
	case tail99:
		return m.Quantile > 0.9
	case tail999:
		return m.Quantile > 0.99
	}
	return true
}

// Why tells why a metric of the arm is no number: the first gate that covers
// it and failed. "" if none did.
func (s *ArmState) Why(m Metric) string {
	if c := s.spoiled(m); c != nil {
		return c.Detail
	}
	return ""
}

// spoiled returns the first failed check that covers a metric; nil if none does.
func (s *ArmState) spoiled(m Metric) *Check {
	for i := range s.Checks {
		if c := &s.Checks[i]; !c.OK && c.covers(m) {
			return c
		}
	}
	return nil
}

// verdict is what may be said of a metric that a gate spoiled: that the arm
// was never steady is a finding of its own, and not a fault in measuring.
func (c *Check) verdict() Verdict {
	if c.Gate == Steady || c.Gate == Settled {
		return Unsteady
	}
	return Invalid
}

// Spoiled returns what is to be said instead of a metric's number, [Invalid]
// or [Unsteady]; "" if its gates passed.
func (s *ArmState) Spoiled(m Metric) Verdict {
	if c := s.spoiled(m); c != nil {
		return c.verdict()
	}
	return ""
}

// Marks returns the checks that limit what a metric of the arm says; none
// where there is nothing to mark, since a gate failed.
func (s *ArmState) Marks(m Metric) []Check {
	var all []Check
	if s.spoiled(m) != nil {
		return nil
	}
	for _, c := range s.Checks {
		if c.OK && c.Limited && c.covers(m) {
			all = append(all, c)
		}
	}
	return all
}

// Failed returns the checks that failed.
func (s *ArmState) Failed() []Check {
	return slices.DeleteFunc(slices.Clone(s.Checks), func(c Check) bool { return c.OK })
}

// Whole reports whether a gate speaks of every metric.
func (g Gate) Whole() bool { return g.reach() == everything }

// Invalid returns the failed checks that cover every metric, in words.
func (s *ArmState) Invalid() []string {
	var why []string
	for _, c := range s.Failed() {
		if c.Gate.Whole() {
			why = append(why, c.Detail)
		}
	}
	return why
}

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

// subject is what the gates are applied to: an arm's trials under a load.
type subject struct {
	result *Result
	arm    int
	load   plan.Load
	manner Manner
	trials []*Trial
	rounds []int // of each trial, from 0
	all    totals
	// floorless is why there is no floor to compare with, if nobody measured one.
	floorless string
	state     *ArmState
	// The times of all trials' calls together; nil until asked for.
	responses, services, lags, owns *stat.Histogram
}

// together returns what into points at, merging it from all trials the first time.
func (s *subject) together(into **stat.Histogram, of func(*Trial) *stat.Histogram) *stat.Histogram {
	if *into == nil {
		*into = merge(s.trials, of)
	}
	return *into
}

func (s *subject) response() *stat.Histogram { return s.together(&s.responses, response) }
func (s *subject) service() *stat.Histogram  { return s.together(&s.services, service) }
func (s *subject) lag() *stat.Histogram      { return s.together(&s.lags, lag) }
func (s *subject) own() *stat.Histogram      { return s.together(&s.owns, ownLag) }

// armState counts what an arm did and applies the gates to it.
func armState(g grid, l, a int) ArmState {
	kind := kindOf(g.result.Plan.Loads[l])
	s := subject{result: g.result, arm: a, load: g.result.Plan.Loads[l], manner: kind.Manner, trials: g.of(l, a), state: &ArmState{Name: g.result.ArmName(a), Checks: []Check{}}}
	for n, t := range g.trials[l][a] {
		if t != nil {
			s.rounds = append(s.rounds, n)
		}
	}
	if a < len(g.result.Arms) {
		s.floorless = g.result.Arms[a].Floorless
	}
	s.all = sum(s.trials)
	s.state.Rounds, s.state.Requests = s.all.rounds, s.all.ok
	s.causes()
	if s.load.Open() && s.all.window > 0 {
		s.state.Planned = float64(s.all.planned) / s.all.window.Seconds()
		s.state.Achieved = float64(s.all.completed) / s.all.window.Seconds()
	}
	s.inPlay(a)
	s.reopened()
	if s.all.rounds > 0 {
		kind.Gates(g, l, &s)
	}
	slices.SortStableFunc(s.state.Checks, func(a, b Check) int {
		return slices.Index(Gates(), a.Gate) - slices.Index(Gates(), b.Gate)
	})
	s.state.Notes = append(s.state.Notes, failures(g.result, a)...)
	s.refuse()
	return *s.state
}

// inPlay applies the gate on arms that were taken out, or got through no round: that there
// is nothing to refuse must not look like an answer.
func (s *subject) inPlay(arm int) {
	out := s.result.out(arm)
	if out != "" {
		out = "taken out: " + out
	} else if s.all.rounds == 0 && len(s.result.Rounds) > 0 {
		out = "no round of it was measured"
		if why := failures(s.result, arm); len(why) > 0 {
			out = why[0]
		}
	}
	fix := "run it alone with wirelab serve, and see what it says"
	if s.result.Plan.Arms[arm].Target != "" || len(s.result.Plan.External) > 0 {
		fix = "look whether the server still runs, and at its log"
	}
	s.add(Check{Gate: InPlay, OK: out == "", Detail: choose(out == "", "took part", out), Fix: fix})
}

// add appends a check. What to change is left out where there is nothing to,
// and numbers that no file can hold are made 0.
func (s *subject) add(c Check) {
	if c.OK && !c.Limited {
		c.Fix = ""
	}
	c.Value, c.Limit = finite(c.Value), finite(c.Limit)
	for i := range c.Rounds {
		c.Rounds[i].Value = finite(c.Rounds[i].Value)
	}
	s.state.Checks = append(s.state.Checks, c)
}

func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// each reads a gate in every round. A round that cannot be read is left out.
func (s *subject) each(read func(round int, t *Trial) (value float64, ok, known bool)) (readings []Reading, failed int) {
	for i, t := range s.trials {
		value, ok, known := read(s.rounds[i], t)
		if !known {
			continue
		}
		readings = append(readings, Reading{Round: s.rounds[i] + 1, Value: value, OK: ok})
		if !ok {
			failed++
		}
	}
	return readings, failed
}

// worst is the reading that is furthest on the wrong side.
func worst(readings []Reading, atLeast bool) float64 {
	far := 0.0
	for i, r := range readings {
		if i == 0 || r.Value > far != atLeast && r.Value != far {
			far = r.Value
		}
	}
	return far
}

// choose is the words for an outcome.
func choose(ok bool, passed, failed string) string {
	if ok {
		return passed
	}
	return failed
}

// inRounds says in how many rounds something was so.
func inRounds(failed, rounds int) string {
	if failed == rounds {
		return "in every round"
	}
	return fmt.Sprintf("in %d of %d rounds", failed, rounds)
}

// totals are sums over an arm's trials under a load.
type totals struct {
	rounds, unsteady, drifting, slices       int
	planned, sent, ok, completed, open, late uint64
	unsent                                   uint64
	errors                                   map[string]uint64
	causes                                   stat.Causes
	window, drained                          time.Duration
}

func sum(trials []*Trial) totals {
	all := totals{rounds: len(trials), errors: map[string]uint64{}}
	for _, t := range trials {
		if !t.Steady {
			all.unsteady++
		}
		if t.Drifting {
			all.drifting++
		}
		all.slices += len(t.Order)
		all.planned += t.Planned
		all.sent += t.Sent
		all.ok += t.OK
		all.completed += t.Completed
		all.late += t.Late
		all.unsent += t.Unsent
		all.open = max(all.open, t.Open)
		for kind, n := range t.Errors {
			all.errors[kind] += n
		}
		all.causes = all.causes.Add(t.Causes...)
		all.window += time.Duration(max(t.Window, 0))
		all.drained += time.Duration(max(t.Drained, 0))
	}
	return all
}

// wrong is how many calls of a trial failed, whatever the kind.
func (t *Trial) wrong() (n uint64) {
	for _, more := range t.Errors {
		n += more
	}
	return n
}

// failures tells in how many rounds an arm failed, and the first reason.
func failures(r *Result, arm int) []string {
	n, why := 0, ""
	for _, round := range r.Rounds {
		for _, f := range round.Failures {
			if f.Arm == arm {
				if n++; n == 1 {
					why = f.Why
				}
				break
			}
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("failed in %d of %d rounds, first: %s", n, len(r.Rounds), why)}
}
