package benchmark

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// Figures are the figures of a run that may be shown; nil for the others and for unknown ones. Times are in
// nanoseconds.
type Figures struct {
	Throughput                             *float64 // per second; for an open loop, the calls with a right reply
	Mean, P50, P90, P99, P999, Least, Most *float64
	CPU                                    *float64 // of the driver, in percent of one core
	// Refused says which figures are not shown, and why: "response-p99: 3 of 10 calls beyond it"; "" if all are
	// shown.
	Refused string
	// CPUWithheld reports that a check refuses the driver's CPU, TimesWithheld that a check refuses all response
	// times.
	CPUWithheld, TimesWithheld bool
}

// rateMetrics are the rates of a run: calls per second, or events per second.
func rateMetrics() []string { return []string{plan.Throughput, plan.EventRate} }

// Load returns a run's load in an analysis; nil if it is not there.
func Load(loads []claim.LoadAnalysis, u *Run) *claim.LoadAnalysis {
	for i := range loads {
		if l := &loads[i]; l.Load == u.Load && u.Arm >= 0 && u.Arm < len(l.Arms) {
			return l
		}
	}
	return nil
}

// Figures returns the figures of the run from the analysis of its load; none if l is nil.
func (u *Run) Figures(l *claim.LoadAnalysis) (f Figures) {
	if l == nil {
		return f
	}
	arm := &l.Arms[u.Arm]
	value := func(ids ...string) (v *float64, there bool) {
		for _, id := range ids {
			row := l.Row(id)
			if row == nil || u.Arm >= len(row.Cells) {
				continue
			}
			e := row.Cells[u.Arm].Estimate
			if !e.Known {
				return nil, true
			}
			return number(e.Value), true
		}
		return nil, false
	}
	var rated bool
	if f.Throughput, rated = value(rateMetrics()...); !rated && arm.Achieved > 0 {
		f.Throughput = number(arm.Achieved) // of an open loop, where it is no metric for comparisons
	}
	f.Mean, _ = value(plan.ResponseMean)
	f.P50, _ = value(plan.ResponseP50, plan.DeliveryP50)
	f.P90, _ = value(plan.ResponseP90, plan.DeliveryP90)
	f.P99, _ = value(plan.ResponseP99, plan.DeliveryP99)
	f.P999, _ = value(plan.ResponseP999, plan.DeliveryP999)
	f.TimesWithheld = kinds.Withheld(arm, kinds.LeastResponse) != ""
	if h := u.Pooled(func(t *result.Trial) *stat.Histogram { return t.Response }); h.Count() > 0 {
		if !f.TimesWithheld {
			f.Least = new(float64(h.Min()))
		}
		if kinds.Withheld(arm, kinds.MostResponse) == "" {
			f.Most = new(float64(h.Max()))
		}
	}
	f.CPUWithheld = kinds.Withheld(arm, kinds.DriverCPU) != ""
	var cpu, wall time.Duration
	for _, t := range u.Trials {
		cpu, wall = cpu+time.Duration(t.Driver.CPU), wall+Wall(t)
	}
	if wall > 0 && !f.CPUWithheld {
		f.CPU = number(100 * cpu.Seconds() / wall.Seconds())
	}
	f.Refused = refused(l, u.Arm)
	return f
}

// viewed reports whether the format has a metric.
func viewed(id string) bool {
	return slices.Contains(append(rateMetrics(), plan.ResponseMean, plan.ResponseP50, plan.ResponseP90,
		plan.ResponseP99,
		plan.DeliveryP50, plan.DeliveryP90, plan.DeliveryP99), id)
}

// refused says which figures of an arm are not shown, and why.
func refused(l *claim.LoadAnalysis, arm int) string {
	whys := map[string][]string{}
	var order []string
	note := func(id, why string) {
		if whys[why] == nil {
			order = append(order, why)
		}
		whys[why] = append(whys[why], id)
	}
	for i := range l.Rows {
		row := &l.Rows[i]
		if arm < len(row.Cells) && !row.Cells[arm].Estimate.Known && viewed(row.Metric) {
			note(row.Metric, row.Cells[arm].Estimate.Why)
		}
	}
	if one := l.Arms[arm].Refused["achieved"]; one != nil {
		note("achieved", one.Why)
	}
	parts := make([]string, len(order))
	for i, why := range order {
		parts[i] = fmt.Sprintf("%s: %s", strings.Join(whys[why], ", "), why)
	}
	return strings.Join(parts, "; ")
}

// number returns f, or nil if it is not a number.
func number(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
