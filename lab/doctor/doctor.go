// Package doctor checks whether a machine is fit to measure on. A finding says what was checked, whether it is fine,
// why it matters and what to do. The package knows readings and thresholds, and reads nothing itself: the same readings
// give the same findings everywhere.
package doctor

import (
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Level says how bad a finding is.
type Level string

// The levels. With Warn, results are correct but need more rounds or care. With Bad they would be wrong or be refused.
const (
	Fine Level = "fine"
	Warn Level = "warn"
	Bad  Level = "bad"
)

// Group is the subject of a finding.
type Group string

// The groups, in display order.
const (
	Processors Group = "processors"
	Clock      Group = "clock"
	Neighbours Group = "what else runs"
	Memory     Group = "memory"
	Limits     Group = "limits"
	Program    Group = "this program"
)

// Finding is the result of one check.
type Finding struct {
	// ID is for programs and does not change, such as "clock-source".
	ID    string `json:"id"`
	Group Group  `json:"group"`
	Name  string `json:"name"`
	Value string `json:"value"`
	Level Level  `json:"level"`
	// Why says why it matters for a measurement.
	Why string `json:"why"`
	// Do says what to do about it, "" if it is fine. Command is a command for that, "" if there is none.
	Do      string `json:"do,omitempty"`
	Command string `json:"command,omitempty"`
}

// Examination has all findings.
type Examination struct {
	// Fit is set if no finding is bad.
	Fit      bool          `json:"fit"`
	Findings []Finding     `json:"findings"`
	Machine  probe.Machine `json:"machine"`
	Watched  probe.Watched `json:"watched"`
	// Certificate has the smallest differences that the machine can show. It is nil if there was no calibration run, or
	// if it failed; Uncertified then says why.
	Certificate *result.Certificate `json:"certificate,omitempty"`
	Uncertified string              `json:"uncertified,omitempty"`
	// Result is the id of the calibration run's result, "" if there is none.
	Result string `json:"result,omitempty"`
}

// Examine checks a machine on which children would run with this placement.
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

// Summary returns the verdict as a sentence.
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

// Groups returns the groups in display order.
func Groups() []Group {
	return []Group{Processors, Clock, Neighbours, Memory, Limits, Program}
}

// judged returns the finding with a level, and without advice if it is fine.
func judged(f Finding, level Level) Finding {
	if f.Level = level; level == Fine {
		f.Do, f.Command = "", ""
	}
	return f
}

// above returns Bad for a value above bad, Warn for one above warn, and otherwise Fine.
func above[T ~int | ~int64 | ~uint64 | ~float64](value, warn, bad T) Level {
	switch {
	case value > bad:
		return Bad
	case value > warn:
		return Warn
	}
	return Fine
}
