package metric

import (
	"math"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Response returns the times from when calls were due.
func Response(t *result.Trial) *stat.Histogram { return t.Response }

// Service returns the times from when calls were sent.
func Service(t *result.Trial) *stat.Histogram { return t.Service }

// Lag returns how late calls were sent.
func Lag(t *result.Trial) *stat.Histogram { return t.Lag }

// Dimension is what a metric measures. Values of a dimension are kept in one unit; a report chooses a readable one.
type Dimension string

// The dimensions, with the units in which values are kept.
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
	// Gain and Loss are the words for an arm that is better, or worse, than another: "cheaper" and "costlier".
	Gain, Loss string
	// Closed and Open report for which loops of calls it is a metric, Streams whether it is one for loads of streams,
	// and Slow whether it is one for slow readers.
	Closed, Open, Streams, Slow bool
	// Counted metrics are totals that may be 0. They are shown but never compared. Averaged ones are the mean of the
	// rounds.
	Counted, Averaged bool
	// Optional metrics are missing in most experiments: a database only has a cost if there is one. Without a value
	// there is no row.
	Optional bool
	// Quantile is 0.5 to 0.999 if the metric is a quantile of times, and 0 if it is one number for each trial.
	// Service selects service times instead of response times.
	Quantile float64
	Service  bool

	Take func(*result.Trial) (float64, bool) // nil for quantiles
	Of   func(*result.Trial) *stat.Histogram // whose quantile; nil: by Service
}

// Value computes the metric from one trial, in the unit of its dimension. It is false if the trial does not have it:
// no request ended, or the server's process is unknown. The quantile of one trial is for charts and exports; claims
// use all rounds pooled.
func (m Metric) Value(t *result.Trial) (float64, bool) {
	v, ok := 0.0, false
	switch {
	case m.Take != nil:
		v, ok = m.Take(t)
	default:
		if h := m.Histogram(t); h != nil && h.Count() > 0 {
			v, ok = float64(h.Quantile(m.Quantile)), true
		}
	}
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, false
	}
	return v, true
}

// Earned reports whether one trial alone has enough calls for its [Metric.Value] to be shown: a quantile needs 10
// calls beyond it.
func (m Metric) Earned(t *result.Trial) bool {
	if m.Quantile == 0 {
		return true
	}
	tail := stat.Tail(m.Quantile, []*stat.Histogram{m.Histogram(t)})
	return tail.HaveInRound >= tail.NeedInRound
}

// Histogram returns the times of which the metric is a quantile; nil for other metrics.
func (m Metric) Histogram(t *result.Trial) *stat.Histogram {
	switch {
	case m.Quantile == 0:
		return nil
	case m.Of != nil:
		return m.Of(t)
	case m.Service:
		return t.Service
	}
	return t.Response
}

// Connections opened inside the window is the only metric that cannot be a plan's primary one. It should be 0. If it
// is not, an arm pays for handshakes that another does not (R4).
const Connections = "connections"

// Times returns the quantiles of one kind of time, "response" or "service".
func Times(kind string, service bool) []Metric {
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

// PerRequest is a metric that divides a total of a trial by its calls. It uses all calls with a reply, not only those
// that ended inside the window, because the totals are read when the last call of a slice has ended. Otherwise a slow
// arm, with few calls in a slice, would look more expensive.
func PerRequest(id, title string, in Dimension, total func(*result.Trial) (float64, bool)) Metric {
	m := Metric{ID: id, Title: title + " per request", Short: title + "/req", Dimension: in, Closed: true, Open: true}
	switch in {
	case Time:
		m.Gain, m.Loss = "cheaper", "costlier"
	case Size:
		m.Title, m.Gain, m.Loss = "bytes "+title+" per request", "smaller", "larger"
	default:
		m.Title, m.Gain, m.Loss = strings.Replace(title, "allocs", "allocations", 1)+" per request", "fewer", "more"
	}
	m.Take = PerCall(total)
	return m
}

// PerCall divides a total of a trial by its calls or, for messages, by the acknowledged messages.
func PerCall(total func(*result.Trial) (float64, bool)) func(*result.Trial) (float64, bool) {
	return func(t *result.Trial) (float64, bool) {
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

// Optional marks a metric as optional: see [Metric.Optional].
func Optional(m Metric) Metric {
	m.Optional = true
	return m
}

// Throughput is calls completed per second.
func Throughput(t *result.Trial) (float64, bool) {
	if t.Window <= 0 || t.Completed == 0 {
		return 0, false
	}
	return float64(t.Completed) / time.Duration(t.Window).Seconds(), true
}

// MeanResponse is the mean time from when calls were due, in nanoseconds.
func MeanResponse(t *result.Trial) (float64, bool) {
	if t.Response == nil || t.Response.Count() == 0 {
		return 0, false
	}
	return t.Response.Mean(), true
}

// CPU is the processor time of a process, in nanoseconds.
func CPU(u *result.Usage) (float64, bool) {
	if u == nil {
		return 0, false
	}
	return float64(u.CPU), true
}

// Allocations is the number of objects that a process allocated, if it is known.
func Allocations(u *result.Usage) (float64, bool) {
	n, known := u.Allocated()
	return float64(n), known
}

// Served is [Allocations] of a server. Older results have 0 if it was not counted. A server that counts always
// allocates something to report the count, so 0 means unknown.
func Served(u *result.Usage) (float64, bool) {
	n, known := Allocations(u)
	return n, known && (n > 0 || result.Count(u.AllocatedBytes) > 0)
}
