package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"wirelab/lab/stat"
)

// draws returns n durations from r with shapes that are typical of services.
func draws(r *rand.Rand, n int) []int64 {
	values := make([]int64, n)
	for i := range values {
		switch r.IntN(4) {
		case 0:
			values[i] = r.Int64N(5000)
		case 1:
			values[i] = int64(r.ExpFloat64() * 3e5)
		case 2:
			values[i] = int64(math.Exp(r.NormFloat64()*2 + 13))
		default:
			values[i] = 1_000_000 // ties
		}
		values[i] = min(values[i], int64(stat.Limit))
	}
	return values
}

func histogramOf(values []int64) *stat.Histogram {
	h := stat.NewHistogram()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

// TestQuantileIsTheSortedList compares with the direct way: sort, and take rank ⌈q·n⌉.
func TestQuantileIsTheSortedList(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		values := draws(r, 1+r.IntN(3000))
		h := histogramOf(values)
		slices.Sort(values)
		for _, num := range []int{0, 1, 10, 70, 250, 500, 900, 950, 990, 999, 1000} {
			q := float64(num) / 1000
			rank := max(1, (num*len(values)+999)/1000) // in whole numbers, so it is exact
			want, got := values[rank-1], h.Quantile(q)
			if got < want || float64(got) > float64(want)*1.001 {
				t.Errorf("seed %d, n %d: quantile %v = %d, sorted list has %d", seed, len(values), q, got, want)
			}
		}
	}
}

func TestQuantileOfFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []int64
		q      float64
		want   int64
		why    string
	}{
		{nil, 0.5, 0, "nothing recorded"},
		{[]int64{7}, 0.5, 7, "one value is every quantile"},
		{[]int64{1, 2}, 0.5, 1, "half of them are at or below 1: no interpolation"},
		{[]int64{1, 2, 3}, 0.5, 2, "⌈1.5⌉ = 2"},
		{[]int64{1, 2, 3, 4}, 0.75, 3, "⌈3⌉ = 3"},
		{[]int64{1, 2, 3, 4}, 0.76, 4, "a little more needs the next"},
		{[]int64{3, 1, 2}, 0, 1, "the minimum"},
		{[]int64{3, 1, 2}, 1, 3, "the maximum"},
		{[]int64{3, 1, 2}, 2, 3, "beyond 1 is 1"},
		{[]int64{3, 1, 2}, -1, 1, "below 0 is 0"},
		{[]int64{3, 1, 2}, math.NaN(), 1, "NaN is 0"},
		{seq(100), 0.07, 7, "0.07·100 is 7.000000000000001 in floating point"},
		{seq(1000), 0.999, 999, "1 of 1,000 is above"},
	} {
		if got := histogramOf(c.values).Quantile(c.q); got != c.want {
			t.Errorf("quantile %v of %d values = %d, want %d: %s", c.q, len(c.values), got, c.want, c.why)
		}
	}
}

func seq(n int64) []int64 {
	var all []int64
	for v := int64(1); v <= n; v++ {
		all = append(all, v)
	}
	return all
}

// The layout equals that of the library.
func TestBucketsAreThoseOfHdrHistogram(t *testing.T) {
	t.Parallel()
	reference := hdrhistogram.New(1, int64(stat.Limit), 3)
	check := func(v int64) {
		b := histogramOf([]int64{v}).Buckets()
		if len(b) != 1 || b[0].Count != 1 {
			t.Fatalf("%d is in buckets %v", v, b)
		}
		reference.Reset()
		if err := reference.RecordValue(v); err != nil {
			t.Fatal(err)
		}
		low, high := reference.ValueAtPercentile(0), reference.ValueAtPercentile(100)
		if b[0].Low != low || b[0].High != high {
			t.Errorf("%d is in %d..%d, the library has %d..%d", v, b[0].Low, b[0].High, low, high)
		}
		if width := b[0].High - b[0].Low; float64(width) > 0.001*float64(v) {
			t.Errorf("%d is known to %d only", v, width)
		}
	}
	for shift := range 42 {
		for off := int64(-2); off <= 2; off++ {
			if v := int64(1)<<shift + off; v >= 0 && v <= int64(stat.Limit) {
				check(v)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		check(int64(math.Exp(r.Float64() * math.Log(float64(stat.Limit)))))
	}
	check(int64(stat.Limit))
}

func TestMomentsAreTheListsWithinABucket(t *testing.T) {
	t.Parallel()
	values := draws(rand.New(rand.NewPCG(5, 5)), 20000)
	h, sum := histogramOf(values), 0.0
	for _, v := range values {
		sum += float64(v)
	}
	mean, squares := sum/float64(len(values)), 0.0
	for _, v := range values {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	within(t, "mean", h.Mean(), mean, 0.0005)
	within(t, "standard deviation", h.StdDev(), math.Sqrt(squares/float64(len(values)-1)), 0.001)
	within(t, "maximum", float64(h.Max()), float64(slices.Max(values)), 0.001)
	within(t, "minimum", float64(h.Min()), float64(slices.Min(values)), 0.001)
	for _, v := range []int64{-1, 0, 1000, 1_000_000, int64(2 * time.Hour)} {
		want := uint64(0)
		for _, x := range values {
			if x <= v {
				want++
			}
		}
		// Both 1,000 and the edge of 1,000,000's bucket are resolved well enough here.
		if got := h.CountAtMost(v); got < want || float64(got) > float64(want)*1.01 {
			t.Errorf("%d at most %d, want %d", got, v, want)
		}
	}
}

// within fails unless got is within a fraction tolerance of want.
func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s = %v, want %v within %v %%", what, got, want, 100*tolerance)
	}
}

func TestMergeLosesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 2))
	values := draws(r, 9000)
	all, parts := histogramOf(values), stat.NewHistogram()
	parts.Merge(nil)
	parts.Merge(stat.NewHistogram())
	for part := range slices.Chunk(values, 1234) {
		parts.Merge(histogramOf(part))
	}
	if !slices.Equal(all.Buckets(), parts.Buckets()) || all.Count() != parts.Count() {
		t.Error("merged parts differ from the whole")
	}
	clone := all.Clone()
	all.Reset()
	if all.Count() != 0 || all.Quantile(1) != 0 || all.Mean() != 0 || len(all.Buckets()) != 0 {
		t.Error("a histogram that was reset still holds something")
	}
	for _, b := range clone.Buckets() { // no old count may be left anywhere
		all.Record(b.Low)
	}
	if all.Count() != uint64(len(clone.Buckets())) || !slices.Equal(counts(all), counts(histogramOf(lows(clone)))) {
		t.Error("a histogram that was reset still counts what was in it")
	}
	if !slices.Equal(clone.Buckets(), parts.Buckets()) {
		t.Error("resetting the original changed its clone")
	}
}

