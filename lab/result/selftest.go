package result

import (
	"wirelab/lab/plan"
)

// SelfTest is what wirelab found when it was tried against things that are
// known. A result that has one is a report of such trials: its plan names the
// wires and the loads that were tried, and it has no rounds.
type SelfTest struct {
	// Long is whether the long form was run.
	Long  bool     `json:"long,omitempty"`
	Tests []Tested `json:"tests"`
}

// Tested is one of its tests.
type Tested struct {
	Name     string `json:"name"`     // "truth"
	Shows    string `json:"shows"`    // what it is for, in a sentence
	Required string `json:"required"` // what must be found
	Found    string `json:"found"`    // what was found, or why the test could not be run
	Pass     bool   `json:"pass"`
	// Refused is set where nothing was found wrong, but the gates let too
	// little be said for the test to show anything: the machine was busy.
	Refused bool          `json:"refused,omitempty"`
	Took    plan.Duration `json:"took"`
	Figures []Figure      `json:"figures,omitempty"`
	// Kept are the ids of stored results that tell more.
	Kept []string `json:"kept,omitempty"`
}

// Figure is a number that a test held beside the one that is true.
type Figure struct {
	Name string `json:"name"` // "grpc, constant 20ms: response-p50"
	Unit string `json:"unit"` // "ms", "%", "calls"
	// Found must be within Low and High, both inclusive.
	Found float64 `json:"found"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Note says what else is to be known of it: where it was read, say.
	Note string `json:"note,omitempty"`
}

// OK reports whether the figure is what it must be.
func (f Figure) OK() bool { return f.Found >= f.Low && f.Found <= f.High }

// Failed names the tests that found something wrong.
func (s *SelfTest) Failed() []string {
	return s.names(func(t Tested) bool { return !t.Pass && !t.Refused })
}

// Refused names the tests that could show nothing.
func (s *SelfTest) Refused() []string {
	return s.names(func(t Tested) bool { return !t.Pass && t.Refused })
}

func (s *SelfTest) names(of func(Tested) bool) []string {
	var all []string
	for _, t := range s.Tests {
		if of(t) {
			all = append(all, t.Name)
		}
	}
	return all
}
