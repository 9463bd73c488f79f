package claim

import (
	"slices"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
)

// Limits on the lateness and the number of an open loop's calls (docs/concepts/checks.md).
const (
	LagFloor  = 50 * time.Microsecond // lateness that no median is sensitive to
	LagShare  = 0.05                  // of the quantile that it would distort
	EvenShare = 0.005                 // of planned calls, constant rate
	PoissonSD = 4                     // standard deviations of planned calls, Poisson
)

// Check is a gate applied to an arm under a load.
type Check struct {
	Gate result.Gate `json:"gate"`
	// OK is false if the gate failed: the figures that it covers are invalid. Limited figures are kept but always
	// marked: they mean something, but less than they seem to.
	OK      bool `json:"ok"`
	Limited bool `json:"limited,omitempty"`
	// Detail says what was found; if the check failed, why. Fix says what to change; "" if nothing.
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
	// Value was measured. The check passes if it is at most Limit, or at least Limit if AtLeast is set. Both are in
	// Unit: "µs", "of wall time". Unit is "" if the gate does not depend on a number.
	Value   float64 `json:"value"`
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitempty"`
	Unit    string  `json:"unit,omitempty"`
	// Rounds are the readings of each round, if there are any.
	Rounds []Reading `json:"rounds,omitempty"`
	// Moved is set for a check whose bound was exceeded and that is judged by the effect. It says by how much figures
	// may be too high. Figures that moved little are kept with wider intervals; the others are invalid.
	Moved []Shift `json:"moved,omitempty"`
}

// Reading is a gate's value in one round. OK is the outcome for this round alone. [Check] is judged over several
// rounds.
type Reading struct {
	Round int     `json:"round"` // from 1
	Value float64 `json:"value"`
	OK    bool    `json:"ok"`
}

// reach is the set of metrics that a gate covers.
type reach int

const (
	everything reach = iota
	timing           // times and throughput, but not CPU, bytes or allocations per call
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

// timed are the metrics, other than quantiles, that depend on time.
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

// Why says why a metric of the arm has no value: the detail of the first failed gate that covers it. It is "" if none
// failed.
func (s *ArmState) Why(m metric.Metric) string {
	if c := s.SpoiledBy(m); c != nil {
		return c.Detail
	}
	return ""
}

// SpoiledBy returns the first failed check that covers a metric, or nil.
func (s *ArmState) SpoiledBy(m metric.Metric) *Check {
	for i := range s.Checks {
		if c := &s.Checks[i]; !c.OK && c.Covers(m) {
			return c
		}
	}
	return nil
}

// Verdict is the verdict on a metric that the gate refused. An arm that was never steady is a finding, and not a
// fault of the measurement.
func (c *Check) Verdict() Verdict {
	if c.Gate == result.Steady || c.Gate == result.Settled {
		return Unsteady
	}
	return Invalid
}

// Spoiled returns the verdict that replaces a metric's number, [Invalid] or [Unsteady]; "" if its gates passed.
func (s *ArmState) Spoiled(m metric.Metric) Verdict {
	if c := s.SpoiledBy(m); c != nil {
		return c.Verdict()
	}
	return ""
}

// Marks returns the checks that limit the meaning of a metric. There are none if a gate failed, since there is no
// value to mark.
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

// Whole reports whether a gate covers every metric.
func Whole(g result.Gate) bool { return reachOf(g) == everything }

// Invalid returns the details of the failed checks that cover every metric.
func (s *ArmState) Invalid() []string {
	var why []string
	for _, c := range s.Failed() {
		if Whole(c.Gate) {
			why = append(why, c.Detail)
		}
	}
	return why
}

// MovedShare is the share of a figure by which a disturbance may have changed it at most.
const MovedShare = LagShare

// Shift is the share of itself by which a figure may be too high at most, because something made calls longer.
type Shift struct {
	Quantile float64 `json:"quantile"` // 0: the mean, and so the number of calls of a closed loop
	Share    float64 `json:"share"`
	// Limit is the share up to which the figure is kept; 0, as in results of an earlier wirelab, means 0.05.
	Limit float64 `json:"limit,omitempty"`
}

// Bound is the share up to which a figure is kept.
func (d Shift) Bound() float64 { return max(d.Limit, MovedShare) }

// Covers reports whether a metric is invalid when the check fails. A metric that was changed by little is not.
func (c *Check) Covers(m metric.Metric) bool {
	return covers(c.Gate, m) && (len(c.Moved) == 0 || c.OK || c.shift(m).Share > c.shift(m).Bound())
}

// shift returns the check's statement on a metric. A quantile can be wrong by no more than the next higher one that
// was checked.
func (c *Check) shift(m metric.Metric) Shift {
	at := slices.IndexFunc(c.Moved, func(d Shift) bool { return d.Quantile >= m.Quantile })
	if at < 0 {
		at = len(c.Moved) - 1
	}
	return c.Moved[at]
}

// Moved is the share of itself by which a metric of the arm can be too high, or a rate too low, because of all checks
// that exceeded a bound and were judged by their effect.
func (s *ArmState) Moved(m metric.Metric) (share float64) {
	for i := range s.Checks {
		if c := &s.Checks[i]; len(c.Moved) > 0 && covers(c.Gate, m) {
			share += c.shift(m).Share
		}
	}
	return min(share, 0.99)
}

// Allow widens an interval for the possible effect of disturbances, which make calls longer and rates lower.
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
