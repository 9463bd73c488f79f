package claim

import (
	"math"
)

// CapacityAnalysis is what may be said of capacities.
type CapacityAnalysis struct {
	Objective string `json:"objective"`
	// Requests is the number of calls of all probes; each reply was checked.
	Requests uint64        `json:"requests"`
	Probes   int           `json:"probes"`
	Arms     []ArmCapacity `json:"arms"` // one for each of Plan.Arms
}

// ArmCapacity is what was found of one arm.
type ArmCapacity struct {
	Name string `json:"name"`
	// Kind is [CapacityFound] where every round found it. Rate is known only
	// then: the geometric mean of the rounds, with a t interval on logarithms,
	// never narrower than the search's resolution.
	Kind FoundKind `json:"kind"`
	Rate Estimate  `json:"rate"`
	// Bound is the rate that it is at least, or below, in every round.
	Bound float64 `json:"bound,omitempty"`
	// Limited: the generator is why it is only a bound, or not known; or, if
	// Machine, what else ran on the machine.
	Limited bool `json:"limited,omitempty"`
	Machine bool `json:"machine,omitempty"`
	// Closed is what it did in the closed loop.
	Closed Estimate `json:"closed"`
	// Why says in words why it is not known, and of a bound why it is one.
	Why    string       `json:"why,omitempty"`
	Rounds []RoundFound `json:"rounds"`
	// Difference is from the first arm, in which more is better; nil in the
	// first, and where either is not known.
	Difference *Difference `json:"difference,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

// RoundFound is what a round found of an arm.
type RoundFound struct {
	Round   int   `json:"round"` // from 1
	Found   Found `json:"found"`
	Probes  int   `json:"probes"`
	Spoiled int   `json:"spoiled,omitempty"` // probes
	// Why is the reason of the last probe that did not pass at Found.High;
	// Machine: that was the machine.
	Why     string `json:"why,omitempty"`
	Machine bool   `json:"machine,omitempty"`
	// Refused is what was measured and cannot be used; nil if all can.
	Refused *RefusedSearch `json:"refused,omitempty"`
}

// FoundKind is what a search can say.
type FoundKind string

// What a search can say.
const (
	// CapacityFound: it passes at Low and fails at High, SearchStep apart.
	CapacityFound FoundKind = "found"
	// CapacityAtLeast: it passes at Low; above it nothing that can be trusted failed.
	CapacityAtLeast FoundKind = "at least"
	// CapacityBelow: it fails at High, the lowest rate tried.
	CapacityBelow FoundKind = "below"
	// CapacityUnknown: no probe could be trusted, or the search did not end.
	CapacityUnknown FoundKind = "unknown"
)

// Found is what a search found.
type Found struct {
	Kind FoundKind `json:"kind"`
	Low  float64   `json:"low,omitempty"`  // passes
	High float64   `json:"high,omitempty"` // does not pass, or not for sure
	// Limited: at High it was the generator, or the machine, that was not up to it.
	Limited bool `json:"limited,omitempty"`
}

// Value is the capacity in requests per second where it was found: between the
// two rates, on logarithms.
func (f Found) Value() (float64, bool) {
	return math.Sqrt(f.Low * f.High), f.Kind == CapacityFound
}
