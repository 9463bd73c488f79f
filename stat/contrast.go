package stat

import (
	"fmt"
	"math"
)

// Parts are a figure of one arm and each round's part in it, of which the
// figure is the mean or, for quantiles of all rounds, the jackknife's estimate.
// Sums of figures have the sums of their parts.
type Parts struct {
	All    float64
	Rounds []float64
	// Exact is set when every round gave the very same value.
	Exact bool
}

// ValueParts are those of a figure with a value in each round: the mean, or
// with log that of the logarithms. Errors wrap [ErrInput].
func ValueParts(x []float64, log bool) (Parts, error) {
	if len(x) == 0 {
		return Parts{}, fmt.Errorf("%w: no rounds", ErrInput)
	}
	p := Parts{Rounds: make([]float64, len(x)), Exact: constant(x)}
	for r, v := range x {
		if log {
			if !(v > 0) || math.IsInf(v, 1) {
				return Parts{}, fmt.Errorf("%w: round %d: %v has no logarithm", ErrInput, r, v)
			}
			v = math.Log(v)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Parts{}, fmt.Errorf("%w: round %d: %v", ErrInput, r, v)
		}
		p.Rounds[r] = v
		p.All += v / float64(len(x))
	}
	if p.Exact {
		p.All = p.Rounds[0]
	}
	return p, nil
}

// QuantileParts are those of the q-quantile of all rounds' calls together, or
// with log of its logarithm: the jackknife's pseudo-values, as in
// [QuantileRatio]. From 2 rounds on; errors wrap [ErrInput].
func QuantileParts(rounds []*Histogram, q float64, log bool) (Parts, error) {
	leave, err := leaveOneOut(rounds, q, DefaultAlpha)
	if err != nil {
		return Parts{}, err
	}
	of := func(v float64) float64 {
		if log {
			return v
		}
		return math.Exp(v)
	}
	p := Parts{All: of(leave.all), Rounds: make([]float64, len(rounds))}
	for r := range rounds {
		p.Rounds[r] = pseudoValue(len(rounds), p.All, of(leave.without[r]))
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
			return Parts{}, fmt.Errorf("%w: %d rounds of one arm, %d of another", ErrInput, len(sum.Rounds), len(arms[a].Rounds))
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
// weights 1 and −1 of two arms give what [PairedRatio] does. arms are the
// logarithms' parts ([ValueParts], [QuantileParts]) over the same rounds, at
// least 2; errors wrap [ErrInput].
func LogContrast(arms []Parts, weights []float64, alpha float64) (Effect, error) {
	sum, err := weigh(arms, weights)
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

// Contrast estimates a weighted sum in the unit of the values, with a t
// interval over rounds: see [LogContrast].
func Contrast(arms []Parts, weights []float64, alpha float64) (Estimate, error) {
	sum, err := weigh(arms, weights)
	if err != nil {
		return Estimate{}, err
	}
	return plain(sum, alpha)
}

func plain(sum Parts, alpha float64) (Estimate, error) {
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

// Points estimates the part of a whole difference on logarithms, in shares of
// the figure that the difference is from: 0.1 are ten percent points. If parts
// add up to the whole on logarithms, their points add up to Ratio − 1 of the
// whole, exactly. A part's points are its logarithm times (e^D − 1)/D, D being
// the whole: the logarithmic mean, by which B. W. Ang (Energy Policy 33, 2005)
// takes differences apart. The interval is that of both together, to first
// order. Errors wrap [ErrInput].
func Points(arms []Parts, part, whole []float64, alpha float64) (Estimate, error) {
	p, err := weigh(arms, part)
	if err != nil {
		return Estimate{}, err
	}
	d, err := weigh(arms, whole)
	if err != nil {
		return Estimate{}, err
	}
	if len(p.Rounds) == 0 {
		p.Rounds = make([]float64, len(d.Rounds)) // a part without weights is 0
	}
	if len(p.Rounds) != len(d.Rounds) {
		return Estimate{}, fmt.Errorf("%w: %d rounds of a part, %d of the whole", ErrInput, len(p.Rounds), len(d.Rounds))
	}
	g, slope := 1.0, 0.5
	if math.Abs(d.All) > 1e-6 {
		g = math.Expm1(d.All) / d.All
		slope = (math.Exp(d.All) - g) / d.All
	}
	sum := Parts{All: g * p.All, Rounds: make([]float64, len(d.Rounds)), Exact: p.Exact && d.Exact}
	for r := range sum.Rounds {
		sum.Rounds[r] = g*p.Rounds[r] + slope*(d.Rounds[r]-d.All)*p.All
	}
	if math.IsInf(sum.All, 0) || math.IsNaN(sum.All) {
		return Estimate{}, fmt.Errorf("%w: a difference beyond all bounds", ErrInput)
	}
	return plain(sum, alpha)
}
