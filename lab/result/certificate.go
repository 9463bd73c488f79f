package result

import (
	"fmt"
	"time"

	"wirelab/lab/plan"
)

// Certificate is what a machine can tell apart, from a comparison of a thing
// with itself: two equal arms, whose differences are all the machine's.
type Certificate struct {
	Made time.Time `json:"made"`
	// Environment is the machine's when it was made; it holds for no other.
	Environment Environment `json:"environment"`
	// What says what was compared with itself: "http1-proto, raw driver, 1 in flight".
	What string `json:"what"`
	// Rounds is how many rounds the burst had, and Round how long one took.
	Rounds int           `json:"rounds"`
	Round  plan.Duration `json:"round"`
	Noise  Noise         `json:"noise"` // the worst of the rounds
	// Metrics are the resolutions, in the order of [kinds.Metrics].
	Metrics []Resolution `json:"metrics"`
}

// Resolution is how small a difference of a metric can be told.
type Resolution struct {
	Metric string `json:"metric"` // id
	// Deviation is the standard deviation of the logarithm of the two arms'
	// ratio from round to round.
	Deviation float64 `json:"deviation"`
	// Within gives it for stretches of wall time.
	Within []Within `json:"within"`
}

// Within is what can be told in a stretch of wall time, both as shares.
type Within struct {
	Time plan.Duration `json:"time"`
	// HalfWidth is of the 95 % interval; Detectable is the smallest difference
	// found in 8 of 10 repeats, (t.975 + t.80) * Deviation / sqrt(rounds).
	HalfWidth  float64 `json:"half_width"`
	Detectable float64 `json:"detectable"`
}

// Stretches are the times that a certificate tells what can be told in.
func Stretches() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute}
}

// Worst is the noise of the worst rounds, each kind for itself.
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

// Of returns what is told of a metric; false if nothing is.
func (c *Certificate) Of(metric string) (Resolution, bool) {
	for _, r := range c.Metrics {
		if r.Metric == metric {
			return r, true
		}
	}
	return Resolution{}, false
}

// In returns what can be told of a metric in one of the [Stretches].
func (c *Certificate) In(metric string, t time.Duration) (Within, bool) {
	r, _ := c.Of(metric) // without one there is nothing within
	for _, w := range r.Within {
		if time.Duration(w.Time) == t {
			return w, true
		}
	}
	return Within{}, false
}

// certificateAge is how long a certificate holds: what else a machine does
// changes from hour to hour.
const certificateAge = time.Hour

// Stale tells why a certificate does not hold now and on a machine; "" if it does.
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
