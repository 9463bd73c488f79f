package result

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab/plan"
	"wirelab/stat"
)

// Gate is a check that makes numbers invalid when it fails.
type Gate string

// The gates.
const (
	InPlay   Gate = "in play"  // the arm was not taken out of the experiment
	Answers  Gate = "answers"  // every reply was right
	Accounts Gate = "accounts" // every call begun is accounted for
	Steady   Gate = "steady"   // the warm-up reached a steady state
	Physics  Gate = "physics"  // Little's law, in the closed loop
	Schedule Gate = "schedule" // as many calls as planned were due and made, in the open loop
	// The calls of an open loop were made when they were due: closely enough
	// for its medians (and 90th percentiles), for p99, for p99.9.
	OnTime50  Gate = "on time for p50"
	OnTime99  Gate = "on time for p99"
	OnTime999 Gate = "on time for p99.9"
)

// Gates returns all gates in the order they are applied.
func Gates() []Gate {
	return []Gate{InPlay, Answers, Accounts, Steady, Physics, Schedule, OnTime50, OnTime99, OnTime999}
}

// Check is a gate applied to an arm under a load.
type Check struct {
	Gate Gate `json:"gate"`
	OK   bool `json:"ok"`
	// Detail says in words what was found; of a check that failed, why.
	Detail string `json:"detail"`
}

// covers reports whether a metric is invalid when the gate fails.
func (g Gate) covers(m Metric) bool {
	switch g {
	case OnTime50:
		return m.Quantile > 0 || m.ID == plan.ResponseMean
	case OnTime99:
		return m.Quantile >= 0.99
	case OnTime999:
		return m.Quantile >= 0.999
	}
	return true
}

// Why tells why a metric of the arm is no number: the first gate that covers
// it and failed. "" if none did.
func (s *ArmState) Why(m Metric) string {
	for _, c := range s.Checks {
		if !c.OK && c.Gate.covers(m) {
			return c.Detail
		}
	}
	return ""
}

// Invalid returns the failed checks that cover every metric, in words.
func (s *ArmState) Invalid() []string {
	var why []string
	for _, c := range s.Checks {
		if !c.OK && !slices.Contains([]Gate{OnTime50, OnTime99, OnTime999}, c.Gate) {
			why = append(why, c.Detail)
		}
	}
	return why
}

// Thresholds of the gates (method.md §3.6).
const (
	// unsteadyShare of an arm's rounds may fail to become steady. The test
	// for a trend alone fails one trial in a hundred that has none, so none
	// at all would be too strict; rounds that failed are kept, since leaving
	// out what looks odd is choosing.
	unsteadyShare = 0.1
	littleShare   = 0.02                  // Little's law
	lagFloor      = 50 * time.Microsecond // lateness that matters to no median
	lagShare      = 0.05                  // of the quantile that it would spoil
	evenShare     = 0.005                 // of planned calls, constant rate
	poissonSD     = 4                     // standard deviations of planned calls, Poisson
)

// totals are sums over an arm's trials under a load.
type totals struct {
	rounds, unsteady, slices           int
	planned, sent, ok, completed, open uint64
	errors                             map[string]uint64
	window, drained                    time.Duration
}

func sum(trials []*Trial) totals {
	all := totals{rounds: len(trials), errors: map[string]uint64{}}
	for _, t := range trials {
		if !t.Steady {
			all.unsteady++
		}
		all.slices += len(t.Order)
		all.planned += t.Planned
		all.sent += t.Sent
		all.ok += t.OK
		all.completed += t.Completed
		all.open = max(all.open, t.Open)
		for kind, n := range t.Errors {
			all.errors[kind] += n
		}
		all.window += time.Duration(max(t.Window, 0))
		all.drained += time.Duration(max(t.Drained, 0))
	}
	return all
}

// armState counts what an arm did and applies the gates to it.
func armState(g grid, l, a int) ArmState {
	load, trials := g.result.Plan.Loads[l], g.of(l, a)
	all := sum(trials)
	s := ArmState{Name: g.result.ArmName(a), Rounds: all.rounds, Requests: all.ok, Checks: []Check{}}
	if load.Open() && all.window > 0 {
		s.Planned = float64(all.planned) / all.window.Seconds()
		s.Achieved = float64(all.completed) / all.window.Seconds()
	}
	s.add(InPlay, g.result.out(a) == "", "taken out: "+g.result.out(a), "took part")
	if all.rounds > 0 {
		s.countGates(load, all, trials)
	}
	if load.Open() && all.ok > 0 {
		s.lagGates(trials)
	}
	if all.unsteady > 0 && float64(all.unsteady) <= unsteadyShare*float64(all.rounds) {
		s.Notes = append(s.Notes, fmt.Sprintf("not steady after warm-up in %d of %d rounds (kept)", all.unsteady, all.rounds))
	}
	s.Notes = append(s.Notes, failures(g.result, a)...)
	return s
}

// add appends a check with the words for its outcome.
func (s *ArmState) add(gate Gate, ok bool, failed, passed string) {
	detail := passed
	if !ok {
		detail = failed
	}
	s.Checks = append(s.Checks, Check{Gate: gate, OK: ok, Detail: detail})
}

