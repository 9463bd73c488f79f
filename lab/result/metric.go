package result

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/stat"
)

// Dimension is what a metric counts in. Values are kept in one unit for each
// dimension; a report picks the one that reads well.
type Dimension string

// The dimensions, with the unit that values are kept in.
const (
	Time      Dimension = "time"       // nanoseconds
	Size      Dimension = "size"       // bytes
	Number    Dimension = "number"     // a count
	Frequency Dimension = "per second" // 1/s
)

// Metric is one thing measured for each arm under each load.
type Metric struct {
	ID        string // plan.ServerCPU, plan.ResponseP99; what plan.Primary names
	Title     string // "server CPU per request"
	Short     string // "server CPU/req", for the head of a column
	Dimension Dimension
	Higher    bool // higher is better; else lower is
	// Gain and Loss are the words for an arm that has more of the good, or
	// of the bad, than another: "cheaper" and "costlier".
	Gain, Loss string
	// Closed and Open tell which loops of calls it is a metric of, Streams that
	// it is one of loads that hold streams, and Slow of those with slow readers.
	Closed, Open, Streams, Slow bool
	// Counted metrics are totals that may be 0 and are shown, never compared; of
	// Averaged ones it is the mean of the rounds.
	Counted, Averaged bool
	// Optional metrics are of what most experiments lack, as a database has a
	// cost only where there is one: without a value there is no row either.
	Optional bool
	// Quantile is 0.5 to 0.999 where the metric is a quantile of times, 0 where
	// it is one number for each trial. Service tells which times: service
	// instead of response.
	Quantile float64
	Service  bool

	take func(*Trial) (float64, bool) // nil for quantiles
	of   func(*Trial) *stat.Histogram // whose quantile; nil: by Service
}

// Value takes the metric from one trial, in the unit of its dimension. It is
// false where the trial does not tell: no request ended, or the server is
// somebody else's. A quantile of one trial is for drawing and export; what is
// claimed comes from all rounds pooled.
func (m Metric) Value(t *Trial) (float64, bool) {
	v, ok := 0.0, false
	switch {
	case m.take != nil:
		v, ok = m.take(t)
	default:
		if h := m.histogram(t); h != nil && h.Count() > 0 {
			v, ok = float64(h.Quantile(m.Quantile)), true
		}
	}
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, false
	}
	return v, true
}

// Earned reports whether one trial alone has calls enough for its [Metric.Value]
// to be shown: a quantile needs 10 calls beyond it.
func (m Metric) Earned(t *Trial) bool {
	if m.Quantile == 0 {
		return true
	}
	tail := stat.Tail(m.Quantile, []*stat.Histogram{m.histogram(t)})
	return tail.HaveInRound >= tail.NeedInRound
}

// histogram is the times that a quantile is of; nil for other metrics.
func (m Metric) histogram(t *Trial) *stat.Histogram {
	switch {
	case m.Quantile == 0:
		return nil
	case m.of != nil:
		return m.of(t)
	case m.Service:
		return t.Service
	}
	return t.Response
}

// Under reports whether it is a metric of such a load.
func (m Metric) Under(l plan.Load) bool { return kindOf(l).Under(m, l) }

// Connections opened inside the window is the one metric that no plan may name
// as primary: it should be 0, and where it is not, an arm pays for handshakes
// that another does not (R4).
const Connections = "connections"

// Metrics returns every metric, in the order that reports show them. The slice is the caller's.
func Metrics() []Metric { return slices.Clone(metrics()) }

// metrics are made once: an analysis asks for one hundreds of times.
var metrics = sync.OnceValue(makeMetrics)

// metricPlaces are the places in metrics by id.
var metricPlaces = sync.OnceValue(func() map[string]int {
	places := map[string]int{}
	for i, m := range metrics() {
		places[m.ID] = i
	}
	return places
})

func makeMetrics() (all []Metric) {
	for _, k := range allKinds() {
		all = append(all, k.Metrics()...)
	}
	return all
}

