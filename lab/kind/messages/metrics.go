package messages

import (
	"strings"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
	"wirelab/lab/stat"
)

// fastest is the most messages per second that an arm takes under a closed load of
// messages; 0 of others.
func fastest(g grid.Grid, load int) (most float64) {
	l := g.Result.Plan.Loads[load]
	if l.Open() {
		return 0
	}
	for a := range g.Arms() {
		var count uint64
		var window time.Duration
		for _, t := range g.Of(load, a) {
			if t.Messages != nil && t.Window > 0 {
				count += t.Messages.AcknowledgedInWindow
				window += time.Duration(t.Window)
			}
		}
		if window > 0 {
			most = max(most, float64(count)/window.Seconds())
		}
	}
	return most
}

// messageFlaws checks that what became of messages adds up, and with the calls.
func messageFlaws(path string, t *result.Trial, load plan.Load, add func(path, format string, args ...any)) {
	here := load.Kind() == plan.Messages
	switch m := t.Messages; {
	case here && m == nil:
		add(path+".messages", "its load sends messages, and what became of them is not there")
	case m == nil:
	case !here:
		add(path+".messages", "its load sends no messages")
	default:
		if err := m.Whole(); err != nil {
			add(path+".messages", "%v", err)
		}
		if batch := uint64(max(load.Batch, 1)); m.Sent < t.Sent*batch {
			add(path+".messages", "%d were sent by %d calls of %d each", m.Sent, t.Sent, batch)
		}
	}
}

// messageMetrics are those of loads of messages.
func messageMetrics() []metric.Metric {
	of := func(m metric.Metric, take func(*result.Trial, *result.Messages) (float64, bool)) metric.Metric {
		m.Closed, m.Open, m.Optional = true, true, true
		m.Take = func(t *result.Trial) (float64, bool) {
			if t.Messages == nil {
				return 0, false
			}
			return take(t, t.Messages)
		}
		return m
	}
	rate := func(id, title, short string, count func(*result.Messages) uint64) metric.Metric {
		return of(metric.Metric{
			ID: id, Title: title, Short: short, Dimension: metric.Frequency, Higher: true,
			Gain: "faster", Loss: "slower",
		},
			func(t *result.Trial, m *result.Messages) (float64, bool) {
				return float64(count(m)) / time.Duration(t.Window).Seconds(), t.Window > 0 && count(m) > 0
			})
	}
	acknowledged := rate(plan.MessageRate, "messages acknowledged per second", "message rate",
		func(m *result.Messages) uint64 { return m.AcknowledgedInWindow })
	acknowledged.Open = false
	all := []metric.Metric{
		acknowledged,
		rate(plan.DeliveredRate, "messages delivered per second", "delivery rate",
			func(m *result.Messages) uint64 { return m.DeliveredInWindow }),
	}
	all = append(all, messageTimes()...)
	outage := func(id, title, short string, take func(*result.Messages) plan.Duration) metric.Metric {
		return of(metric.Metric{
			ID: id, Title: title, Short: short, Dimension: metric.Time, Gain: "shorter",
			Loss: "longer",
		},
			func(_ *result.Trial, m *result.Messages) (float64, bool) { return float64(take(m)), take(m) > 0 })
	}
	all = append(all,
		outage(plan.SendOutage, "longest time without an acknowledgement", "send outage",
			func(m *result.Messages) plan.Duration { return m.SendOutage }),
		outage(plan.DeliveryOutage, "longest time without a delivery", "delivery outage",
			func(m *result.Messages) plan.Duration { return m.DeliveryOutage }),
		of(metric.Metric{
			ID: plan.DrainRate, Title: "messages of a backlog read per second", Short: "drain rate",
			Dimension: metric.Frequency, Higher: true, Gain: "faster", Loss: "slower",
		}, drainRate),
	)
	return append(all, brokerMetrics(of)...)
}

