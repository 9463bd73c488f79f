package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	// enumerated is the maximum number of rounds for which all 2^n sign patterns are tried: 2^20.
	enumerated = 20
	flips      = 100_000
)

// signFlip is the two-sided p-value of "the rounds' differences are as likely to be positive as negative": the share
// of the 2^n sign patterns whose sum is at least as far from 0 as the observed one. It assumes no distribution, only
// that each difference is symmetric about 0 if the arms are equal.
func signFlip(d []float64) float64 {
	seen, size := 0.0, 0.0
	for _, v := range d {
		seen += v
		size += math.Abs(v)
	}
	// Sums of the same numbers in another order differ in the last bits. Ties must remain ties, since the observed
	// pattern is one of those counted.
	threshold := math.Abs(seen) - 1e-12*size
	if len(d) <= enumerated {
		return enumerate(d, threshold)
	}
	return sample(d, threshold)
}

// sample draws random patterns instead. Each byte of a draw chooses the signs of eight rounds, whose sum is looked up
// in a table. So 40 rounds need five additions for a pattern.
func sample(d []float64, threshold float64) float64 {
	var sums [][256]float64
	for eight := range slices.Chunk(d, 8) {
		sums = append(sums, signed(eight))
	}
	// The seed is a constant, so that the same rounds give the same p.
	r := rand.New(rand.NewPCG(0x7369676e, 0x666c6970))
	extreme := 1 // the observed pattern
	for range flips {
		sum, word := 0.0, uint64(0)
		for i := range sums {
			if i%8 == 0 {
				word = r.Uint64()
			}
			sum += sums[i][byte(word)]
			word >>= 8
		}
		if math.Abs(sum) >= threshold {
			extreme++
		}
	}
	return float64(extreme) / (flips + 1)
}

// signed returns the sums of at most eight numbers. Those whose bits are set in the index are negated.
func signed(d []float64) (sums [256]float64) {
	for pattern := range sums {
		for i, v := range d {
			if pattern>>i&1 == 1 {
				v = -v
			}
			sums[pattern] += v
		}
	}
	return sums
}

// enumerate counts every pattern. The patterns of each half are summed and sorted, and a walk along both lists counts
// the pairs that are far enough from 0. 20 rounds need two lists of 1,024 instead of a million sums.
func enumerate(d []float64, threshold float64) float64 {
	left, right := patterns(d[:len(d)/2]), patterns(d[len(d)/2:])
	if threshold <= 0 {
		return 1 // every sum is that far from 0
	}
	// For each x of left, ascending, right[high:] are those with x+y >= threshold. A pattern and its opposite are
	// equally far from 0, so the other side has the same count.
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
