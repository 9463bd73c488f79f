// Package doctor judges a machine as a place to measure on: what was looked
// at, whether it is fine, why it matters and what to do. It knows readings and
// thresholds, and reads nothing itself: the same readings give the same
// findings everywhere.
package doctor

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Level is how bad a finding is.
type Level string

// The levels. With Warn, numbers hold but need more rounds or care; with Bad
// they would be wrong or be refused.
const (
	Fine Level = "fine"
	Warn Level = "warn"
	Bad  Level = "bad"
)

// Group is what a finding is about.
type Group string

// The groups, in the order in which they are shown.
const (
	Processors Group = "processors"
	Clock      Group = "clock"
	Neighbours Group = "what else runs"
	Memory     Group = "memory"
	Limits     Group = "limits"
	Program    Group = "this program"
)

// Finding is one thing that was looked at.
type Finding struct {
	// ID is for programs and does not change: "clock-source".
	ID    string `json:"id"`
	Group Group  `json:"group"`
	Name  string `json:"name"`
	Value string `json:"value"`
	Level Level  `json:"level"`
	// Why says why it matters, for a measurement.
	Why string `json:"why"`
	// Do says what to do about it, "" if it is fine; Command is what to type
	// for that, where there is one.
	Do      string `json:"do,omitempty"`
	Command string `json:"command,omitempty"`
}

// Examination is all that was found.
type Examination struct {
	// Fit is whether nothing is bad.
	Fit      bool          `json:"fit"`
	Findings []Finding     `json:"findings"`
	Machine  probe.Machine `json:"machine"`
	Watched  probe.Watched `json:"watched"`
	// Certificate is what the machine can tell apart; nil if that was not
	// tried, or failed, and Uncertified is then why.
	Certificate *result.Certificate `json:"certificate,omitempty"`
	Uncertified string              `json:"uncertified,omitempty"`
	// Result is the id of the burst's result, "" without one.
	Result string `json:"result,omitempty"`
}

// Examine judges a machine on which children would run at place.
func Examine(m probe.Machine, w probe.Watched, place result.Placement) Examination {
	e := Examination{Machine: m, Watched: w, Findings: slices.Concat(
		processors(m, place), clock(m, w), neighbours(m, w), memory(m, w), limits(m), program(m),
	)}
	e.Fit = e.Count(Bad) == 0
	return e
}

// Count counts the findings of a level.
func (e Examination) Count(level Level) int {
	n := 0
	for _, f := range e.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Summary is the verdict in a sentence.
func (e Examination) Summary() string {
	warnings := fmt.Sprintf("%d warnings", e.Count(Warn))
	switch e.Count(Warn) {
	case 0:
		warnings = "no warning"
	case 1:
		warnings = "1 warning"
	}
	if e.Fit {
		return "Fit to measure on, with " + warnings + "."
	}
	var bad []string
	for _, f := range e.Findings {
		if f.Level == Bad {
			bad = append(bad, f.Name)
		}
	}
	return "Not fit to measure on: " + strings.Join(bad, ", ") + "; and " + warnings + "."
}

// Groups returns the groups, in order.
func Groups() []Group {
	return []Group{Processors, Clock, Neighbours, Memory, Limits, Program}
}

// judged returns the finding with a level, and without advice where it is fine.
func judged(f Finding, level Level) Finding {
	if f.Level = level; level == Fine {
		f.Do, f.Command = "", ""
	}
	return f
}

// above is Bad above bad, Warn above warn, else Fine.
func above[T ~int | ~int64 | ~uint64 | ~float64](value, warn, bad T) Level {
	switch {
	case value > bad:
		return Bad
	case value > warn:
		return Warn
	}
	return Fine
}
