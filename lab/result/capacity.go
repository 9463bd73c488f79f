package result

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Capacity is a search, in rounds of fresh processes, for the highest rate at
// which each arm keeps an objective, with all that was measured for it: what
// is said of it is computed again from the probes (see [capacity.Analyse]).
type Capacity struct {
	// Objective is as [capacity.ParseObjective] reads it: "p99<10ms,errors<0.1%".
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

// Searched are the rounds of a search; none where there was no search.
func (c *Capacity) Searched() []CapacityRound {
	if c == nil {
		return nil
	}
	return c.Rounds
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
	// Outcome and Why are what [capacity.Judge] made of it, and the search was told.
	Outcome ProbeOutcome `json:"outcome"`
	Why     string       `json:"why"`
}

// ProbeOutcome is whether an arm keeps its objective at a rate.
type ProbeOutcome string

// The outcomes.
const (
	ProbePassed ProbeOutcome = "passed"
	ProbeFailed ProbeOutcome = "failed"
	// ProbeSpoiled: the generator, or the machine, was not fit to tell.
	ProbeSpoiled ProbeOutcome = "spoiled"
)
