package stat

import (
	"fmt"
	"math"
)

// ExponentialCritical is the value that the modified Anderson-Darling
// statistic of exponential values with an estimated mean exceeds in 1 % of
// samples (M. A. Stephens, J. Am. Stat. Assoc. 69, 1974).
const ExponentialCritical = 1.957

// ExponentialFit tests whether the durations in h are exponential, with a
// mean taken from them, as the gaps of Poisson arrivals are. a2 is the
// Anderson-Darling statistic, modified for n; plausible is whether it is one
// that 99 of 100 exponential samples stay below. The widths of the buckets
// do not matter below about 10⁶ values. It needs 10 values, not all 0; else
// the error wraps [ErrInput].
func ExponentialFit(h *Histogram) (a2 float64, plausible bool, err error) {
	if h.Count() < 10 || h.Max() == 0 {
		return 0, false, fmt.Errorf("%w: %d values are too few, or all are 0", ErrInput, h.Count())
	}
	n, sum := float64(h.Count()), 0.0
	for _, b := range h.Buckets() {
		sum += float64(b.Count) * b.center()
	}
	mean := sum / n
	// The textbook sum, with the weights of equal values added up: 2i−1 for
	// ranks c+1..c+k sums to (c+k)² − c².
	terms, c := 0.0, 0.0
	for _, b := range h.Buckets() {
		k, x := float64(b.Count), b.center()/mean
		terms += ((c+k)*(c+k) - c*c) * math.Log(-math.Expm1(-x))
		terms -= ((n-c)*(n-c) - (n-c-k)*(n-c-k)) * x
		c += k
	}
	a2 = (-n - terms/n) * (1 + 0.6/n)
	return a2, a2 < ExponentialCritical, nil
}

// center is where a bucket's values are on average. Durations are whole
// nanoseconds, rounded down, so even 0 stands for half of one.
func (b Bucket) center() float64 { return (float64(b.Low) + float64(b.High) + 1) / 2 }