func counts(h *stat.Histogram) (all []uint64) {
	for _, b := range h.Buckets() {
		all = append(all, b.Count)
	}
	return all
}

func lows(h *stat.Histogram) (all []int64) {
	for _, b := range h.Buckets() {
		all = append(all, b.Low)
	}
	return all
}

// A histogram that grows counts like one with all its memory.
func TestZeroHistogram(t *testing.T) {
	t.Parallel()
	var grows stat.Histogram
	values := draws(rand.New(rand.NewPCG(6, 6)), 3000)
	for _, v := range values {
		grows.Record(v)
	}
	grows.Record(2 * int64(stat.Limit))
	h := histogramOf(values)
	h.Record(int64(stat.Limit))
	if !slices.Equal(grows.Buckets(), h.Buckets()) || grows.Clipped() != 1 {
		t.Error("the zero value counts differently")
	}
	slices.Sort(values)
	slices.Reverse(values) // allocates at the lower end only
	downward := histogramOfZero(values)
	downward.Merge(histogramOfZero([]int64{int64(stat.Limit)}))
	if !slices.Equal(downward.Buckets(), h.Buckets()) || downward.Clipped() != 1 {
		t.Error("the zero value counts differently when durations fall")
	}
	var none *stat.Histogram
	for _, h := range []*stat.Histogram{none, {}} {
		if h.Count() != 0 || h.Clipped() != 0 || h.Quantile(0.5) != 0 || h.Mean() != 0 || h.StdDev() != 0 ||
			h.Max() != 0 || h.Min() != 0 || h.CountAtMost(5) != 0 || h.Buckets() != nil {
			t.Errorf("%v is not empty", h)
		}
	}
	(&stat.Histogram{}).Reset()
	var merged stat.Histogram
	merged.Merge(none)
	merged.Merge(h)
	if !slices.Equal(merged.Buckets(), h.Buckets()) {
		t.Error("merged into a zero value it is different")
	}
}

// histogramOfZero records values, in their order, in a zero value.
func histogramOfZero(values []int64) *stat.Histogram {
	var h stat.Histogram
	for _, v := range values {
		h.Record(v)
	}
	return &h
}

// A histogram of one duration has memory for one doubling, however long the duration.
func TestMemoryIsOfTheRangeInUse(t *testing.T) {
	h := stat.NewHistogram()
	h.Record(int64(time.Minute))
	const doubling = 1024 * 8
	for name, makes := range map[string]func(){
		"recorded": func() { histogramOfZero([]int64{int64(time.Minute)}) },
		"merged":   func() { h.Clone() },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			makes()
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 2*doubling {
			t.Errorf("%s: %d bytes", name, each)
		}
	}
}

func TestBeyondTheRange(t *testing.T) {
	t.Parallel()
	h := histogramOf([]int64{-5, 0, int64(stat.Limit) + 1, math.MaxInt64, math.MinInt64})
	if h.Count() != 5 || h.Clipped() != 2 || h.Min() != 0 || h.Max() != int64(stat.Limit) {
		t.Errorf("count %d, clipped %d, min %d, max %d", h.Count(), h.Clipped(), h.Min(), h.Max())
	}
	if n := histogramOf([]int64{int64(59 * time.Minute)}).Clipped(); n != 0 {
		t.Errorf("%d of 59 minutes clipped", n)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	h, v := stat.NewHistogram(), int64(0)
	if n := testing.AllocsPerRun(1000, func() { v += 12345; h.Record(v) }); n != 0 {
		t.Errorf("Record allocates %v times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := stat.NewHistogram()
	b.ReportAllocs()
	for i := range b.N {
		h.Record(int64(i) & 0xfffff)
	}
}

// BenchmarkMerge merges a slice of 30 ms, which must not cost as much as merging the whole range.
func BenchmarkMerge(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	h, all := stat.NewHistogram(), stat.NewHistogram()
	for range 2000 {
		h.Record(int64(80_000 + r.ExpFloat64()*40_000))
	}
	for range b.N {
		all.Merge(h)
	}
}

func ExampleHistogram() {
	h := stat.NewHistogram()
	for ms := range 100 {
		h.Record(int64(time.Duration(ms+1) * time.Millisecond))
	}
	fmt.Println(h.Count(), time.Duration(h.Quantile(0.99)).Round(time.Millisecond))
	// Output: 100 99ms
}
