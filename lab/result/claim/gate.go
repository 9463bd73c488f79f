package claim

import (
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
)

// Limits on what an open loop's calls were due and made at (docs/concepts/checks.md).
const (
	LagFloor  = 50 * time.Microsecond // lateness that matters to no median
	LagShare  = 0.05                  // of the quantile that it would spoil
	EvenShare = 0.005                 // of planned calls, constant rate
	PoissonSD = 4                     // standard deviations of planned calls, Poisson
)

// Check is a gate applied to an arm under a load.
type Check struct {
	Gate result.Gate `json:"gate"`
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

// reachOf returns which metrics are invalid, or marked, when the gate fails.
func reachOf(g result.Gate) reach {
	switch g {
	case result.Recovery:
		return outages
	case result.OnTime50:
		return allTimes
	case result.OnTime99:
		return tail99
	case result.OnTime999:
		return tail999
	case result.GeneratorCPU, result.GeneratorWaits, result.GeneratorPauses, result.Steal, result.Neighbours,
		result.Clock, result.AboveFloor, result.DatabaseSeen:
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
func covers(g result.Gate, m metric.Metric) bool {
	switch reachOf(g) {
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
func (s *ArmState) Why(m metric.Metric) string {
	if c := s.SpoiledBy(m); c != nil {
		return c.Detail
	}
	return ""
}

// SpoiledBy returns the first failed check that covers a metric; nil if none does.
func (s *ArmState) SpoiledBy(m metric.Metric) *Check {
	for i := range s.Checks {
		if c := &s.Checks[i]; !c.OK && c.Covers(m) {
			return c
		}
	}
	return nil
}

// Verdict is what may be said of a metric that a gate spoiled: that the arm
// was never steady is a finding of its own, and not a fault in measuring.
func (c *Check) Verdict() Verdict {
	if c.Gate == result.Steady || c.Gate == result.Settled {
		return Unsteady
	}
	return Invalid
}

// Spoiled returns what is to be said instead of a metric's number, [Invalid]
// or [Unsteady]; "" if its gates passed.
func (s *ArmState) Spoiled(m metric.Metric) Verdict {
	if c := s.SpoiledBy(m); c != nil {
		return c.Verdict()
	}
	return ""
}

// Marks returns the checks that limit what a metric of the arm says; none
// where there is nothing to mark, since a gate failed.
func (s *ArmState) Marks(m metric.Metric) []Check {
	var all []Check
	if s.SpoiledBy(m) != nil {
		return nil
	}
	for _, c := range s.Checks {
		if c.OK && c.Limited && c.Covers(m) {
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
func Whole(g result.Gate) bool { return reachOf(g) == everything }

// Invalid returns the failed checks that cover every metric, in words.
func (s *ArmState) Invalid() []string {
	var why []string
	for _, c := range s.Failed() {
		if Whole(c.Gate) {
			why = append(why, c.Detail)
		}
	}
	return why
}

// MovedShare of itself is what a disturbance may have moved a figure by, at most.
const MovedShare = LagShare

// Shift is by which share of itself a figure may be too high, at most, since something made calls longer.
type Shift struct {
	Quantile float64 `json:"quantile"` // 0: the mean, and with it how many calls a closed loop made
	Share    float64 `json:"share"`
	// Limit is the share up to which the figure stays; 0, as in results of an earlier wirelab: 0.05.
	Limit float64 `json:"limit,omitempty"`
}

// Bound is the share up to which a figure stays.
func (d Shift) Bound() float64 { return max(d.Limit, MovedShare) }

// Covers reports whether a metric is invalid when the check fails: one that was moved by little is not.
func (c *Check) Covers(m metric.Metric) bool {
	return covers(c.Gate, m) && (len(c.Moved) == 0 || c.OK || c.shift(m).Share > c.shift(m).Bound())
}

// shift is what a check says of a metric: a quantile can be off by no more than the next higher one that was looked at.
func (c *Check) shift(m metric.Metric) Shift {
	at := slices.IndexFunc(c.Moved, func(d Shift) bool { return d.Quantile >= m.Quantile })
	if at < 0 {
		at = len(c.Moved) - 1
	}
	return c.Moved[at]
}

// Moved is by which share of itself a metric of the arm can be too high, or a rate too low, by all that passed a
// bound and was judged by what it moved.
func (s *ArmState) Moved(m metric.Metric) (share float64) {
	for i := range s.Checks {
		if c := &s.Checks[i]; len(c.Moved) > 0 && covers(c.Gate, m) {
			share += c.shift(m).Share
		}
	}
	return min(share, 0.99)
}

// Allow makes room in an interval for what disturbances can have done: they make calls longer, and rates lower.
func (e *Estimate) Allow(m metric.Metric, share float64) {
	if share == 0 || !e.Known {
		return
	}
	if e.High == 0 {
		e.Low, e.High = e.Value, e.Value
	}
	if m.Higher {
		e.High /= 1 - share
	} else {
		e.Low *= 1 - share
	}
}
