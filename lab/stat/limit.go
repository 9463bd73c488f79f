package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Beyond is the two-sided p-value of "the true value is limit". It is below e.Alpha exactly if the interval excludes
// limit. The caller must check on which side of it the value lies. It is for intervals that are symmetric on
// logarithms, as all of this package are except those of [Share]. For an interval without width it is 0, or 1 at the
// limit itself. limit must be above 0.
func (e Estimate) Beyond(limit float64) float64 {
	se := e.deviation() / math.Sqrt(float64(e.Rounds))
	away := math.Abs(math.Log(e.Value) - math.Log(limit))
	switch {
	case away == 0 || math.IsNaN(away) || math.IsNaN(se):
		return 1
	case se == 0:
		return 0
	}
	return min(1, 2*distuv.StudentsT{Sigma: 1, Nu: float64(e.Rounds - 1)}.CDF(-away/se))
}

// RoundsToClear is the total number of rounds with which an interval at alpha would exclude limit, if value and
// spread stayed the same. It is at most 1,000,000. That is also the result for a value at the limit, for which no
// number is enough.
func (e Estimate) RoundsToClear(limit, alpha float64) int {
	away := math.Abs(math.Log(e.Value) - math.Log(limit))
	if !(away > 0) || checkRounds(e.Rounds, alpha) != nil {
		return maxRoundsNeeded
	}
	return Effect{Alpha: alpha, LogSD: e.deviation()}.RoundsNeeded(math.Expm1(min(away, 10)))
}

// deviation is the standard deviation of the rounds' logarithms from which the interval was computed.
func (e Estimate) deviation() float64 {
	if e.Rounds < 2 || !(e.Low > 0) {
		return math.NaN()
	}
	half := (math.Log(e.High) - math.Log(e.Low)) / 2
	return half * math.Sqrt(float64(e.Rounds)) / tQuantile(1-e.Alpha/2, e.Rounds-1)
}

// Share estimates the share of all calls that failed: failed[r] of sent[r] in round r. On each side, its interval is
// the wider of two. The Clopper-Pearson interval is exact if calls fail independently, and is the only one that says
// anything if none failed. The t interval over rounds allows for bursts of failures. Low is at least 0, High at most
// 1. There must be 2 rounds, each with at least one call and no more failures than calls. Otherwise the error wraps
// [ErrInput].
func Share(failed, sent []uint64, alpha float64) (Estimate, error) {
	if len(failed) != len(sent) {
		return Estimate{}, fmt.Errorf("%w: %d rounds of failures, %d of calls", ErrInput, len(failed), len(sent))
	}
	if err := checkRounds(len(sent), alpha); err != nil {
		return Estimate{}, err
	}
	var x, n float64
	for r := range sent {
		if sent[r] == 0 || failed[r] > sent[r] {
			return Estimate{}, fmt.Errorf("%w: round %d: %d of %d calls failed", ErrInput, r, failed[r], sent[r])
		}
		x += float64(failed[r])
		n += float64(sent[r])
	}
	e := Estimate{Value: x / n, Low: 0, High: 1, Alpha: alpha, Rounds: len(sent)}
	if x > 0 {
		e.Low = distuv.Beta{Alpha: x, Beta: n - x + 1}.Quantile(alpha / 2)
	}
	if x < n {
		e.High = distuv.Beta{Alpha: x + 1, Beta: n - x}.Quantile(1 - alpha/2)
	}
	// The share is a ratio of two sums, so its spread over rounds is that of the failures of a round beyond its
	// expected share.
	squares := 0.0
	for r := range sent {
		beyond := float64(failed[r]) - e.Value*float64(sent[r])
		squares += beyond * beyond
	}
	rounds := float64(len(sent))
	w := tQuantile(1-alpha/2, len(sent)-1) * math.Sqrt(squares*rounds/(rounds-1)) / n
	e.Low, e.High = max(0, min(e.Low, e.Value-w)), min(1, max(e.High, e.Value+w))
	return e, nil
}
