package result

import (
	"math"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Capacity is a search, in rounds of fresh processes, for the highest rate at
// which each arm keeps an objective, with all that was measured for it: what
// is said of it is computed again from the probes (see [AnalyseCapacity]).
type Capacity struct {
	// Objective is as [ParseObjective] reads it: "p99<10ms,errors<0.1%".
	Objective string `json:"objective"`
	// InFlight is how many calls may be under way at once; what is due beyond
	// that waits, and its time counts. It is also what the closed loop keeps
	// in flight in which each search finds where to begin.
	InFlight int `json:"in_flight"`
	// Probe is the least that a probe lasts, and Parts in how many its window
	// is cut. Short: it is less than the method asks for, as for trials.
	Probe  plan.Duration   `json:"probe"`
	Parts  int             `json:"parts"`
	Short  bool            `json:"short,omitempty"`
	Rounds []CapacityRound `json:"rounds"`
}

// CapacityRound is one round: fresh processes, one search for each arm, the
// arms' probes taking turns in random order.
type CapacityRound struct {
	Began    time.Time        `json:"began"`
	Searches []CapacitySearch `json:"searches"` // of the arms that got through the round
	Failures []Failure        `json:"failures,omitempty"`
}

// CapacitySearch is one arm's search in one round.
type CapacitySearch struct {
	Arm    int           `json:"arm"` // index into Plan.Arms
	Steady bool          `json:"steady"`
	Warmed plan.Duration `json:"warmed"`
	Closed Trial         `json:"closed"` // the closed loop, Load 0 of the plan
	Probes []Probe       `json:"probes"` // in the order they ran
}

// Probe is an open loop at one rate: does the arm keep its objective at it?
type Probe struct {
	Place int           `json:"place"` // in the round, from 0
	Rate  float64       `json:"rate"`  // requests per second
	For   plan.Duration `json:"for"`   // with the head that is not recorded
	Trial Trial         `json:"trial"`
	// Parts are the response times by parts of the window: see [Capacity.Parts].
	Parts []*stat.Histogram `json:"parts"`
	Noise Noise             `json:"noise"`
	// Outcome and Why are what [Capacity.Judge] made of it, and the search was told.
	Outcome ProbeOutcome `json:"outcome"`
	Why     string       `json:"why"`
}

// The bounds of a search.
const (
	// ProbeLeast is the least that a probe lasts, and ProbeTail how many calls
	// must lie beyond the greatest quantile (docs/concepts/load.md).
	ProbeLeast = 5 * time.Second
	ProbeTail  = 100
	// ProbeMost is the most that a probe lasts. Rates so low that it would not
	// do are not tried.
	ProbeMost = 10 * time.Minute
	// ProbeParts is in how many parts a probe's window is cut: with fewer, the
	// interval of the jackknife is wide whatever is measured; with more, parts
	// depend on each other.
	ProbeParts = 10

	searchDown = 256 // the lowest rate is this part of the closed loop's
	searchUp   = 16  // the highest is so many times the closed loop's
)

// Length is how long a probe at a rate lasts: [Capacity.Probe], or as long as
// it takes for 100 calls to lie beyond the objective's greatest quantile; a
// short probe is as long as it is told.
func (c *Capacity) Length(o Objective, rate float64) time.Duration {
	least := time.Duration(c.Probe)
	if c.Short {
		return least
	}
	tail := ProbeTail / (rate * (1 - o.Tail()))
	return min(max(least, time.Duration(tail*float64(time.Second))), ProbeMost)
}

// Search returns a search that begins from what the arm did in the closed
// loop, calls per second, at a quarter of it.
func (c *Capacity) Search(o Objective, closed float64) *Search {
	start := closed / 4
	least := closed / searchDown
	if !c.Short {
		least = max(least, ProbeTail/((1-o.Tail())*ProbeMost.Seconds()))
	}
	least = max(tidy(least), rateLeast)
	start = max(start, least)
	return &Search{Start: start, Least: least, Most: max(tidy(min(searchUp*closed, rateMost)), start)}
}

// What a plan's loads may have, so that a probe can be run by hand.
const (
	rateLeast = 0.1
	rateMost  = 10e6
)

// closedRate is what the closed loop did, calls per second.
func (s *CapacitySearch) closedRate() float64 {
	v, ok := throughput(&s.Closed)
	if !ok || math.IsInf(v, 0) {
		return 0
	}
	return v
}

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
