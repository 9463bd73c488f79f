package explain

import (
	"fmt"
	"math"
	"slices"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/effect"
	"wirelab/lab/result/estimate"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// taken is a metric of the usable arms, over the rounds that have all of them, because arms are compared only within
// a round.
type taken struct {
	metric metric.Metric
	arms   []int
	left   []LeftArm
	rounds int
	logs   []stat.Parts // of each arm
	why    string       // nothing of it can be used
}

// take collects a metric.
func (x *explainer) take(m metric.Metric) taken {
	t := taken{metric: m}
	for a := range x.load.Arms {
		switch gate, why := x.unusable(m, a); why {
		case "":
			t.arms = append(t.arms, a)
		default:
			t.left = append(t.left, LeftArm{Arm: a, Gate: gate, Why: why})
		}
	}
	t.spare(x, m)
	if len(t.arms) < 2 {
		t.why = "fewer than two arms may be used"
		return t
	}
	rounds := x.shared(t.arms, m)
	if t.rounds = len(rounds); t.rounds < 2 {
		t.why = fewRounds(t.rounds)
		return t
	}
	for _, a := range t.arms {
		logs, err := x.parts(m, a, rounds)
		if err != nil {
			t.why = fmt.Sprintf("%s: a round has none of it, or the rounds differ beyond all bounds",
				x.result().ArmName(a))
			return t
		}
		t.logs = append(t.logs, logs)
	}
	return t
}

// unusable says why an arm's metric may not be used; "" if it may.
func (x *explainer) unusable(m metric.Metric, arm int) (gate result.Gate, why string) {
	if c := x.load.Arms[arm].SpoiledBy(m); c != nil {
		return c.Gate, c.Detail
	}
	trials := x.Of(x.load.Load, arm)
	switch {
	case len(trials) == 0:
		return "", "not measured"
	case m.Quantile > 0:
		return "", estimate.TooShort(m, estimate.Histograms(trials, m))
	case !slices.ContainsFunc(trials, func(t *result.Trial) bool { _, ok := m.Value(t); return ok }):
		return "", estimate.Unknown(m, trials)
	}
	return "", ""
}

// shared returns the rounds in which all arms have the metric.
func (x *explainer) shared(arms []int, m metric.Metric) []int {
	var rounds []int
	for n := range x.result().Rounds {
		all := !slices.ContainsFunc(arms, func(a int) bool {
			t := x.Trials[x.load.Load][a][n]
			if t == nil {
				return true
			}
			_, ok := m.Value(t)
			return !ok
		})
		if all {
			rounds = append(rounds, n)
		}
	}
	return rounds
}

// spare leaves out arms that failed in so many rounds that the others would have too few rounds with them, and enough
// without.
func (t *taken) spare(x *explainer, m metric.Metric) {
	for len(t.arms) > 2 && len(x.shared(t.arms, m)) < claim.MinRounds {
		fewest, at := math.MaxInt, -1
		for i, a := range t.arms {
			if n := len(x.shared([]int{a}, m)); n < fewest {
				fewest, at = n, i
			}
		}
		others := slices.Delete(slices.Clone(t.arms), at, at+1)
		if fewest >= claim.MinRounds || len(x.shared(others, m)) <= len(x.shared(t.arms, m)) {
			return
		}
		t.left = append(t.left,
			LeftArm{Arm: t.arms[at], Why: fmt.Sprintf("it has %d of %d rounds", fewest, len(x.result().Rounds))})
		t.arms = others
	}
	slices.SortFunc(t.left, func(a, b LeftArm) int { return a.Arm - b.Arm })
}

// parts computes one arm's metric in some rounds.
func (x *explainer) parts(m metric.Metric, arm int, rounds []int) (stat.Parts, error) {
	var values []float64
	var times []*stat.Histogram
	for _, n := range rounds {
		t := x.Trials[x.load.Load][arm][n]
		if m.Quantile > 0 {
			times = append(times, m.Histogram(t))
			continue
		}
		v, _ := m.Value(t) // it has a value: see shared
		values = append(values, v)
	}
	if m.Quantile > 0 {
		return stat.QuantileParts(times, m.Quantile)
	}
	return stat.ValueParts(values)
}

// difference returns a weighted sum of the arms' logarithms as a difference.
func (t *taken) difference(weights []float64, alpha float64) *claim.Difference {
	e, err := stat.LogContrast(t.logs, weights, alpha)
	if err != nil {
		return effect.NoRatio(t.rounds, err)
	}
	return differenceOf(e)
}

func differenceOf(e stat.Effect) *claim.Difference {
	return &claim.Difference{
		Known: true, Ratio: e.Ratio, Low: e.Low, High: e.High, Exact: e.Exact, Rounds: e.Rounds, P: e.JointP(),
		Effect: e,
	}
}
