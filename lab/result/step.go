package result

import (
	"fmt"
	"slices"

	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Step is one call of a chain, and how long it took.
type Step struct {
	Name  string          `json:"name"`
	Times *stat.Histogram `json:"times"` // ns
}

// NewSteps are steps without a time. They take memory only for the times that there are.
func NewSteps(names []string) []Step {
	all := make([]Step, len(names))
	for i, name := range names {
		all[i] = Step{Name: name, Times: &stat.Histogram{}}
	}
	return all
}

// AddSteps adds the steps of another slice. What has other steps is of another chain, and left out.
func AddSteps(to, more []Step) []Step {
	if to == nil {
		return more
	}
	if !sameSteps(to, more) {
		return to
	}
	for i := range more {
		if to[i].Times == nil {
			to[i].Times = &stat.Histogram{}
		}
		to[i].Times.Merge(more[i].Times)
	}
	return to
}

// sameSteps reports whether two chains have the same steps.
func sameSteps(a, b []Step) bool {
	return slices.EqualFunc(a, b, func(a, b Step) bool { return a.Name == b.Name })
}

// StepState is how long one call of a chain takes, over all rounds.
type StepState struct {
	Name string   `json:"name"`
	P50  Estimate `json:"p50"` // ns
	P90  Estimate `json:"p90"`
	P99  Estimate `json:"p99"`
	// Share is the step's part of the chains' service time, all steps and all calls taken together. What is missing to 1
	// passes in the generator, between one reply and the next request.
	Share Estimate `json:"share"`
}

// stepQuantiles are those of a step, with the metric whose refusal is theirs.
func (s *StepState) quantiles() []struct {
	into   *Estimate
	metric string
	at     float64
} {
	return []struct {
		into   *Estimate
		metric string
		at     float64
	}{{&s.P50, plan.ServiceP50, 0.5}, {&s.P90, plan.ServiceP90, 0.9}, {&s.P99, plan.ServiceP99, 0.99}}
}

// refuse takes out what the failed checks cover.
func (s *StepState) refuse(why func(id string) string) {
	for _, q := range s.quantiles() {
		if text := why(q.metric); text != "" {
			*q.into = q.into.refuse(text)
		}
	}
	if text := why(plan.ServiceP50); text != "" {
		s.Share = s.Share.refuse(text)
	}
}

// steps tells how long each call of an arm's chain takes.
func (s *subject) steps() {
	var chain []Step
	var trials []*Trial
	for _, t := range s.trials {
		if chain == nil {
			chain = t.Steps
		}
		if chain != nil && sameSteps(chain, t.Steps) {
			trials = append(trials, t)
		}
	}
	whole := spentIn(trials, service)
	for i, step := range chain {
		state := StepState{Name: step.Name}
		of := func(t *Trial) *stat.Histogram { return t.Steps[i].Times }
		for _, q := range state.quantiles() {
			*q.into = estimateQuantile(trials, Metric{ID: q.metric, Quantile: q.at, of: of}, stat.DefaultAlpha)
		}
		if part := spentIn(trials, of); whole > 0 && part > 0 {
			state.Share = Estimate{Known: true, Value: min(1, finite(part/whole)), Rounds: len(trials)}
		} else {
			state.Share = Estimate{Why: "not measured"}
		}
		s.state.Steps = append(s.state.Steps, state)
	}
}

// spentIn is all time of some kind, in ns.
func spentIn(trials []*Trial, of func(*Trial) *stat.Histogram) (sum float64) {
	for _, t := range trials {
		if h := of(t); h.Count() > 0 {
			sum += h.Mean() * float64(h.Count())
		}
	}
	return sum
}

// The bounds of what a trial has of steps.
const (
	stepsMost = 64
	stepName  = 64 // bytes
)

// stepFlaws checks that each step has the time of each right call.
func stepFlaws(path string, t *Trial, _ plan.Load, add func(path, format string, args ...any)) {
	if len(t.Steps) > stepsMost {
		add(path+".steps", "%d steps; a chain has at most %d", len(t.Steps), stepsMost)
		return
	}
	for i, s := range t.Steps {
		at := fmt.Sprintf("%s.steps[%d]", path, i)
		if s.Name == "" || len(s.Name) > stepName {
			add(at+".name", "%.80q is no name of a step", s.Name)
		}
		if s.Times.Count() != t.OK {
			add(at+".times", "it holds %d times, %d calls were right", s.Times.Count(), t.OK)
		}
	}
}
