package stat

import (
	"fmt"
	"math"
)

// Estimate is one arm's quantile in nanoseconds, or another figure in its unit, with its interval.
type Estimate struct {
	Value     float64 // of all rounds merged, for a quantile
	Low, High float64 // Invariant: Low <= Value <= High
	Alpha     float64 // probability that the interval misses
	Rounds    int
}

// QuantileRatio compares the q-quantile of two arms from the histograms of their paired rounds. The ratio is that of
// the quantiles of all rounds merged, since a mean of the tails of small rounds is biased. The interval is the
// jackknife's, leaving out one round of both arms at a time, because rounds are independent while requests of one run
// are not. P flips the signs of the jackknife's pseudo-values. Whether there are enough requests for q is checked by
// [Tail]. Errors wrap [ErrInput].
func QuantileRatio(a, b []*Histogram, q, alpha float64) (Effect, error) {
	if len(a) != len(b) {
		return Effect{}, fmt.Errorf("%w: %d rounds of A, %d of B", ErrInput, len(a), len(b))
	}
	leaveA, err := leaveOneOut(a, q, alpha)
	if err != nil {
		return Effect{}, fmt.Errorf("arm A: %w", err)
	}
	leaveB, err := leaveOneOut(b, q, alpha)
	if err != nil {
		return Effect{}, fmt.Errorf("arm B: %w", err)
	}
	theta := leaveB.all - leaveA.all
	pseudo := make([]float64, len(a))
	for r := range a {
		pseudo[r] = pseudoValue(len(a), theta, leaveB.without[r]-leaveA.without[r])
	}
	_, sd := meanSD(pseudo)
	return newEffect(theta, sd, pseudo, alpha)
}

// QuantileInterval estimates one arm's q-quantile from its rounds, by the same jackknife on logarithms. Errors wrap
// [ErrInput].
func QuantileInterval(rounds []*Histogram, q, alpha float64) (Estimate, error) {
	all, err := QuantileIntervals(rounds, []float64{q}, alpha)
	if err != nil {
		return Estimate{}, err
	}
	return all[0], nil
}

// QuantileIntervals is [QuantileInterval] for several quantiles. The rounds are merged and left out once for all of
// them.
func QuantileIntervals(rounds []*Histogram, qs []float64, alpha float64) ([]Estimate, error) {
	leave, err := leaveOut(rounds, qs, alpha)
	if err != nil {
		return nil, err
	}
	all := make([]Estimate, len(qs))
	for i := range qs {
		pseudo := make([]float64, len(rounds))
		for r := range rounds {
			pseudo[r] = pseudoValue(len(rounds), leave[i].all, leave[i].without[r])
		}
		_, sd := meanSD(pseudo)
		if all[i], err = newEstimate(leave[i].all, sd, len(rounds), alpha); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// pseudoValue is the pseudo-value of round r: n·θ − (n−1)·θ without r.
func pseudoValue(n int, theta, without float64) float64 {
	return float64(n)*theta - float64(n-1)*without
}

// leftOut has the logarithm of a quantile of all rounds merged, and of all rounds but each one.
type leftOut struct {
	all     float64
	without []float64
}

func leaveOneOut(rounds []*Histogram, q, alpha float64) (leftOut, error) {
	all, err := leaveOut(rounds, []float64{q}, alpha)
	if err != nil {
		return leftOut{}, err
	}
	return all[0], nil
}

// leaveOut is leaveOneOut for several quantiles.
func leaveOut(rounds []*Histogram, qs []float64, alpha float64) ([]leftOut, error) {
	if err := checkRounds(len(rounds), alpha); err != nil {
		return nil, err
	}
	for _, q := range qs {
		if !(q > 0 && q < 1) {
			return nil, fmt.Errorf("%w: quantile %v is not between 0 and 1", ErrInput, q)
		}
	}
	pool := &Histogram{}
	for r, h := range rounds {
		if h.Count() == 0 {
			return nil, fmt.Errorf("%w: round %d is empty", ErrInput, r)
		}
		pool.Merge(h)
	}
	all := make([]leftOut, len(qs))
	for i, q := range qs {
		all[i] = leftOut{all: math.Log(float64(pool.Quantile(q))), without: make([]float64, len(rounds))}
	}
	for r, h := range rounds {
		pool.subtract(h)
		for i, q := range qs {
			all[i].without[r] = math.Log(float64(pool.Quantile(q)))
			if math.IsInf(all[i].without[r], -1) {
				return nil, fmt.Errorf("%w: without round %d the quantile is 0 ns", ErrInput, r)
			}
		}
		pool.Merge(h)
	}
	for i := range all {
		if math.IsInf(all[i].all, -1) {
			return nil, fmt.Errorf("%w: the quantile is 0 ns", ErrInput)
		}
	}
	return all, nil
}

// subtract reverses Merge(other). The range in use is not reduced.
func (h *Histogram) subtract(other *Histogram) {
	other.addTo(h.counts, h.base, ^uint64(0))
	h.total -= other.total
}

// The tail rule: a quantile is printed only if this many requests are beyond it, in total and in every round. With
// fewer, it would describe only a few requests.
const (
	tailTotal    = 100
	tailPerRound = 10
)

// TailCheck says whether there are enough requests for a quantile.
type TailCheck struct {
	Quantile float64
	// Have and Need are the requests in total, HaveInRound and NeedInRound those in the smallest round.
	Have, Need               uint64
	HaveInRound, NeedInRound uint64
}

// OK reports whether the quantile may be printed.
func (c TailCheck) OK() bool { return c.Have >= c.Need && c.HaveInRound >= c.NeedInRound }

// Tail applies the tail rule to a quantile q, 0 < q < 1: at least 100 requests beyond it in total and 10 in every
// round. For q below the median, "beyond" means below the quantile. For any other q, Need cannot be reached.
func Tail(q float64, rounds []*Histogram) TailCheck {
	c := TailCheck{Quantile: q, Need: tailNeed(q, tailTotal), NeedInRound: tailNeed(q, tailPerRound)}
	for r, h := range rounds {
		n := h.Count()
		c.Have += n
		if r == 0 || n < c.HaveInRound {
			c.HaveInRound = n
		}
	}
	return c
}

// tailNeed is the number of requests needed for n beyond the q-quantile.
func tailNeed(q, n float64) uint64 {
	share := min(q, 1-q)
	if !(share > 0) {
		return math.MaxUint64
	}
	need := n / share
	return uint64(math.Ceil(need - 1e-9*need)) // 1−0.999 is not quite 0.001
}
