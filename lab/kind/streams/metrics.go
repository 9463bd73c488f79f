package streams

import (
	"strings"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// perEventWords puts events in the place of calls.
func perEventWords(text string) string {
	return strings.NewReplacer("per request", "per event", "/req", "/event").Replace(text)
}

// Missing, Duplicated and Reordered count events that did not come once and in
// order. They should be 0, and where they are not no figure of the arm is valid.
const (
	MissingEvents    = "missing"
	DuplicatedEvents = "duplicated"
	ReorderedEvents  = "reordered"
)

// streamMetrics are those of loads that hold streams.
func streamMetrics() []metric.Metric {
	times := func(id, title string, q float64, of func(*result.Trial) *stat.Histogram,
		gain, loss string,
	) metric.Metric {
		return metric.Metric{
			ID: id, Title: title, Short: title, Dimension: metric.Time, Gain: gain, Loss: loss, Streams: true,
			Quantile: q, Of: of,
		}
	}
	all := []metric.Metric{
		perEvent(plan.EventServerCPU, "server CPU", metric.Time,
			func(t *result.Trial) (float64, bool) { return metric.CPU(t.Server) }),
		metric.Optional(perEvent(plan.EventDatabaseCPU, "database CPU", metric.Time, metric.DatabaseCPU)),
		{
			ID: plan.EventRate, Title: "events delivered per second, in all", Short: "events/s in all",
			Dimension: metric.Frequency, Higher: true,
			Gain: "more", Loss: "fewer", Streams: true, Slow: true, Take: metric.Throughput,
		},
		times(plan.DeliveryP50, "delivery p50", 0.5, metric.Response, "faster", "slower"),
		times(plan.DeliveryP90, "delivery p90", 0.9, metric.Response, "faster", "slower"),
		times(plan.DeliveryP99, "delivery p99", 0.99, metric.Response, "faster", "slower"),
		times(plan.DeliveryP999, "delivery p99.9", 0.999, metric.Response, "faster", "slower"),
		times(plan.TransitP50, "transit p50", 0.5, metric.Service, "faster", "slower"),
		times(plan.TransitP90, "transit p90", 0.9, metric.Service, "faster", "slower"),
		times(plan.TransitP99, "transit p99", 0.99, metric.Service, "faster", "slower"),
		times(plan.JitterP50, "jitter p50", 0.5, jitter, "steadier", "less steady"),
		times(plan.JitterP99, "jitter p99", 0.99, jitter, "steadier", "less steady"),
		perEvent(plan.EventClientCPU, "client CPU", metric.Time,
			func(t *result.Trial) (float64, bool) { return metric.CPU(t.Driver) }),
		perEvent(plan.EventWireReceived, "received", metric.Size,
			func(t *result.Trial) (float64, bool) { return float64(t.WireReceived), true }),
		perEvent(plan.EventServerAllocations, "server allocs", metric.Number,
			func(t *result.Trial) (float64, bool) { return metric.Served(t.Server) }),
		perEvent(plan.EventClientAllocations, "client allocs", metric.Number,
			func(t *result.Trial) (float64, bool) { return metric.Allocations(t.Driver) }),
	}
	counted := func(id string, of func(*result.Streams) uint64) metric.Metric {
		return metric.Metric{
			ID: id, Title: id + " events", Short: id, Dimension: metric.Number, Gain: "fewer", Loss: "more",
			Streams: true, Slow: true, Counted: true, Take: func(t *result.Trial) (float64, bool) {
				if t.Streams == nil {
					return 0, false
				}
				return float64(of(t.Streams)), true
			},
		}
	}
	return append(all,
		counted(MissingEvents, func(s *result.Streams) uint64 { return s.Missing }),
		counted(DuplicatedEvents, func(s *result.Streams) uint64 { return s.Duplicated }),
		counted(ReorderedEvents, func(s *result.Streams) uint64 { return s.Reordered }),
	)
}

// perEvent is [metric.PerRequest] of events.
func perEvent(id, title string, in metric.Dimension, total func(*result.Trial) (float64, bool)) metric.Metric {
	m := metric.PerRequest(id, title, in, total)
	m.Closed, m.Open, m.Streams = false, false, true
	m.Title = perEventWords(m.Title)
	m.Short = perEventWords(m.Short)
	return m
}

func jitter(t *result.Trial) *stat.Histogram {
	if t.Streams == nil {
		return nil
	}
	return t.Streams.Jitter
}
