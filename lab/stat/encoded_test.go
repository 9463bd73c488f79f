package stat

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// A histogram that was decoded, and not changed since, returns the same values as the recorded one. It needs memory
// for its bytes only, and not for all buckets. Later additions are counted.
func TestDecodedAnswersAlike(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(9, 9))
	for _, values := range [][]int64{{}, {0}, {0, 1, 5}, {int64(Limit), 3}, {2047, 2048, 2049}, drawn(random, 3000)} {
		h := &Histogram{}
		for _, v := range values {
			h.Record(v)
		}
		data, err := h.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		read := func() *Histogram {
			d := &Histogram{}
			if err := d.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := read()
		for _, q := range []float64{0, 0.01, 0.5, 0.99, 1} {
			if d.Quantile(q) != h.Quantile(q) {
				t.Errorf("%d values: quantile %v is %d, recorded %d", len(values), q, d.Quantile(q), h.Quantile(q))
			}
		}
		for _, v := range append([]int64{0, 1, 1e6, int64(Limit)}, values[:min(3, len(values))]...) {
			if d.CountAtMost(v) != h.CountAtMost(v) {
				t.Errorf("%d values: at most %d are %d, recorded %d", len(values), v, d.CountAtMost(v),
					h.CountAtMost(v))
			}
		}
		again, err := d.MarshalBinary()
		if d.Mean() != h.Mean() || d.StdDev() != h.StdDev() || d.Clipped() != h.Clipped() ||
			!slices.Equal(d.Buckets(), h.Buckets()) ||
			err != nil || !bytes.Equal(again, data) {
			t.Errorf("%d values: another mean, deviation, end or form; %v", len(values), err)
		}
		if d.counts != nil {
			t.Errorf("%d values: reading made room for all buckets", len(values))
		}
		both := h.Clone()
		both.Merge(d)
		d.Merge(h)
		other := read()
		other.Record(7)
		other.subtract(h)
		if !slices.Equal(d.Buckets(), both.Buckets()) || other.Count() != 1 ||
			other.CountAtMost(7)-other.CountAtMost(6) != 1 {
			t.Errorf("%d values: what was added is not there", len(values))
		}
		if d = read(); len(values) > 0 {
			d.Reset()
			if d.Count() != 0 || d.Quantile(1) != 0 {
				t.Error("not empty")
			}
		}
	}
}

func drawn(random *rand.Rand, n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(random.ExpFloat64() * 1e6)
	}
	return values
}
