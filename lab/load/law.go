package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// validateLaw reports what is wrong with the schedule's law.
func (s *Schedule) validateLaw() error {
	switch s.Law {
	case "", Even, Poisson:
		return nil
	case LogNormal:
		if !(s.Spread > 0 && s.Spread <= SpreadLimit) {
			return fmt.Errorf("%w: log-normal arrivals have spread %v; want more than 0 and up to %d", ErrPlan,
				s.Spread, SpreadLimit)
		}
		return nil
	case Recorded, Sampled:
		return validateGaps(s.Gaps)
	}
	return fmt.Errorf("%w: unknown law %q; known: %v", ErrPlan, s.Law, Laws())
}

func validateGaps(gaps []time.Duration) error {
	if len(gaps) == 0 || len(gaps) > GapsLimit {
		return fmt.Errorf("%w: a recording of %d gaps; want 1 to %d", ErrPlan, len(gaps), GapsLimit)
	}
	for i, gap := range gaps {
		if gap < 0 || gap > DurationLimit {
			return fmt.Errorf("%w: gap %d of the recording is %v; want 0 to %v", ErrPlan, i, gap, DurationLimit)
		}
	}
	if MeanGap(gaps) == 0 {
		return fmt.Errorf("%w: a recording in which everything arrives at once", ErrPlan)
	}
	return nil
}

// MeanGap returns the mean of gaps, in ns; 0 if there are none.
func MeanGap(gaps []time.Duration) float64 {
	sum := 0.0 // a Duration would overflow at a hundred thousand days
	for _, gap := range gaps {
		sum += float64(gap)
	}
	return sum / float64(max(len(gaps), 1))
}

// SpreadOf returns the coefficient of variation of gaps: standard deviation divided by mean. It is NaN if there is no
// mean.
func SpreadOf(gaps []time.Duration) float64 {
	mean, squares := MeanGap(gaps), 0.0
	for _, gap := range gaps {
		squares += (float64(gap) - mean) * (float64(gap) - mean)
	}
	return math.Sqrt(squares/float64(max(len(gaps), 1))) / mean
}

// gaps returns a function that returns the next gap, in units of the mean gap.
func (s *Schedule) gaps() func() float64 {
	random := rand.New(rand.NewPCG(s.Seed, 0x706f6973)) // the second word only separates this use of the seed
	switch s.Law {
	case Poisson:
		return random.ExpFloat64
	case LogNormal:
		// exp(N(μ, σ²)) has mean exp(μ + σ²/2) and squared coefficient of
		// variation exp(σ²) - 1, so these give mean 1 and the spread.
		variance := math.Log1p(s.Spread * s.Spread)
		deviation := math.Sqrt(variance)
		return func() float64 { return math.Exp(deviation*random.NormFloat64() - variance/2) }
	case Recorded, Sampled:
		mean, next := MeanGap(s.Gaps), 0
		return func() float64 {
			at := next % len(s.Gaps)
			next++
			if s.Law == Sampled {
				at = random.IntN(len(s.Gaps))
			}
			return float64(s.Gaps[at]) / mean
		}
	}
	return func() float64 { return 1 }
}

// DrawGaps draws n gaps of the schedule's law at an average rate per second, to make a recording from them. The
// schedule must be valid.
func (s *Schedule) DrawGaps(n int, rate float64) []time.Duration {
	next := s.gaps()
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(math.Round(next() / rate * 1e9))
	}
	return slices.Clip(all)
}
