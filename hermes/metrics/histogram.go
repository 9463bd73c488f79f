package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// bounds of the histograms: an NVMe disk syncs in some 50 µs, a sick one in seconds.
var bounds = [...]time.Duration{
	25 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond,
	500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond,
	50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	10 * time.Second,
}

// histogram counts durations. Prometheus's own has no way to count many alike at once,
// as an entry's runs are.
type histogram struct {
	counts [len(bounds) + 1]atomic.Uint64 // of those within a bound and not the one before; the last: beyond all
	sum    atomic.Int64                   // nanoseconds
}

func (h *histogram) observe(took time.Duration, n int) {
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	h.counts[i].Add(uint64(n))
	h.sum.Add(int64(took) * int64(n))
}

func (h *histogram) metric(desc *prometheus.Desc) prometheus.Metric {
	buckets := make(map[float64]uint64, len(bounds))
	var count uint64
	for i, bound := range bounds {
		count += h.counts[i].Load()
		buckets[bound.Seconds()] = count
	}
	count += h.counts[len(bounds)].Load()
	return prometheus.MustNewConstHistogram(desc, count, time.Duration(h.sum.Load()).Seconds(), buckets)
}
