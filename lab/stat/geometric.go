package stat

import (
	"fmt"
	"math"
)

// GeometricMean estimates one arm's value from its rounds: the mean of the logarithms with a t interval, consistent
// with the ratios of [PairedRatio]. Values must be positive and finite, and there must be at least 2 rounds. Errors
// wrap [ErrInput]. The estimate has the unit of x.
func GeometricMean(x []float64, alpha float64) (Estimate, error) {
	if err := checkRounds(len(x), alpha); err != nil {
		return Estimate{}, err
	}
	logs := make([]float64, len(x))
	for r, v := range x {
		if !(v > 0) || math.IsInf(v, 1) {
			return Estimate{}, fmt.Errorf("%w: round %d: %v has no logarithm", ErrInput, r, v)
		}
		logs[r] = math.Log(v)
	}
	if constant(x) {
		return Estimate{Value: x[0], Low: x[0], High: x[0], Alpha: alpha, Rounds: len(x)}, nil
	}
	mean, sd := meanSD(logs)
	return newEstimate(mean, sd, len(x), alpha)
}

// newEstimate is the t interval around a mean of n logarithms with standard deviation sd, converted back from
// logarithms.
func newEstimate(mean, sd float64, n int, alpha float64) (Estimate, error) {
	w := halfWidth(sd, n, alpha)
	e := Estimate{Value: math.Exp(mean), Low: math.Exp(mean - w), High: math.Exp(mean + w), Alpha: alpha, Rounds: n}
	if !(e.Low > 0) || math.IsInf(e.High, 1) {
		return Estimate{}, fmt.Errorf("%w: the rounds differ too much for an interval (sd of logs %v)", ErrInput, sd)
	}
	return e, nil
}

// halfWidth is half the width of the t interval at confidence 1 − alpha
// around a mean of n values with standard deviation sd.
func halfWidth(sd float64, n int, alpha float64) float64 {
	return tQuantile(1-alpha/2, n-1) * sd / math.Sqrt(float64(n))
}
