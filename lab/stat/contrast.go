package stat

import (
	"fmt"
	"math"
)

// Parts are the logarithm of a figure of one arm and each round's part in it, of
// which it is the mean or, for quantiles of all rounds, the jackknife's
// estimate. Sums of logarithms have the sums of their parts.
type Parts struct {
	All    float64
	Rounds []float64
	// Exact is set when every round gave the very same value.
	Exact bool
}

// ValueParts are those of a figure with a value in each round. Errors wrap [ErrInput].
func ValueParts(x []float64) (Parts, error) {
	if len(x) == 0 {
		return Parts{}, fmt.Errorf("%w: no rounds", ErrInput)
	}
	p := Parts{Rounds: make([]float64, len(x)), Exact: constant(x)}
	for r, v := range x {
		if !(v > 0) || math.IsInf(v, 1) {
			return Parts{}, fmt.Errorf("%w: round %d: %v has no logarithm", ErrInput, r, v)
		}
		p.Rounds[r] = math.Log(v)
		p.All += p.Rounds[r] / float64(len(x))
	}
	if p.Exact {
		p.All = p.Rounds[0]
	}
	return p, nil
}

// QuantileParts are those of the q-quantile of all rounds' calls together: the
// jackknife's pseudo-values, as in [QuantileRatio]. From 2 rounds on; errors
// wrap [ErrInput].
func QuantileParts(rounds []*Histogram, q float64) (Parts, error) {
	leave, err := leaveOneOut(rounds, q, DefaultAlpha)
	if err != nil {
		return Parts{}, err
	}
	p := Parts{All: leave.all, Rounds: make([]float64, len(rounds))}
	for r := range rounds {
		p.Rounds[r] = pseudoValue(len(rounds), leave.all, leave.without[r])
	}
	return p, nil
}

// weigh sums up arms by their weights. Those of weight 0 have no part in it.
func weigh(arms []Parts, weights []float64) (sum Parts, err error) {
	if len(arms) != len(weights) {
		return Parts{}, fmt.Errorf("%w: %d arms, %d weights", ErrInput, len(arms), len(weights))
	}
	sum.Exact = true
	for a, w := range weights {
		if w == 0 {
			continue
		}
		if sum.Rounds == nil {
			sum.Rounds = make([]float64, len(arms[a].Rounds))
		}
		if len(arms[a].Rounds) != len(sum.Rounds) {
			return Parts{}, fmt.Errorf("%w: %d rounds of one arm, %d of another", ErrInput, len(sum.Rounds),
				len(arms[a].Rounds))
		}
		sum.All += w * arms[a].All
		for r, v := range arms[a].Rounds {
			sum.Rounds[r] += w * v
		}
		sum.Exact = sum.Exact && arms[a].Exact
	}
	return sum, nil
}

// rest is how far from 0 a sum of exact logarithms may be by rounding alone.
const rest = 1e-12

// LogContrast estimates a weighted sum of logarithms, as the ratio that it is:
// weights 1 and −1 of two arms give what [PairedRatio] does. logs are of the
// same rounds ([ValueParts], [QuantileParts]), at least 2; errors wrap [ErrInput].
func LogContrast(logs []Parts, weights []float64, alpha float64) (Effect, error) {
	sum, err := weigh(logs, weights)
	if err != nil {
		return Effect{}, err
	}
	if err := checkRounds(len(sum.Rounds), alpha); err != nil {
		return Effect{}, err
	}
	if sum.Exact {
		mean := sum.All
		if math.Abs(mean) < rest {
			mean = 0
		}
		ratio := math.Exp(mean)
		if !(ratio > 0) || math.IsInf(ratio, 1) {
			return Effect{}, fmt.Errorf("%w: a ratio beyond all bounds", ErrInput)
		}
		return Effect{
			Ratio: ratio, Low: ratio, High: ratio, Alpha: alpha, Rounds: len(sum.Rounds),
			LogMean: mean, P: signFlip(sum.Rounds), Exact: true,
		}, nil
	}
	_, sd := meanSD(sum.Rounds)
	return newEffect(sum.All, sd, sum.Rounds, alpha)
}

