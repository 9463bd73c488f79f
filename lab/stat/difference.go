package stat

import (
	"fmt"
	"math"
)

// PairedDifference estimates how much larger b is than a, round by round: the mean of b − a with a t interval, in the
// unit of the values. It is for one part of a sum. A comparison of two arms is a ratio: see [PairedRatio]. It needs 2
// rounds; errors wrap [ErrInput].
func PairedDifference(a, b []float64, alpha float64) (Estimate, error) {
	if len(a) != len(b) {
		return Estimate{}, fmt.Errorf("%w: %d rounds of A, %d of B", ErrInput, len(a), len(b))
	}
	if err := checkRounds(len(a), alpha); err != nil {
		return Estimate{}, err
	}
	d := make([]float64, len(a))
	for r := range a {
		d[r] = b[r] - a[r]
		if math.IsNaN(d[r]) || math.IsInf(d[r], 0) {
			return Estimate{}, fmt.Errorf("%w: round %d: %v and %v have no difference", ErrInput, r, a[r], b[r])
		}
	}
	mean, sd := meanSD(d)
	w := halfWidth(sd, len(d), alpha)
	return Estimate{Value: mean, Low: mean - w, High: mean + w, Alpha: alpha, Rounds: len(d)}, nil
}
