package result

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Capacity is a search for the highest rate at which each arm meets an objective, in rounds of fresh processes. It
// has all measurements of the search, so claims can be computed again from the probes (see [capacity.Analyse]).
type Capacity struct {
	// Objective is in the form that [capacity.ParseObjective] reads: "p99<10ms,errors<0.1%".
	Objective string `json:"objective"`
	// InFlight is the maximum number of calls under way. Calls beyond that wait when they are due, and their waiting
	// time counts. It is also the number of calls in flight in the closed loop from which each search takes its first
	// rate.
	InFlight int `json:"in_flight"`
	// Probe is the minimum duration of a probe, and Parts is the number of parts of its window. Short reports that
	// the duration is less than the method requires, as in quick trials.
	Probe  plan.Duration   `json:"probe"`
	Parts  int             `json:"parts"`
	Short  bool            `json:"short,omitempty"`
	Rounds []CapacityRound `json:"rounds"`
}

// Searched returns the rounds of a search; none if there was no search.
func (c *Capacity) Searched() []CapacityRound {
	if c == nil {
		return nil
	}
	return c.Rounds
}

// CapacityRound is one round: fresh processes and one search for each arm. The arms' probes alternate in random
// order.
type CapacityRound struct {
	Began    time.Time        `json:"began"`
	Searches []CapacitySearch `json:"searches"` // of the arms that completed the round
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

// Probe is an open loop at one rate, to see whether the arm meets its objective at that rate.
type Probe struct {
	Place int           `json:"place"` // in the round, from 0
	Rate  float64       `json:"rate"`  // requests per second
	For   plan.Duration `json:"for"`   // including the start that is not recorded
	Trial Trial         `json:"trial"`
	// Parts are the response times in each part of the window: see [Capacity.Parts].
	Parts []*stat.Histogram `json:"parts"`
	Noise Noise             `json:"noise"`
	// Outcome and Why are the judgement of [capacity.Judge], on which the search continued.
	Outcome ProbeOutcome `json:"outcome"`
	Why     string       `json:"why"`
}

// ProbeOutcome says whether an arm meets its objective at a rate.
type ProbeOutcome string

// The outcomes.
const (
	ProbePassed ProbeOutcome = "passed"
	ProbeFailed ProbeOutcome = "failed"
	// ProbeSpoiled means that the generator or the machine was too disturbed to decide.
	ProbeSpoiled ProbeOutcome = "spoiled"
)
