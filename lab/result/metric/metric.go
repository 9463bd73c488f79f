package metric

import (
	"math"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Response are times from when calls were due.
func Response(t *result.Trial) *stat.Histogram { return t.Response }

// Service are times from when calls were sent.
func Service(t *result.Trial) *stat.Histogram { return t.Service }

// Lag is how late calls were sent.
func Lag(t *result.Trial) *stat.Histogram { return t.Lag }

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

	Take func(*result.Trial) (float64, bool) // nil for quantiles
	Of   func(*result.Trial) *stat.Histogram // whose quantile; nil: by Service
}

// Value takes the metric from one trial, in the unit of its dimension. It is
// false where the trial does not tell: no request ended, or the server is
// somebody else's. A quantile of one trial is for drawing and export; what is
// claimed comes from all rounds pooled.
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

// Earned reports whether one trial alone has calls enough for its [Metric.Value]
// to be shown: a quantile needs 10 calls beyond it.
func (m Metric) Earned(t *result.Trial) bool {
	if m.Quantile == 0 {
		return true
	}
	tail := stat.Tail(m.Quantile, []*stat.Histogram{m.Histogram(t)})
	return tail.HaveInRound >= tail.NeedInRound
}

// Histogram is the times that a quantile is of; nil for other metrics.
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

// Connections opened inside the window is the one metric that no plan may name
// as primary: it should be 0, and where it is not, an arm pays for handshakes
// that another does not (R4).
const Connections = "connections"

// Times are the quantiles of one kind of time, "response" or "service".
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

// PerRequest is a metric that shares a total of a trial among its calls. It
// divides by all calls with a reply, not by those that ended inside the
// window: the totals are read when the last call of a slice has ended, so a
// slow arm, with few calls in a slice, would otherwise look dearer.
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

// PerCall shares a total of a trial among its calls, or the messages that they
// were acknowledged for.
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

// Optional makes a metric one that has a row only where it could be taken.
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

// Allocations is how many objects a process allocated, where it says so.
func Allocations(u *result.Usage) (float64, bool) {
	n, known := u.Allocated()
	return float64(n), known
}

// Served is [Allocations] of a server. Older results have 0 where nobody counted; a server
// that counts allocates something to say so.
func Served(u *result.Usage) (float64, bool) {
	n, known := Allocations(u)
	return n, known && (n > 0 || result.Count(u.AllocatedBytes) > 0)
}
