package result

import (
	"wirelab/lab/plan"
)

// SelfTest is what wirelab found when it was tested against systems with known behaviour. A result with a SelfTest is
// a report of such tests: its plan names the protocols and loads that were tested, and it has no rounds.
type SelfTest struct {
	// Long reports whether the long form was run.
	Long  bool     `json:"long,omitempty"`
	Tests []Tested `json:"tests"`
}

// Tested is one test of a self-test.
type Tested struct {
	Name     string `json:"name"`     // "truth"
	Shows    string `json:"shows"`    // its purpose, in a sentence
	Required string `json:"required"` // what must be found
	Found    string `json:"found"`    // what was found, or why the test could not be run
	Pass     bool   `json:"pass"`
	// Refused is set if nothing wrong was found, but the gates refused too much for the test to show anything: the
	// machine was busy.
	Refused bool          `json:"refused,omitempty"`
	Took    plan.Duration `json:"took"`
	Figures []Figure      `json:"figures,omitempty"`
	// Kept are the ids of stored results with details.
	Kept []string `json:"kept,omitempty"`
}

// Figure is a measured number that a test compared with the true one.
type Figure struct {
	Name string `json:"name"` // "grpc, constant 20ms: response-p50"
	Unit string `json:"unit"` // "ms", "%", "calls"
	// Found must be within Low and High, both inclusive.
	Found float64 `json:"found"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Note is a remark, such as where the number was read.
	Note string `json:"note,omitempty"`
}

// OK reports whether the figure is within its bounds.
func (f Figure) OK() bool { return f.Found >= f.Low && f.Found <= f.High }

// Failed returns the names of the tests that found something wrong.
func (s *SelfTest) Failed() []string {
	return s.names(func(t Tested) bool { return !t.Pass && !t.Refused })
}

// Refused returns the names of the tests that could not show anything.
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
