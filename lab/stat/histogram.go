package stat

import (
	"math"
	"math/bits"
	"time"
)

// Limit is the longest duration that a [Histogram] distinguishes. Longer durations are counted at the limit.
const Limit = time.Hour

// The layout is that of HdrHistogram with 3 significant digits from 1 ns. Values below 2,048 are exact. Above that,
// every doubling has 1,024 buckets of equal width, so a bucket is at most 1/1024 of its value wide.
const (
	halfBits   = 10 // log2 of the buckets in a doubling
	half       = 1 << halfBits
	limit      = int64(Limit)
	bucketsLen = 33 * half // up to the doubling that holds limit
)

// Histogram counts durations in nanoseconds, from 1 ns to [Limit], each to within 0.1 %. The zero value is empty and
// ready to use. It needs memory, 8 KB each, for the doublings from its shortest duration to its longest. A histogram
// from [NewHistogram] has all of them, 270 KB, so that recording never allocates. A nil histogram reads as empty.
// There is no lock: one goroutine records, and readers must wait for it.
//
// The counts are kept here rather than in the type of the HdrHistogram library, which gives no access to them.
// Merging and clearing touch only the range in use, which matters when 64 workers are merged after a slice of 30 ms.
// The quantile is the one that this package documents. The library is the reference that tests compare with.
type Histogram struct {
	counts []uint64 // the counts of buckets base to base+len(counts)-1: as many whole doublings as were needed so far
	base   int      // a multiple of half
	total  uint64   // sum of counts
	// All counts that are not 0 are in the buckets from low to high-1. Both are meaningless if total is 0.
	low, high int
	// encoded has the counts up to the last one that is not 0, in V2's form. It is set for a histogram that was
	// decoded and not changed since. A result has tens of thousands of those, and this takes a hundredth of the
	// memory. nil: the counts are in counts.
	encoded []byte
}

// NewHistogram returns an empty histogram whose Record never allocates.
func NewHistogram() *Histogram {
	return &Histogram{counts: make([]uint64, bucketsLen)}
}

// reserve allocates the buckets low to high-1, 0 <= low < high <= bucketsLen.
func (h *Histogram) reserve(low, high int) {
	h.decode()
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

// bucket is the index of the bucket for v, 0 <= v <= limit.
func bucket(v int64) int {
	// v|(2·half-1) puts small values into the first 2·half buckets, which are exact.
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

// middle is the value that represents bucket i in a mean.
func middle(i int) float64 {
	lowest, highest := bounds(i)
	return float64(lowest) + float64(highest-lowest)/2
}

// Record counts one duration in nanoseconds. A negative one counts as 0, and one above [Limit] as Limit; see
// [Histogram.Clipped]. Record does not lock. If h is from [NewHistogram], it does not allocate.
func (h *Histogram) Record(v int64) { h.RecordN(v, 1) }

// RecordN counts n durations of v nanoseconds.
func (h *Histogram) RecordN(v int64, n uint64) {
	if n == 0 {
		return
	}
	i := bucket(min(max(v, 0), limit))
	at := i - h.base
	if uint(at) >= uint(len(h.counts)) { // also true if at is negative
		h.reserve(i, i+1)
		at = i - h.base
	}
	h.counts[at] += n
	h.include(i, i+1)
	h.total += n
}

// include extends the range in use to low..high. It is called before new counts are added to total.
func (h *Histogram) include(low, high int) {
	if h.total == 0 {
		h.low, h.high = low, high
		return
	}
	h.low, h.high = min(h.low, low), max(h.high, high)
}

// Merge adds the counts of other. Nothing is lost: the result is the same as recording everything in one histogram. A
// nil other adds nothing.
func (h *Histogram) Merge(other *Histogram) {
	if other.Count() == 0 {
		return
	}
	h.reserve(other.low, other.high)
	other.addTo(h.counts, h.base, 1)
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
	if h.encoded == nil {
		clear(h.used())
	}
	h.encoded = nil
	h.total = 0
}

// Count is the number of durations recorded.
func (h *Histogram) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.total
}

// Clipped is the number of durations at [Limit] or above, which are known only as "at least Limit". If it is not 0,
// quantiles that fall there are lower bounds. Durations within 0.1 % below Limit count too.
func (h *Histogram) Clipped() uint64 {
	last, at := bucket(limit), uint64(0)
	if h.Count() == 0 || h.high != last+1 {
		return 0
	}
	for i, n := range h.each {
		if i == last {
			at = n
		}
	}
	return at
}

// Quantile returns the q-quantile in nanoseconds, as the package comment defines it. q is 0 to 1 (0 is the minimum, 1
// the maximum); a q outside is taken as the nearer of the two, and NaN as 0. An empty histogram returns 0.
func (h *Histogram) Quantile(q float64) int64 {
	if h.Count() == 0 {
		return 0
	}
	left := rank(q, h.total)
	found := bucket(limit) // only a start value: the counts add up to total
	if h.encoded == nil {  // no call for each bucket, since merged histograms compute many quantiles
		for i, n := range h.used() {
			if n >= left {
				found = h.low + i
				break
			}
			left -= n
		}
	} else {
		for i, n := range h.each {
			if n >= left {
				found = i
				break
			}
			left -= n
		}
	}
	_, highest := bounds(found)
	return min(highest, limit)
}

// rank is ⌈q·n⌉ in 1..n, n > 0. q·n is a product of rounded numbers: 0.07·100 is slightly above 7, and its ceiling
// would be 8. So a value within 1e-9 of a whole number is taken as that number.
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
	for i, n := range h.each {
		sum += float64(n) * middle(i)
	}
	return sum / max(1, float64(h.Count()))
}