// linear is a weighted sum of figures whose logarithms are given, in shares of
// the figure of arm base, or in their own unit if base is negative; to first
// order in each round's logarithms, so that what all arms share in a round
// cancels where there is a base.
func linear(logs []Parts, weights []float64, base int) (sum Parts, err error) {
	if len(logs) != len(weights) || base >= len(logs) {
		return Parts{}, fmt.Errorf("%w: %d arms, %d weights, base %d", ErrInput, len(logs), len(weights), base)
	}
	under := Parts{Exact: true}
	if base >= 0 {
		under = logs[base]
	} else if len(logs) > 0 {
		under.Rounds = make([]float64, len(logs[0].Rounds))
	}
	sum = Parts{Rounds: make([]float64, len(under.Rounds)), Exact: under.Exact}
	for a, w := range weights {
		if w == 0 {
			continue
		}
		arm := logs[a]
		if len(arm.Rounds) != len(sum.Rounds) {
			return Parts{}, fmt.Errorf("%w: %d rounds of one arm, %d of another", ErrInput, len(sum.Rounds),
				len(arm.Rounds))
		}
		v := w * math.Exp(arm.All-under.All)
		sum.All += v
		for r, l := range arm.Rounds {
			sum.Rounds[r] += v * (1 + (l - arm.All) - (under.Rounds[r] - under.All))
		}
		sum.Exact = sum.Exact && arm.Exact
	}
	if math.IsInf(sum.All, 0) || math.IsNaN(sum.All) {
		return Parts{}, fmt.Errorf("%w: a sum beyond all bounds", ErrInput)
	}
	return sum, nil
}

// LinearContrast estimates a weighted sum of figures, such as a share of a
// difference, by the figure of arm base: 0.1 is a tenth of it. The figures are
// the geometric means whose logarithms' parts logs are; weights 1 and −1 of an
// arm and base give what [LogContrast] does, less 1.
//
// The result is an effect of which Ratio is 1 plus the sum, Low and High its
// bounds, and LogMean and LogSD are of the sum itself, so that [Rule.Judge]
// takes points for percent: they may lie below 0. From 2 rounds on; errors wrap
// [ErrInput].
func LinearContrast(logs []Parts, weights []float64, base int, alpha float64) (Effect, error) {
	sum, err := linear(logs, weights, max(base, 0))
	if err != nil {
		return Effect{}, err
	}
	if err := checkRounds(len(sum.Rounds), alpha); err != nil {
		return Effect{}, err
	}
	e := Effect{Alpha: alpha, Rounds: len(sum.Rounds), LogMean: sum.All, Exact: sum.Exact}
	if sum.Exact {
		if math.Abs(e.LogMean) < rest {
			e.LogMean = 0
		}
	} else {
		_, e.LogSD = meanSD(sum.Rounds)
	}
	w := halfWidth(e.LogSD, e.Rounds, alpha)
	e.Ratio, e.Low, e.High, e.P = 1+e.LogMean, 1+e.LogMean-w, 1+e.LogMean+w, signFlip(sum.Rounds)
	return e, nil
}

// Amount estimates the same sum in the unit of the figures. What the machine's
// speed does from round to round is in its interval. Errors wrap [ErrInput].
func Amount(logs []Parts, weights []float64, alpha float64) (Estimate, error) {
	sum, err := linear(logs, weights, -1)
	if err != nil {
		return Estimate{}, err
	}
	if err := checkRounds(len(sum.Rounds), alpha); err != nil {
		return Estimate{}, err
	}
	w := 0.0
	if !sum.Exact {
		_, sd := meanSD(sum.Rounds)
		w = halfWidth(sd, len(sum.Rounds), alpha)
	}
	return Estimate{Value: sum.All, Low: sum.All - w, High: sum.All + w, Alpha: alpha, Rounds: len(sum.Rounds)}, nil
}
