package result

import (
	"time"

	"wirelab/plan"
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
	// Metrics are the resolutions, in the order of [Metrics].
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