// countGates applies the gates that need no quantile.
func (s *ArmState) countGates(load plan.Load, all totals, trials []*Trial) {
	failed := uint64(0)
	for _, n := range all.errors {
		failed += n
	}
	s.add(Answers, failed == 0,
		fmt.Sprintf("%s of %s calls failed: %s", Thousands(failed), Thousands(all.sent), kinds(all.errors)),
		Thousands(all.ok)+" replies checked, all right")
	timed := merge(trials, response)
	s.add(Accounts, all.ok+failed == all.sent && timed.Count() == all.ok,
		fmt.Sprintf("the accounts do not add up: %s calls begun, %s answered, %s failed, %s timed",
			Thousands(all.sent), Thousands(all.ok), Thousands(failed), Thousands(timed.Count())),
		Thousands(all.sent)+" calls begun, all accounted for")
	s.add(Steady, float64(all.unsteady) <= unsteadyShare*float64(all.rounds),
		fmt.Sprintf("no steady state after warm-up in %d of %d rounds", all.unsteady, all.rounds),
		fmt.Sprintf("steady in %d of %d rounds", all.rounds-all.unsteady, all.rounds))
	if load.Open() {
		s.scheduleGate(load, all)
		return
	}
	if all.window > 0 && all.ok > 0 {
		s.littleGate(load, all, timed.Mean())
	}
}

// littleGate compares the calls in flight with Little's law: calls times
// response time is calls in flight times time. A slice's edges make it a
// range: the last calls end after it, and callers begin one after another,
// the last up to about a call's time after the first. So it is taken over the
// slices and the time until those calls had ended; and over the slices alone,
// with a call more for each caller and slice.
func (s *ArmState) littleGate(load plan.Load, all totals, mean float64) {
	flight := float64(max(load.InFlight, 1))
	spent := mean * float64(all.ok)
	edges := mean * flight * float64(all.slices)
	low, high := spent/float64(all.window+all.drained), (spent+edges)/float64(all.window)
	s.add(Physics, low <= flight*(1+littleShare) && high >= flight*(1-littleShare),
		fmt.Sprintf("throughput × response time is %s calls in flight, where %.0f were kept", span(low, high), flight),
		fmt.Sprintf("throughput × response time is %s calls in flight, as kept", span(low, high)))
}

// scheduleGate compares an open loop with its plan: as many calls due as the
// rate says, and every one of them made.
func (s *ArmState) scheduleGate(load plan.Load, all totals) {
	expected, slack := math.NaN(), 0.0
	if len(load.Stages) == 0 { // the head of a slice is not measured, so stages do not tell what was due in the rest
		expected = load.Rate * all.window.Seconds()
		slack = poissonSD * math.Sqrt(expected)
		if load.Arrivals == plan.Constant {
			slack = max(evenShare*expected, float64(all.slices)) // a slice cuts off up to one call
		}
	}
	switch {
	case all.sent < all.planned:
		s.add(Schedule, false, fmt.Sprintf("%s of %s planned calls were never made", Thousands(all.planned-all.sent), Thousands(all.planned)), "")
	case math.Abs(float64(all.planned)-expected) > slack:
		s.add(Schedule, false, fmt.Sprintf("%s calls were due, where the rate gives %s ± %s",
			Thousands(all.planned), Thousands(uint64(expected)), Thousands(uint64(slack))), "")
	default:
		s.add(Schedule, true, "", Thousands(all.planned)+" calls due, all made")
	}
}

// lagGates compares how late calls were made with the times they are to tell.
// They look at all rounds together, as the quantiles they guard do: a late
// round that moves one moves the other. For p99.9 the rule for p99 is moved
// one nine along.
func (s *ArmState) lagGates(trials []*Trial) {
	late, responses := merge(trials, lag), merge(trials, response)
	if late.Count() == 0 {
		return
	}
	at := func(h *stat.Histogram, q float64) time.Duration { return time.Duration(h.Quantile(q)) }
	share := func(d time.Duration) time.Duration { return time.Duration(lagShare * float64(d)) }
	check := func(gate Gate, name string, q float64, limit time.Duration) {
		is := at(late, q)
		text := fmt.Sprintf("%s of calls were made up to %v after they were due, the limit is %v", name, brief(is), brief(limit))
		s.add(gate, is <= limit, "generator late: "+text, text)
	}
	check(OnTime50, "99 %", 0.99, max(lagFloor, share(at(merge(trials, service), 0.5))))
	check(OnTime99, "99.9 %", 0.999, share(at(responses, 0.99)))
	check(OnTime999, "99.99 %", 0.9999, share(at(responses, 0.999)))
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

// kinds lists errors by kind, most frequent first, at most five.
func kinds(errors map[string]uint64) string {
	names := make([]string, 0, len(errors))
	for kind, n := range errors {
		if n > 0 {
			names = append(names, kind)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case errors[a] > errors[b]:
			return -1
		case errors[a] < errors[b]:
			return 1
		}
		return strings.Compare(a, b)
	})
	const shown = 5
	more := ""
	if len(names) > shown {
		more = fmt.Sprintf(" and %d more kinds", len(names)-shown)
		names = names[:shown]
	}
	for i, kind := range names {
		names[i] = Thousands(errors[kind]) + " " + kind
	}
	return strings.Join(names, ", ") + more
}

// Thousands writes a count as "1,234,567".
func Thousands(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// span writes a range of numbers, or one where both read the same.
func span(low, high float64) string {
	a, b := strconv.FormatFloat(low, 'g', 3, 64), strconv.FormatFloat(high, 'g', 3, 64)
	if a == b {
		return a
	}
	return a + " to " + b
}

// brief rounds a duration to three digits.
func brief(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}
