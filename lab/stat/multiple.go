package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// JointP is the p-value of "no difference" on which both tests agree: the larger of the sign-flip test's and the
// t-test's. If it is below e.Alpha, [Rule.Judge] considers the difference proved. An exact ratio is known: the value
// is 1 if the arms are equal, or else 0.
func (e Effect) JointP() float64 {
	if e.Exact {
		if e.LogMean == 0 {
			return 1
		}
		return 0
	}
	return max(e.P, e.tTestP())
}

// tTestP is the two-sided p-value of the t-test on the rounds' log ratios.
func (e Effect) tTestP() float64 {
	se := e.LogSD / math.Sqrt(float64(e.Rounds))
	switch {
	case e.LogMean == 0:
		return 1
	case se == 0:
		return 0
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: float64(e.Rounds - 1)}.CDF(-math.Abs(e.LogMean)/se)
}

// Holm adjusts p-values. If those below α are claimed, the probability of any false claim is at most α, however the
// tests depend on each other. The result is in the order of p. Each value is at least as large as before, and at most
// 1.
func Holm(p []float64) []float64 {
	adjusted, least := make([]float64, len(p)), 0.0
	for i, at := range ascending(p) {
		least = max(least, min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = least
	}
	return adjusted
}

// BenjaminiHochberg adjusts p-values. Among the claims made below q, on average at most a share q is false. It finds
// more than [Holm] and guarantees less; it is for metrics other than the primary one.
func BenjaminiHochberg(p []float64) []float64 {
	adjusted, most := make([]float64, len(p)), 1.0
	order := ascending(p)
	for i := len(order) - 1; i >= 0; i-- {
		most = min(most, p[order[i]]*float64(len(p))/float64(i+1))
		adjusted[order[i]] = most
	}
	return adjusted
}

// RoundsForFamily is the smallest number of rounds with which the sign-flip test can prove one of a number of
// differences after [Holm]: the smallest R with comparisons · 2/2^R < alpha.
func RoundsForFamily(comparisons int, alpha float64) int {
	return int(math.Floor(math.Log2(2*float64(max(1, comparisons))/alpha))) + 1
}

// ascending returns the indices of p by ascending value; equal values keep their order.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	return order
}
