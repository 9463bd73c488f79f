package stat

import (
	"math"
	"math/bits"
	"time"
)

// Limit is the longest duration a [Histogram] tells apart. What is longer is
// counted at the limit.
const Limit = time.Hour

// The layout is that of HdrHistogram with 3 significant digits from 1 ns:
// values below 2,048 are exact; above, every doubling has 1,024 buckets of
// equal width, so that a bucket is at most 1/1024 of its value wide.
const (
	halfBits   = 10 // log2 of the buckets in a doubling
	half       = 1 << halfBits
	limit      = int64(Limit)
	bucketsLen = 33 * half // up to the doubling that holds limit
)

// Histogram counts durations in nanoseconds, 1 ns to [Limit], each to within
// 0.1 %. The zero value is empty and ready; it takes memory, 8 KB each, for the
// doublings from its shortest duration to its longest. One from [NewHistogram]
// has all of them, 270 KB, so that recording never allocates. A nil one reads as empty. It has no lock:
// one goroutine records, and readers wait for it.
//
// The counts are kept here rather than in the HdrHistogram library's type,
// which gives no access to them: merging and clearing touch only the range in
// use, which matters when 64 workers are merged after a slice of 30 ms, and
// the quantile is the one this package documents. The library is the twin that
// tests compare with.
type Histogram struct {
	counts []uint64 // those of buckets base to base+len(counts)-1: as many whole doublings as were needed so far
	base   int      // a multiple of half
	total  uint64   // sum of counts
	// The buckets from low to high-1 have every count that is not 0. Both mean nothing when total is 0.
	low, high int
}

// NewHistogram returns an empty histogram whose Record never allocates.
func NewHistogram() *Histogram {
	return &Histogram{counts: make([]uint64, bucketsLen)}
}

// reserve makes room for the buckets low to high-1, 0 <= low < high <= bucketsLen.
func (h *Histogram) reserve(low, high int) {
	end := h.base + len(h.counts)
	if low >= h.base && high <= end {
		return
	}
	low, high = low/half*half, (high+half-1)/half*half
	if len(h.counts) > 0 {
		low, high = min(low, h.base), max(high, end)
	}
	counts := make([]uint64, high-low)
	if len(h.counts) > 0 {
		copy(counts[h.base-low:], h.counts)
	}
	h.base, h.counts = low, counts
}

// bucket is the index of the bucket that holds v, 0 <= v <= limit.
func bucket(v int64) int {
	// v|(2·half-1) makes small values share the first, exact, 2·half buckets.
	shift := bits.Len64(uint64(v)|(2*half-1)) - (halfBits + 1)
	return shift<<halfBits + int(v>>shift)
}

// bounds returns the lowest and highest value of bucket i.
func bounds(i int) (lowest, highest int64) {
	if i < 2*half {
		return int64(i), int64(i)
	}
	shift := i>>halfBits - 1
	lowest = int64(i&(half-1)+half) << shift
	return lowest, lowest + 1<<shift - 1
}

// middle is the value that stands for bucket i in a mean.
func middle(i int) float64 {
	lowest, highest := bounds(i)
	return float64(lowest) + float64(highest-lowest)/2
}

// Record counts one duration in nanoseconds. A negative one counts as 0, one
// beyond [Limit] as Limit; see [Histogram.Clipped]. It does not lock, nor, if
// h is from [NewHistogram], allocate.
func (h *Histogram) Record(v int64) { h.RecordN(v, 1) }

// RecordN counts n durations of v nanoseconds.
func (h *Histogram) RecordN(v int64, n uint64) {
	if n == 0 {
		return
	}
	i := bucket(min(max(v, 0), limit))
	at := i - h.base
	if uint(at) >= uint(len(h.counts)) { // also where it is below 0
		h.reserve(i, i+1)
		at = i - h.base
	}
	h.counts[at] += n
	h.include(i, i+1)
	h.total += n
}

// include widens the range in use to low..high, before what is there is counted.
func (h *Histogram) include(low, high int) {
	if h.total == 0 {
		h.low, h.high = low, high
		return
	}
	h.low, h.high = min(h.low, low), max(h.high, high)
}

// Merge adds what other counted. Nothing is lost: merging and then asking is
// the same as recording everything in one. A nil other adds nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other.Count() == 0 {
		return
	}
	h.reserve(other.low, other.high)
	into := h.between(other.low, other.high)
	for i, n := range other.used() {
		into[i] += n
	}
	h.include(other.low, other.high)
	h.total += other.total
}

