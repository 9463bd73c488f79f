package kinds

import (
	"slices"
	"strings"
	"sync"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
)

// MetricOf finds a metric by its id, in the words of what the load sends.
func MetricOf(l *claim.LoadAnalysis, id string) (metric.Metric, error) {
	m, err := MetricByID(id)
	if err == nil {
		words := Named(l.Kind).Words
		m.Title, m.Short = words(m.Title), words(m.Short)
	}
	return m, err
}

// Primary is the metric that decides under a load: the plan's, or where that
// says nothing of such a load, server CPU per request in the closed loop
// (throughput, if a server is not ours) and the 99th percentile of the
// response time in the open one; of streams, server CPU per event (the 99th
// percentile of delivery), or of slow readers the rate that they came to.
func Primary(p plan.Plan, load plan.Load) metric.Metric {
	id := p.Primary
	if m, err := MetricByID(id); err != nil || !Under(m, load) || m.Counted {
		id = plan.ServerCPU
		for _, arm := range p.Arms {
			if !arm.Seen() {
				id = plan.Throughput
			}
		}
		id = Of(load).Primary(p, load, id)
	}
	m, _ := MetricByID(id) // known: it is one of ours
	return m
}

// Refusal tells why a metric of an arm at a level is no number. It differs
// from [claim.ArmState.Why] in what overload does to an arm: calls that fail, that
// cannot be made, a queue that is never steady. There it is what a curve is to
// show, and so only what the generator or the machine spoiled is refused, and
// what wrong replies make worthless.
func Refusal(s *claim.ArmState, trials []*result.Trial, metric string) *claim.Check {
	m := MustMetric(metric)
	for i := range s.Checks {
		c := &s.Checks[i]
		if c.OK || !c.Covers(m) {
			continue
		}
		switch c.Gate {
		case result.Steady, result.Settled, result.Overload:
			continue
		case result.Answers:
			if !slices.ContainsFunc(trials, func(t *result.Trial) bool { return t.Errors[result.WrongReply] > 0 }) {
				continue
			}
		}
		return c
	}
	return nil
}

// MustMetric is [MetricByID] for the ids of room plan, which a test keeps known.
func MustMetric(id string) metric.Metric {
	m, _ := MetricByID(id)
	return m
}

// Under reports whether it is a metric of such a load.
func Under(m metric.Metric, l plan.Load) bool { return Of(l).Under(m, l) }

// Metrics returns every metric, in the order that reports show them. The slice is the caller's.
func Metrics() []metric.Metric { return slices.Clone(Known()) }

// Known are made once: an analysis asks for one hundreds of times.
var Known = sync.OnceValue(makeMetrics)

// metricPlaces are the places in metrics by id.
var metricPlaces = sync.OnceValue(func() map[string]int {
	places := map[string]int{}
	for i, m := range Known() {
		places[m.ID] = i
	}
	return places
})

func makeMetrics() (all []metric.Metric) {
	for _, k := range All() {
		all = append(all, k.Metrics()...)
	}
	return all
}

// MetricByID finds a metric, or any other quantile of times that there are metrics of:
// "response-p95". An unknown id is InvalidArgument, with the known ones listed.
func MetricByID(id string) (metric.Metric, error) {
	all := Known()
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
	return metric.Metric{}, wirelab.UnknownName("metric", id, known, "wirelab help metrics")
}

// aliases are the short words that people use for metrics, and the ids.
var aliases = map[string]string{
	"cpu/req": plan.ServerCPU, "cpu": plan.ServerCPU, "server-cpu/req": plan.ServerCPU,
	"client-cpu/req": plan.ClientCPU,
	"rps":            plan.Throughput,
	"p50":            plan.ResponseP50, "p90": plan.ResponseP90, "p99": plan.ResponseP99, "p99.9": plan.ResponseP999,
	"median": plan.ResponseP50, "mean": plan.ResponseMean,
	"sent": plan.WireSent, "sent/req": plan.WireSent, "received": plan.WireReceived, "received/req": plan.WireReceived,
	"allocs": plan.ServerAllocations, "allocs/req": plan.ServerAllocations, "server-allocs/req": plan.ServerAllocations,
	"client-allocs/req": plan.ClientAllocations,
	"cpu/event":         plan.EventServerCPU, "client-cpu/event": plan.EventClientCPU,
	"received/event": plan.EventWireReceived,
	"events":         plan.EventRate, "jitter": plan.JitterP99,
}

// MetricNamed finds a metric by its id or a short word: "p95", "cpu/req".
func MetricNamed(word string) (metric.Metric, error) {
	if _, name, ok := plan.ParsePercentile(word); ok {
		word = "response-" + name
	}
	if id, ok := aliases[word]; ok {
		word = id
	}
	return MetricByID(word)
}
