package claim

import (
	"math"
)

// CapacityAnalysis is what may be said about capacities.
type CapacityAnalysis struct {
	Objective string `json:"objective"`
	// Requests is the number of calls of all probes. Every reply was checked.
	Requests uint64        `json:"requests"`
	Probes   int           `json:"probes"`
	Arms     []ArmCapacity `json:"arms"` // one for each of Plan.Arms
}

// ArmCapacity is the capacity of one arm.
type ArmCapacity struct {
	Name string `json:"name"`
	// Kind is [CapacityFound] if every round found it. Only then is Rate known: the geometric mean of the rounds,
	// with a t interval on logarithms that is never narrower than the search's resolution.
	Kind FoundKind `json:"kind"`
	Rate Estimate  `json:"rate"`
	// Bound is the rate that the capacity is at least, or below, in every round.
	Bound float64 `json:"bound,omitempty"`
	// Limited reports that the generator is the reason why there is only a bound, or nothing. Machine reports that
	// the reason was other load on the machine.
	Limited bool `json:"limited,omitempty"`
	Machine bool `json:"machine,omitempty"`
	// Closed is its rate in the closed loop.
	Closed Estimate `json:"closed"`
	// Why says why the capacity is not known, or why it is only a bound.
	Why    string       `json:"why,omitempty"`
	Rounds []RoundFound `json:"rounds"`
	// Difference is the difference from the first arm; more is better. It is nil for the first arm, and if either
	// capacity is not known.
	Difference *Difference `json:"difference,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

// RoundFound is what one round found for an arm.
type RoundFound struct {
	Round   int   `json:"round"` // from 1
	Found   Found `json:"found"`
	Probes  int   `json:"probes"`
	Spoiled int   `json:"spoiled,omitempty"` // probes
	// Why is the reason of the last probe that did not pass at Found.High. Machine reports that the reason was the
	// machine.
	Why     string `json:"why,omitempty"`
	Machine bool   `json:"machine,omitempty"`
	// Refused has measurements that cannot be used; nil if all can.
	Refused *RefusedSearch `json:"refused,omitempty"`
}

// FoundKind is the kind of a search's result.
type FoundKind string

// The kinds of results.
const (
	// CapacityFound: the arm passes at Low and fails at High, one SearchStep apart.
	CapacityFound FoundKind = "found"
	// CapacityAtLeast: it passes at Low; above that no trustworthy probe failed.
	CapacityAtLeast FoundKind = "at least"
	// CapacityBelow: it fails at High, the lowest rate that was tried.
	CapacityBelow FoundKind = "below"
	// CapacityUnknown: no probe was trustworthy, or the search did not end.
	CapacityUnknown FoundKind = "unknown"
)

// Found is the result of a search.
type Found struct {
	Kind FoundKind `json:"kind"`
	Low  float64   `json:"low,omitempty"`  // passes
	High float64   `json:"high,omitempty"` // does not pass, or not with certainty
	// Limited reports that the generator or the machine was the limit at High.
	Limited bool `json:"limited,omitempty"`
}

// Value is the capacity in requests per second if it was found: the geometric mean of the two rates.
func (f Found) Value() (float64, bool) {
	return math.Sqrt(f.Low * f.High), f.Kind == CapacityFound
}