// Clone returns an independent copy.
func (h *Histogram) Clone() *Histogram {
	c := &Histogram{}
	c.Merge(h)
	return c
}

// Reset empties the histogram and keeps its memory.
func (h *Histogram) Reset() {
	clear(h.used())
	h.total = 0
}

// Count is how many durations were recorded.
func (h *Histogram) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.total
}

// Clipped is how many durations were at [Limit] or beyond it, and so are
// known only as "at least Limit". Where it is not 0, quantiles that fall
// there are lower bounds. (Durations within 0.1 % below Limit count too.)
func (h *Histogram) Clipped() uint64 {
	if last := bucket(limit); h.Count() > 0 && h.high == last+1 {
		return h.counts[last-h.base]
	}
	return 0
}

// Quantile returns the q-quantile in nanoseconds as the package defines it,
// q in 0 to 1 (0 is the minimum, 1 the maximum; q outside is taken as the
// nearest of them, NaN as 0). An empty histogram answers 0.
func (h *Histogram) Quantile(q float64) int64 {
	if h.Count() == 0 {
		return 0
	}
	left := rank(q, h.total)
	for i, n := range h.used() {
		if n >= left {
			_, highest := bounds(h.low + i)
			return min(highest, limit)
		}
		left -= n
	}
	return limit // not reached: the counts sum to total
}

// rank is ⌈q·n⌉ in 1..n, n > 0. q·n is a product of rounded numbers: 0.07·100
// is a little over 7, and its ceiling would be 8. What is within 1e-9 of a
// whole number is taken as that number.
func rank(q float64, n uint64) uint64 {
	x := q * float64(n)
	r := math.Ceil(x - 1e-9*max(1, x))
	switch {
	case !(r >= 1): // also NaN
		return 1
	case r >= float64(n):
		return n
	}
	return uint64(r)
}

// Mean is the mean in nanoseconds, to within 0.05 %; 0 if empty.
func (h *Histogram) Mean() float64 {
	sum := 0.0
	for i, n := range h.used() {
		sum += float64(n) * middle(h.low+i)
	}
	return sum / max(1, float64(h.Count()))
}

// StdDev is the standard deviation in nanoseconds (n − 1 below); 0 if fewer than 2.
func (h *Histogram) StdDev() float64 {
	if h.Count() < 2 {
		return 0
	}
	mean, squares := h.Mean(), 0.0
	for i, n := range h.used() {
		d := middle(h.low+i) - mean
		squares += float64(n) * d * d
	}
	return math.Sqrt(squares / float64(h.total-1))
}

// Max is the longest duration, to within 0.1 % above; 0 if empty.
func (h *Histogram) Max() int64 { return h.Quantile(1) }

// Min is the shortest duration, to within 0.1 % above; 0 if empty.
func (h *Histogram) Min() int64 { return h.Quantile(0) }

// CountAtMost is how many durations were at most v nanoseconds, as far as
// the buckets tell: the whole bucket that holds v is counted.
func (h *Histogram) CountAtMost(v int64) uint64 {
	if v < 0 || h.Count() == 0 {
		return 0
	}
	sum := uint64(0)
	for _, n := range h.between(h.low, max(h.low, min(bucket(min(v, limit))+1, h.high))) {
		sum += n
	}
	return sum
}

// Bucket is a stretch of durations that a histogram does not tell apart.
type Bucket struct {
	Low, High int64 // nanoseconds, both inclusive
	Count     uint64
}

// Buckets returns the buckets that are not empty, ascending, for charts.
func (h *Histogram) Buckets() []Bucket {
	var all []Bucket
	for i, n := range h.used() {
		if n > 0 {
			lowest, highest := bounds(h.low + i)
			all = append(all, Bucket{Low: lowest, High: highest, Count: n})
		}
	}
	return all
}

// between are the counts of the buckets low to high-1, which there is room for.
func (h *Histogram) between(low, high int) []uint64 { return h.counts[low-h.base : high-h.base] }

// used are the counts of the buckets in use; empty when nothing was recorded.
func (h *Histogram) used() []uint64 {
	if h.Count() == 0 {
		return nil
	}
	return h.between(h.low, h.high)
}