// MetricByID finds a metric, or any other quantile of times that there are metrics of:
// "response-p95". An unknown id is InvalidArgument, with the known ones listed.
func MetricByID(id string) (Metric, error) {
	all := metrics()
	if i, ok := metricPlaces()[id]; ok {
		return all[i], nil
	}
	if base, name, q, ok := plan.QuantileMetric(id); ok {
		m := all[metricPlaces()[base]]
		m.ID, m.Quantile = id, q
		m.Title, m.Short = strings.Replace(m.Title, "p50", name, 1), strings.Replace(m.Short, "p50", name, 1)
		return m, nil
	}
	known := make([]string, len(all))
	for i, m := range all {
		known[i] = m.ID
	}
	return Metric{}, wirelab.UnknownName("metric", id, known, "wirelab help metrics")
}

// times are the quantiles of one kind of time, "response" or "service".
func times(kind string, service bool) []Metric {
	var all []Metric
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}} {
		all = append(all, Metric{
			ID: kind + "-" + q.name, Title: q.name + " " + kind + " time", Short: kind + " " + q.name, Dimension: Time,
			Gain: "faster", Loss: "slower", Closed: true, Open: true, Quantile: q.at, Service: service,
		})
	}
	return all
}

// perRequest is a metric that shares a total of a trial among its calls. It
// divides by all calls with a reply, not by those that ended inside the
// window: the totals are read when the last call of a slice has ended, so a
// slow arm, with few calls in a slice, would otherwise look dearer.
func perRequest(id, title string, in Dimension, total func(*Trial) (float64, bool)) Metric {
	m := Metric{ID: id, Title: title + " per request", Short: title + "/req", Dimension: in, Closed: true, Open: true}
	switch in {
	case Time:
		m.Gain, m.Loss = "cheaper", "costlier"
	case Size:
		m.Title, m.Gain, m.Loss = "bytes "+title+" per request", "smaller", "larger"
	default:
		m.Title, m.Gain, m.Loss = strings.Replace(title, "allocs", "allocations", 1)+" per request", "fewer", "more"
	}
	m.take = perCall(total)
	return m
}

// perCall shares a total of a trial among its calls, or the messages that they
// were acknowledged for.
func perCall(total func(*Trial) (float64, bool)) func(*Trial) (float64, bool) {
	return func(t *Trial) (float64, bool) {
		v, ok := total(t)
		calls := t.Calls()
		if t.Messages != nil {
			calls = t.Messages.Acknowledged
		}
		if !ok || calls == 0 {
			return 0, false
		}
		return v / float64(calls), true
	}
}

// optional makes a metric one that has a row only where it could be taken.
func optional(m Metric) Metric {
	m.Optional = true
	return m
}

func throughput(t *Trial) (float64, bool) {
	if t.Window <= 0 || t.Completed == 0 {
		return 0, false
	}
	return float64(t.Completed) / time.Duration(t.Window).Seconds(), true
}

func meanResponse(t *Trial) (float64, bool) {
	if t.Response == nil || t.Response.Count() == 0 {
		return 0, false
	}
	return t.Response.Mean(), true
}

func cpu(u *Usage) (float64, bool) {
	if u == nil {
		return 0, false
	}
	return float64(u.CPU), true
}

func allocations(u *Usage) (float64, bool) {
	n, known := u.Allocated()
	return float64(n), known
}

// served is [allocations] of a server. Older results have 0 where nobody counted; a server
// that counts allocates something to say so.
func served(u *Usage) (float64, bool) {
	n, known := allocations(u)
	return n, known && (n > 0 || count(u.AllocatedBytes) > 0)
}

// Allocated is how many allocations a process made; known is false where nobody counted.
func (u *Usage) Allocated() (n uint64, known bool) {
	if u == nil || u.Allocations == nil {
		return 0, false
	}
	return *u.Allocations, true
}

// count is a number that may not be known, as one of nothing then.
func count(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}
