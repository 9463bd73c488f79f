package estimate

import (
	"fmt"
	"math"
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
	"wirelab/lab/stat"
)

// Measured is a metric of an arm's trials, regardless of the checks.
func Measured(trials []*result.Trial, m metric.Metric, alpha float64) claim.Estimate {
	switch {
	case len(trials) == 0:
		return claim.Estimate{Why: "not measured"}
	case m.Quantile > 0 && metric.ToldOf(trials, m) == "":
		return Quantile(trials, m, alpha)
	}
	values := make([]float64, 0, len(trials))
	total := 0.0
	for _, t := range trials {
		if v, ok := m.Value(t); ok {
			values = append(values, v)
			total += v
		}
	}
	e := claim.Estimate{Known: true, Rounds: len(values)}
	switch {
	case len(values) == 0:
		return claim.Estimate{Why: Unknown(m, trials)}
	case m.Averaged:
		e.Value = total / float64(len(values))
		return e
	case m.Counted:
		e.Value = total
		return e
	}
	mean, err := stat.GeometricMean(values, alpha)
	if err == nil {
		e.Value, e.Low, e.High = mean.Value, mean.Low, mean.High
		return e
	}
	// One round, or rounds with the value 0: a mean without an interval.
	e.Value = total / float64(len(values))
	if math.IsInf(e.Value, 0) {
		return claim.Estimate{Why: "beyond all bounds"}
	}
	return e
}

// Lacking returns the first of several arms' trials that do not have a metric.
func Lacking(m metric.Metric, arms ...[]*result.Trial) []*result.Trial {
	for _, trials := range arms {
		if !slices.ContainsFunc(trials, func(t *result.Trial) bool { _, ok := m.Value(t); return ok }) {
			return trials
		}
	}
	return nil
}

// Unknown says why none of an arm's trials has a metric.
func Unknown(m metric.Metric, trials []*result.Trial) string {
	behind := func(is func(*result.DatabaseUse) bool) bool {
		return slices.ContainsFunc(trials, func(t *result.Trial) bool { return t.Database != nil && is(t.Database) })
	}
	if why := metric.ToldOf(trials, m); why != "" {
		return why
	}
	switch m.ID {
	case plan.DatabaseCPU, plan.EventDatabaseCPU, plan.BackendCPU, plan.PoolWait:
		switch {
		case behind(func(d *result.DatabaseUse) bool { return d.Within }):
			return "its database is inside the server"
		case m.ID == plan.PoolWait:
			return "no connection pool reported it"
		case behind(func(*result.DatabaseUse) bool { return true }):
			return "the database's processes are not on this host"
		}
		return "its database was not observed"
	case plan.ServerAllocations, plan.EventServerAllocations:
		if slices.ContainsFunc(trials, func(t *result.Trial) bool { return t.Server != nil }) {
			return "only the server's own runtime could count them, and it was not asked"
		}
		return "the server's process is not ours"
	case plan.ServerCPU, plan.EventServerCPU:
		return "the server's process is not ours"
	case plan.ClientCPU, plan.ClientAllocations, plan.EventClientCPU, plan.EventClientAllocations:
		return "the driver's use was not recorded"
	case plan.DrainRate:
		return "too few messages were left to be read after the slices"
	case plan.DiskPerMessage, plan.NetworkPerMessage:
		return "the broker's processes are not ours"
	case metric.MemoryGrowth, metric.DiskGrowth:
		return fmt.Sprintf("it needs %d readings, one a second", result.GrowthSamples)
	case plan.MessageRate, plan.DeliveredRate:
		return "no message came in time"
	}
	if m.Streams && !m.Open {
		return "no event came in time"
	}
	return "no call was answered in time"
}

// Quantile estimates the quantile of a metric from the histograms of all rounds.
func Quantile(trials []*result.Trial, m metric.Metric, alpha float64) claim.Estimate {
	rounds := Histograms(trials, m)
	if why := TooShort(m, rounds); why != "" {
		return claim.Estimate{Why: why}
	}
	e, err := stat.QuantileInterval(rounds, m.Quantile, alpha)
	if err == nil {
		return claim.Estimate{Known: true, Value: e.Value, Low: e.Low, High: e.High, Rounds: e.Rounds}
	}
	v := float64(grid.Merge(trials, m.Histogram).Quantile(m.Quantile))
	return claim.Estimate{Known: true, Value: v, Rounds: len(rounds)}
}

// Histograms returns the histogram of a metric in each trial.
func Histograms(trials []*result.Trial, m metric.Metric) []*stat.Histogram {
	all := make([]*stat.Histogram, len(trials))
	for i, t := range trials {
		all[i] = m.Histogram(t)
	}
	return all
}

// TooShort says how many calls the quantile needs; "" if there are enough.
func TooShort(m metric.Metric, rounds []*stat.Histogram) string {
	things := words.Choose(m.Streams, "events", "requests")
	switch tail := stat.Tail(m.Quantile, rounds); {
	case tail.Have < tail.Need:
		return fmt.Sprintf("needs %s %s, have %s", words.Thousands(tail.Need), things, words.Thousands(tail.Have))
	case tail.HaveInRound < tail.NeedInRound:
		return fmt.Sprintf("needs %s %s in each round, one has %s", words.Thousands(tail.NeedInRound), things,
			words.Thousands(tail.HaveInRound))
	}
	return ""
}

// Zeros reports whether all values are 0.
func Zeros(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}
