package stat

import (
	"fmt"
	"math"
)

// Parts has the logarithm of a figure of one arm, and the part of each round in it. The logarithm is the mean of the
// parts or, for quantiles of all rounds, the jackknife's estimate. A sum of logarithms has the sums of their parts.
type Parts struct {
	All    float64
	Rounds []float64
	// Exact reports whether every round gave the same value.
	Exact bool
}

// ValueParts returns the parts of a figure with one value in each round. Errors wrap [ErrInput].
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

// QuantileParts returns the parts of the q-quantile of all rounds' calls together: the jackknife's pseudo-values, as
// in [QuantileRatio]. It needs 2 rounds; errors wrap [ErrInput].
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

// weigh adds up arms with their weights. Arms with weight 0 are ignored.
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

// rest is the largest distance from 0 that rounding alone can cause in a sum of exact logarithms.
const rest = 1e-12

// LogContrast estimates a weighted sum of logarithms, and returns it as a ratio: weights 1 and −1 of two arms give
// the result of [PairedRatio]. logs must be from the same rounds ([ValueParts], [QuantileParts]), at least 2. Errors
// wrap [ErrInput].
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

// linear is a weighted sum of figures whose logarithms are given. The unit is the figure of arm base or, if base is
// negative, that of the figures. It is computed to first order in each round's logarithms. So, with a base, changes
// that all arms share in a round cancel.
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

// LinearContrast estimates a weighted sum of figures, such as a share of a difference, in units of the figure of arm
// base: 0.1 is a tenth of it. The figures are the geometric means whose logarithms have the parts logs. Weights 1 and
// −1 of an arm and base give the result of [LogContrast], minus 1.
//
// The result is an effect whose Ratio is 1 plus the sum, with its bounds in Low and High. LogMean and LogSD are those
// of the sum itself, so that [Rule.Judge] treats percentage points as percent. The bounds may be below 0. It needs 2
// rounds; errors wrap [ErrInput].
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

// Amount estimates the same sum in the unit of the figures. Its interval includes changes of the machine's speed
// between rounds. Errors wrap [ErrInput].
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
