package calls

import (
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/estimate"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// stepQuantiles are those of a step, with the metric whose refusal is theirs.
func quantiles(s *claim.StepState) []struct {
	into   *claim.Estimate
	metric string
	at     float64
} {
	return []struct {
		into   *claim.Estimate
		metric string
		at     float64
	}{{&s.P50, plan.ServiceP50, 0.5}, {&s.P90, plan.ServiceP90, 0.9}, {&s.P99, plan.ServiceP99, 0.99}}
}

// refuse takes out what the failed checks cover.
func refuse(s *claim.StepState, why func(id string) string) {
	for _, q := range quantiles(s) {
		if text := why(q.metric); text != "" {
			*q.into = q.into.Refuse(text)
		}
	}
	if text := why(plan.ServiceP50); text != "" {
		s.Share = s.Share.Refuse(text)
	}
}

// steps tells how long each call of an arm's chain takes.
func steps(s *gate.Subject) {
	var chain []result.Step
	var trials []*result.Trial
	for _, t := range s.Trials {
		if chain == nil {
			chain = t.Steps
		}
		if chain != nil && result.SameSteps(chain, t.Steps) {
			trials = append(trials, t)
		}
	}
	whole := spentIn(trials, metric.Service)
	for i, step := range chain {
		state := claim.StepState{Name: step.Name}
		of := func(t *result.Trial) *stat.Histogram { return t.Steps[i].Times }
		for _, q := range quantiles(&state) {
			*q.into = estimate.Quantile(trials, metric.Metric{ID: q.metric, Quantile: q.at, Of: of}, stat.DefaultAlpha)
		}
		if part := spentIn(trials, of); whole > 0 && part > 0 {
			state.Share = claim.Estimate{Known: true, Value: min(1, claim.Finite(part/whole)), Rounds: len(trials)}
		} else {
			state.Share = claim.Estimate{Why: "not measured"}
		}
		s.State.Steps = append(s.State.Steps, state)
	}
}

// spentIn is all time of some kind, in ns.
func spentIn(trials []*result.Trial, of func(*result.Trial) *stat.Histogram) (sum float64) {
	for _, t := range trials {
		if h := of(t); h.Count() > 0 {
			sum += h.Mean() * float64(h.Count())
		}
	}
	return sum
}
