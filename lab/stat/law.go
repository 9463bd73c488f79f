package stat

import (
	"fmt"
	"math"
)

// ExponentialCritical is the 1 % critical value of the modified Anderson-Darling statistic for exponential values
// with an estimated mean (M. A. Stephens, J. Am. Stat. Assoc. 69, 1974).
const ExponentialCritical = 1.957

// ExponentialFit tests whether the durations in h are exponential with a mean estimated from them, as the gaps of
// Poisson arrivals are. a2 is the Anderson-Darling statistic, modified for n. plausible reports whether a2 is below
// the value that 99 of 100 exponential samples stay below. The widths of the buckets do not matter below about 10⁶
// values. There must be 10 values that are not all 0; otherwise the error wraps [ErrInput].
func ExponentialFit(h *Histogram) (a2 float64, plausible bool, err error) {
	if h.Count() < 10 || h.Max() == 0 {
		return 0, false, fmt.Errorf("%w: %d values are too few, or all are 0", ErrInput, h.Count())
	}
	n, sum := float64(h.Count()), 0.0
	for _, b := range h.Buckets() {
		sum += float64(b.Count) * b.center()
	}
	mean := sum / n
	// The textbook sum, with the weights of equal values added up: 2i−1 over the ranks c+1..c+k is (c+k)² − c².
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

// center is the mean of a bucket's values. Durations are whole nanoseconds, rounded down, so even 0 stands for half a
// nanosecond.
func (b Bucket) center() float64 { return (float64(b.Low) + float64(b.High) + 1) / 2 }