// StdDev is the standard deviation in nanoseconds (n − 1 below); 0 if fewer than 2.
func (h *Histogram) StdDev() float64 {
	if h.Count() < 2 {
		return 0
	}
	mean, squares := h.Mean(), 0.0
	for i, n := range h.each {
		d := middle(i) - mean
		squares += float64(n) * d * d
	}
	return math.Sqrt(squares / float64(h.total-1))
}

// Max is the longest duration, at most 0.1 % too high; 0 if empty.
func (h *Histogram) Max() int64 { return h.Quantile(1) }

// Min is the shortest duration, at most 0.1 % too high; 0 if empty.
func (h *Histogram) Min() int64 { return h.Quantile(0) }

// CountAtMost is the number of durations of at most v nanoseconds, to the resolution of the buckets: the whole bucket
// of v is counted.
func (h *Histogram) CountAtMost(v int64) uint64 {
	if v < 0 || h.Count() == 0 {
		return 0
	}
	sum, last := uint64(0), bucket(min(v, limit))
	for i, n := range h.each {
		if i > last {
			break
		}
		sum += n
	}
	return sum
}

// Bucket is a range of durations that a histogram does not distinguish.
type Bucket struct {
	Low, High int64 // nanoseconds, both inclusive
	Count     uint64
}

// Buckets returns the buckets that are not empty, ascending. Charts use it.
func (h *Histogram) Buckets() []Bucket {
	var all []Bucket
	for i, n := range h.each {
		lowest, highest := bounds(i)
		all = append(all, Bucket{Low: lowest, High: highest, Count: n})
	}
	return all
}

// between returns the counts of the buckets low to high-1, which must be allocated.
func (h *Histogram) between(low, high int) []uint64 { return h.counts[low-h.base : high-h.base] }

// each yields the buckets that are not empty, ascending, with their counts. It changes nothing, so several goroutines
// may read.
func (h *Histogram) each(yield func(bucket int, n uint64) bool) {
	if h == nil || h.encoded == nil {
		for i, n := range h.used() {
			if n > 0 && !yield(h.low+i, n) {
				return
			}
		}
		return
	}
	at := 0
	for rest := h.encoded; len(rest) > 0; {
		var n int64
		if b := rest[0]; b < 0x80 { // most numbers
			n, rest = int64(b>>1)^-int64(b&1), rest[1:]
		} else {
			var size int
			n, size = zigzag(rest)
			rest = rest[size:]
		}
		switch {
		case n < 0:
			at += int(-n)
			continue
		case n > 0 && !yield(at, uint64(n)):
			return
		}
		at++
	}
}

// addTo adds the counts, multiplied by by, to the counts of the buckets from base on. by is 1, or its additive
// inverse for subtracting. It is [Histogram.each] without a call for each bucket, since an analysis spends most of
// its time here.
func (h *Histogram) addTo(counts []uint64, base int, by uint64) {
	if h.Count() == 0 {
		return
	}
	if h.encoded == nil {
		into := counts[h.low-base:]
		for i, n := range h.used() {
			into[i] += by * n
		}
		return
	}
	at := -base
	for rest := h.encoded; len(rest) > 0; {
		b := rest[0]
		if b < 0x80 && b&1 == 0 { // a count of at most 63, as most are
			if b > 0 {
				counts[at] += by * uint64(b>>1)
			}
			rest = rest[1:]
			at++
			continue
		}
		n, size := zigzag(rest)
		rest = rest[size:]
		if n < 0 {
			at += int(-n)
			continue
		}
		counts[at] += by * uint64(n)
		at++
	}
}

// decode turns the encoded form into counts, before something is added.
func (h *Histogram) decode() {
	if h.encoded == nil {
		return
	}
	base, end := h.low/half*half, (h.high+half-1)/half*half
	counts := make([]uint64, end-base)
	for i, n := range h.each {
		counts[i-base] = n
	}
	h.base, h.counts, h.encoded = base, counts, nil
}

// used returns the counts of the buckets in use of a histogram that is not encoded; empty if nothing was recorded.
func (h *Histogram) used() []uint64 {
	if h.Count() == 0 {
		return nil
	}
	return h.between(h.low, h.high)
}
