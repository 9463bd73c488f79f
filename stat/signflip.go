package stat

import (
	"math"
	"math/bits"
	"math/rand/v2"
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

// enumerate tries every pattern. The first sign is held, since a pattern and
// its opposite are equally far from 0.
func enumerate(d []float64, threshold float64) float64 {
	rest := d[1:]
	extreme := 0
	var try func(sum float64, at int)
	try = func(sum float64, at int) {
		if at == len(rest) {
			if math.Abs(sum) >= threshold {
				extreme++
			}
			return
		}
		try(sum+rest[at], at+1)
		try(sum-rest[at], at+1)
	}
	try(d[0], 0)
	return float64(extreme) / math.Exp2(float64(len(rest)))
}
