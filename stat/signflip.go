package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

const (
	// enumerated is the most rounds for which every pattern of signs is tried: 2^20.
	enumerated = 20
	flips      = 100_000
)

// signFlip is the two-sided p-value of "the rounds' differences are as likely
// to be positive as negative": the share of the 2^n patterns of signs whose
// sum is at least as far from 0 as the one seen. It assumes no distribution,
// only that each difference is symmetric about 0 if the arms are alike.
func signFlip(d []float64) float64 {
	seen, size := 0.0, 0.0
	for _, v := range d {
		seen += v
		size += math.Abs(v)
	}
	// Sums of the same numbers in another order differ in the last bits; a
	// tie must stay a tie, since the seen pattern is one of those counted.
	threshold := math.Abs(seen) - 1e-12*size
	if len(d) <= enumerated {
		return enumerate(d, threshold)
	}
	// The flips are seeded by a constant: the same rounds give the same p.
	r := rand.New(rand.NewPCG(0x7369676e, 0x666c6970))
	extreme := 1 // the pattern seen
	for range flips {
		sum := 0.0
		for at := 0; at < len(d); at += 64 {
			word := r.Uint64()
			for _, v := range d[at:min(at+64, len(d))] {
				// The lowest bit becomes v's sign.
				sum += math.Float64frombits(math.Float64bits(v) ^ word<<63)
				word = bits.RotateLeft64(word, -1)
			}
		}
		if math.Abs(sum) >= threshold {
			extreme++
		}
	}
	return float64(extreme) / (flips + 1)
}

// enumerate counts every pattern: the patterns of each half are summed and
// sorted, and a walk along both lists counts the pairs far enough out. 20
// rounds cost two lists of 1,024 instead of a million sums.
func enumerate(d []float64, threshold float64) float64 {
	left, right := patterns(d[:len(d)/2]), patterns(d[len(d)/2:])
	if threshold <= 0 {
		return 1 // every sum is that far out
	}
	// For each x of left, ascending, right[high:] are those with x+y >=
	// threshold. A pattern and its opposite are equally far from 0, so the
	// other side counts as many.
	extreme, high := 0, len(right)
	for _, x := range left {
		for high > 0 && x+right[high-1] >= threshold {
			high--
		}
		extreme += len(right) - high
	}
	return 2 * float64(extreme) / math.Exp2(float64(len(d)))
}

// patterns returns the sums of d under all patterns of signs, ascending.
func patterns(d []float64) []float64 {
	sums := make([]float64, 1, 1<<len(d))
	for _, v := range d {
		for _, sum := range sums {
			sums = append(sums, sum-v)
		}
		for i := range len(sums) / 2 {
			sums[i] += v
		}
	}
	slices.Sort(sums)
	return sums
}