// perMessageWords makes words of calls those of messages. A server is the broker
// here, all its processes, and a reply the acknowledgement.
func perMessageWords(text string) string {
	for _, q := range []string{"p50", "p90", "p99", "p99.9"} {
		switch text {
		case q + " response time", "response " + q:
			return "acknowledged " + q
		}
	}
	return strings.NewReplacer(
		"per request", "per message", "/req", "/msg", "server CPU", "broker CPU",
		"mean response time", "mean time to the acknowledgement", "response mean", "acknowledged mean",
	).Replace(text)
}

// messageTimes are the quantiles of what became of messages.
func messageTimes() []metric.Metric {
	accepted := func(m *result.Messages) *stat.Histogram { return m.AcceptedAfter }
	delivered := func(m *result.Messages) *stat.Histogram { return m.DeliveredAfter }
	var all []metric.Metric
	for _, q := range []struct {
		id, title string
		at        float64
		of        func(*result.Messages) *stat.Histogram
	}{
		{plan.AcceptedP50, "accepted p50", 0.5, accepted},
		{plan.AcceptedP99, "accepted p99", 0.99, accepted},
		{plan.DeliveredP50, "delivered p50", 0.5, delivered},
		{plan.DeliveredP90, "delivered p90", 0.9, delivered},
		{plan.DeliveredP99, "delivered p99", 0.99, delivered},
		{plan.DeliveredP999, "delivered p99.9", 0.999, delivered},
	} {
		all = append(all, metric.Metric{
			ID: q.id, Title: q.title, Short: q.title, Dimension: metric.Time, Gain: "faster", Loss: "slower",
			Closed: true, Open: true, Optional: true, Quantile: q.at, Of: func(t *result.Trial) *stat.Histogram {
				if t.Messages == nil {
					return nil
				}
				return q.of(t.Messages)
			},
		})
	}
	return all
}

// drainLeast is how many messages must have been left at the window's end for the
// rate at which they were read to say something.
const drainLeast = 1000

func drainRate(_ *result.Trial, m *result.Messages) (float64, bool) {
	if m.DrainedMessages < drainLeast || m.Drained <= 0 {
		return 0, false
	}
	return float64(m.DrainedMessages) / time.Duration(m.Drained).Seconds(), true
}

// brokerMetrics are those of what the broker's processes did.
func brokerMetrics(of func(metric.Metric,
	func(*result.Trial, *result.Messages) (float64, bool)) metric.Metric,
) []metric.Metric {
	perMessage := func(id, title, short string, total func(*result.BrokerUse) uint64) metric.Metric {
		return of(metric.Metric{
			ID: id, Title: "bytes " + title + " per message", Short: short + "/msg",
			Dimension: metric.Size, Gain: "fewer", Loss: "more",
		},
			func(_ *result.Trial, m *result.Messages) (float64, bool) {
				if m.Broker == nil || m.Sent == 0 || total(m.Broker) == 0 {
					return 0, false
				}
				return float64(total(m.Broker)) / float64(m.Sent), true
			})
	}
	growth := func(id, title string, slope func(*result.BrokerUse) float64) metric.Metric {
		m := of(metric.Metric{
			ID: id, Title: title, Short: title, Dimension: metric.Size, Gain: "slower",
			Loss: "faster",
		},
			func(_ *result.Trial, m *result.Messages) (float64, bool) {
				if m.Broker == nil || m.Broker.Samples < result.GrowthSamples {
					return 0, false
				}
				return max(0, slope(m.Broker)), true
			})
		m.Counted, m.Averaged = true, true // it may be 0, of which there is no ratio
		return m
	}
	return []metric.Metric{
		perMessage(plan.DiskPerMessage, "written to disk", "disk",
			func(b *result.BrokerUse) uint64 { return b.Written }),
		perMessage(plan.NetworkPerMessage, "over the network", "network",
			func(b *result.BrokerUse) uint64 { return b.Network }),
		growth(metric.MemoryGrowth, "memory growth per second",
			func(b *result.BrokerUse) float64 { return b.MemoryGrowth }),
		growth(metric.DiskGrowth, "disk growth per second", func(b *result.BrokerUse) float64 { return b.DiskGrowth }),
	}
}
