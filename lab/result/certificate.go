package result

import (
	"fmt"
	"time"

	"wirelab/lab/plan"
)

// Certificate is the calibration of a machine: the differences that it can detect, from an A/A test. Two equal arms
// were compared, so all differences come from the machine.
type Certificate struct {
	Made time.Time `json:"made"`
	// Environment is that of the machine at the time. The calibration is not valid for any other.
	Environment Environment `json:"environment"`
	// What describes the arm that was compared with itself: "http1-proto, raw driver, 1 in flight".
	What string `json:"what"`
	// Rounds is the number of rounds of the calibration run, and Round is the duration of one.
	Rounds int           `json:"rounds"`
	Round  plan.Duration `json:"round"`
	Noise  Noise         `json:"noise"` // the worst value in any round
	// Metrics are the resolutions, in the order of [kinds.Metrics].
	Metrics []Resolution `json:"metrics"`
}

// Resolution says how small a detectable difference of a metric is.
type Resolution struct {
	Metric string `json:"metric"` // id
	// Deviation is the standard deviation, over rounds, of the logarithm of the two arms' ratio.
	Deviation float64 `json:"deviation"`
	// Within gives the resolution for several wall times.
	Within []Within `json:"within"`
}

// Within is the resolution after a wall time. Both values are shares.
type Within struct {
	Time plan.Duration `json:"time"`
	// HalfWidth is that of the 95 % interval. Detectable is the smallest difference that is found in 8 of 10
	// repetitions, (t.975 + t.80) * Deviation / sqrt(rounds).
	HalfWidth  float64 `json:"half_width"`
	Detectable float64 `json:"detectable"`
}

// Stretches are the wall times for which a calibration gives resolutions.
func Stretches() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute}
}

// Worst is the worst noise of the rounds, for each kind separately.
func Worst(rounds []Round) Noise {
	var worst Noise
	for i, r := range rounds {
		n := r.Noise
		if i == 0 {
			worst = n
			continue
		}
		worst = Noise{
			Steal: max(worst.Steal, n.Steal), Others: max(worst.Others, n.Others),
			CPUPressure: max(worst.CPUPressure, n.CPUPressure), IOPressure: max(worst.IOPressure, n.IOPressure),
			Throttled: max(worst.Throttled, n.Throttled),
		}
	}
	return worst
}

// Of returns the resolution of a metric, and whether there is one.
func (c *Certificate) Of(metric string) (Resolution, bool) {
	for _, r := range c.Metrics {
		if r.Metric == metric {
			return r, true
		}
	}
	return Resolution{}, false
}

// In returns the resolution of a metric for one of the [Stretches].
func (c *Certificate) In(metric string, t time.Duration) (Within, bool) {
	r, _ := c.Of(metric) // without a metric, Within is empty
	for _, w := range r.Within {
		if time.Duration(w.Time) == t {
			return w, true
		}
	}
	return Within{}, false
}

// certificateAge is how long a calibration is valid: the other load on a machine changes from hour to hour.
const certificateAge = time.Hour

// Stale says why a calibration is not valid now on a machine; "" if it is.
func (c *Certificate) Stale(env Environment, now time.Time) string {
	is := c.Environment
	for _, same := range []struct {
		what     string
		had, has any
	}{
		{"host", is.Host, env.Host},
		{"CPU", is.CPU, env.CPU},
		{"number of CPUs", is.CPUs, env.CPUs},
		{"kernel", is.Kernel, env.Kernel},
		{"governor", is.Governor, env.Governor},
		{"clock source", is.ClockSource, env.ClockSource},
		{"Go", is.Go, env.Go},
		{"commit", is.Commit, env.Commit},
	} {
		if same.had != same.has {
			return fmt.Sprintf("another %s: %v, now %v", same.what, same.had, same.has)
		}
	}
	switch age := now.Sub(c.Made); {
	case age < 0:
		return "made in the future"
	case age > certificateAge:
		return fmt.Sprintf("made %v ago", age.Round(time.Minute))
	}
	return ""
}
