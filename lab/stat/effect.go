package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Effect is how arm B differs from arm A in one metric, as the ratio B/A over paired rounds. It is computed on
// logarithms, so that swapping the arms gives exactly the reciprocal. All numbers are finite.
type Effect struct {
	// Ratio is B/A. (Ratio−1)·100 is the difference in percent of A.
	Ratio float64
	// Low and High bound the ratio at confidence 1 − Alpha.
	// Invariant: Low <= Ratio <= High.
	Low, High float64
	Alpha     float64 // probability that the interval misses, 0 to 1
	Rounds    int     // at least 2
	// LogMean is ln Ratio; LogSD the standard deviation of the rounds' log
	// ratios (of their pseudo-values, for a quantile).
	LogMean, LogSD float64
	// P is the two-sided p-value of the sign-flip test of "no difference". It is exact up to 20 rounds, and estimated
	// from 100,000 flips above that.
	P float64
	// Exact reports whether each arm gave the same value in every round, as counts of bytes do. The ratio is then
	// known, not estimated. Its interval has no width, and P, which is at best 2/2^Rounds, says nothing about it.
	Exact bool
	// Disturbed is set by [Effect.Widen]: the interval includes more than random error.
	Disturbed bool
}

// Widen extends the interval for a ratio that may be too high by the share high of itself, or too low by the share
// low; 0 ≤ share < 1.
func (e Effect) Widen(high, low float64) Effect {
	if high > 0 || low > 0 {
		e.Low, e.High, e.Disturbed, e.Exact = e.Low*(1-high), e.High/(1-low), true, false
	}
	return e
}

// PairedRatio compares a[r] with b[r], the metric's values of the two arms in round r. Values must be positive and
// finite, alpha from 1e-9 to below 1, and there must be at least 2 rounds. Otherwise the error wraps [ErrInput].
func PairedRatio(a, b []float64, alpha float64) (Effect, error) {
	if len(a) != len(b) {
		return Effect{}, fmt.Errorf("%w: %d rounds of A, %d of B", ErrInput, len(a), len(b))
	}
	if err := checkRounds(len(a), alpha); err != nil {
		return Effect{}, err
	}
	d := make([]float64, len(a))
	for r := range a {
		for _, v := range [...]float64{a[r], b[r]} {
			if !(v > 0) || math.IsInf(v, 1) {
				return Effect{}, fmt.Errorf("%w: round %d: %v has no logarithm", ErrInput, r, v)
			}
		}
		d[r] = math.Log(b[r]) - math.Log(a[r])
	}
	if ratio := b[0] / a[0]; constant(a) && constant(b) && ratio > 0 && !math.IsInf(ratio, 1) {
		return Effect{
			Ratio: ratio, Low: ratio, High: ratio, Alpha: alpha, Rounds: len(a),
			LogMean: d[0], P: signFlip(d), Exact: true,
		}, nil
	}
	mean, sd := meanSD(d)
	return newEffect(mean, sd, d, alpha)
}

// newEffect builds the interval around mean from n = len(d) values with
// standard deviation sd, and tests d.
func newEffect(mean, sd float64, d []float64, alpha float64) (Effect, error) {
	around, err := newEstimate(mean, sd, len(d), alpha)
	if err != nil {
		return Effect{}, err
	}
	return Effect{
		Ratio: around.Value, Low: around.Low, High: around.High,
		LogMean: mean, LogSD: sd, Alpha: alpha, Rounds: len(d), P: signFlip(d),
	}, nil
}

// HalfWidth is half the width of the interval of ln Ratio at confidence 1 − alpha: t·LogSD/√Rounds. Near 0 it is
// about a fraction: 0.03 is ±3 %.
func (e Effect) HalfWidth(alpha float64) float64 {
	return halfWidth(e.LogSD, e.Rounds, alpha)
}

// Equivalence is the p-value of two one-sided t-tests of "the arms differ by eps or more". eps > 0 is a fraction. The
// margin is a factor 1+eps in both directions, so that it does not matter which arm is called A. If the p-value is
// below α, the interval of confidence 1 − 2α lies inside the margin.
func (e Effect) Equivalence(eps float64) float64 {
	room := math.Log1p(eps) - math.Abs(e.LogMean)
	se := e.LogSD / math.Sqrt(float64(e.Rounds))
	if se == 0 {
		if room > 0 {
			return 0
		}
		return 1
	}
	return 1 - distuv.StudentsT{Sigma: 1, Nu: float64(e.Rounds - 1)}.CDF(room/se)
}

// maxRoundsNeeded bounds [Effect.RoundsNeeded]. More rounds are not realistic.
const maxRoundsNeeded = 1_000_000

// RoundsNeeded is the total number of rounds for an interval of ±eps (a fraction, > 0) at e.Alpha, if the rounds'
// spread stays the same: the smallest N >= 2 with t·LogSD/√N <= ln(1+eps), at most 1,000,000.
func (e Effect) RoundsNeeded(eps float64) int {
	target := math.Log1p(eps)
	enough := func(n int) bool {
		return tQuantile(1-e.Alpha/2, n-1)*e.LogSD <= target*math.Sqrt(float64(n))
	}
	// The normal quantile is below every t quantile, so it gives a lower bound. The result is rarely more than three
	// rounds above it.
	z := distuv.UnitNormal.Quantile(1 - e.Alpha/2)
	least := math.Ceil(z * e.LogSD / target * z * e.LogSD / target)
	if !(least < maxRoundsNeeded) {
		return maxRoundsNeeded
	}
	n := max(2, int(least))
	for n < maxRoundsNeeded && !enough(n) {
		n++
	}
	return n
}

// MDE is the smallest difference, as a fraction of A, that the same number of rounds with this spread would find in
// 80 of 100 repetitions: e^((t_{1−α/2}+t_{.80})·LogSD/√R) − 1. It is finite, as JSON requires, even if that
// overflows.
func (e Effect) MDE() float64 {
	t := tQuantile(1-e.Alpha/2, e.Rounds-1) + tQuantile(0.80, e.Rounds-1)
	return min(math.MaxFloat64, math.Expm1(t*e.LogSD/math.Sqrt(float64(e.Rounds))))
}

// alphaLeast is the smallest alpha. Below it, 1 − alpha/2 is too close to 1 in floating point, and t too close to
// infinity.
const alphaLeast = 1e-9

// tQuantile is the p-quantile of Student's t with nu degrees of freedom.
func tQuantile(p float64, nu int) float64 {
	if nu < 1 {
		return math.MaxFloat64 // an effect of fewer than 2 rounds has no interval
	}
	return distuv.StudentsT{Sigma: 1, Nu: float64(nu)}.Quantile(p)
}

func checkRounds(n int, alpha float64) error {
	if n < 2 {
		return fmt.Errorf("%w: %d rounds, an interval needs 2", ErrInput, n)
	}
	if !(alpha >= alphaLeast && alpha < 1) {
		return fmt.Errorf("%w: alpha %v is not within %v and 1", ErrInput, alpha, alphaLeast)
	}
	return nil
}

func constant(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}

// meanSD returns the mean and the standard deviation (n − 1 below).
func meanSD(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / float64(len(x)-1))
}
