package calls

import (
	"wirelab/lab/kind"
	"wirelab/lab/kind/entries"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/gate"
	"wirelab/lab/result/grid"
	"wirelab/lab/result/metric"
)

// Kind is the kind of loads that make calls, one at a time or many, in a closed loop or an open one.
func Kind() *kind.Kind {
	return &kind.Kind{
		Name: plan.Calls, Words: func(text string) string { return text },
		Manner: gate.Manner{
			Behind: entries.UntilStored,
			Things: "calls", Replies: "replies", Begun: "begun", Made: "call was made", Raw: true,
			Fewer: "fewer calls in flight or a lower --rate",
		},
		Metrics: callMetrics, Under: callsHave, Primary: callPrimary, Rate: plan.Throughput,
		Gates: callGates, Refuse: refuseCalls, Flaws: stepFlaws, Merge: mergeCalls,
		Ranked: entries.Ranked,
	}
}

// mergeCalls adds the steps of chains, and what another program told that made the calls.
func mergeCalls(t *result.Trial, more result.Particulars) {
	if more.Told != nil {
		t.Told = more.Told
	}
	t.Steps = result.AddSteps(t.Steps, more.Steps)
}

// callsHave reports whether a metric is one of calls in the load's loop.
func callsHave(m metric.Metric, l plan.Load) bool {
	if l.Open() {
		return m.Open
	}
	return m.Closed
}

func callPrimary(_ plan.Plan, l plan.Load, usual string) string {
	if l.Open() {
		return plan.ResponseP99
	}
	return usual
}

// callGates applies the checks of calls. Where a tool of others made them, those that ask for what only our own
// driver tells are left out.
func callGates(_ grid.Grid, _ int, s *gate.Subject) {
	if tool := s.Tool(); tool != "" {
		s.Told(tool)
		s.Settled()
		s.Physics()
		s.Generator()
		s.Noise()
		s.Database()
		return
	}
	s.Answers()
	entries.Entries(s)
	entries.Parts(s)
	steps(s)
	s.Steady()
	s.Settled()
	s.Physics()
	s.Arrivals()
	s.Generator()
	s.EachDriver()
	s.Noise()
	s.Floor(0)
	s.Database()
}

// refuseCalls removes refused figures of the parts of a pipeline and of the steps of a chain.
func refuseCalls(s *claim.ArmState, why func(id string) string, _ string) {
	for i := range s.Parts {
		p := &s.Parts[i]
		p.Refused.Move("cpu", &p.CPU, why(plan.ServerCPU))
		p.Refused.Move("share", &p.Share, why(plan.ServerCPU))
	}
	for i := range s.Steps {
		refuse(&s.Steps[i], why)
	}
}

// callMetrics are those of calls.
func callMetrics() []metric.Metric {
	all := []metric.Metric{
		metric.PerRequest(plan.ServerCPU, "server CPU", metric.Time,
			func(t *result.Trial) (float64, bool) { return metric.CPU(t.Server) }),
		metric.Optional(metric.PerRequest(plan.DatabaseCPU, "database CPU", metric.Time, metric.DatabaseCPU)),
		metric.Optional(metric.PerRequest(plan.BackendCPU, "server + database CPU", metric.Time, metric.BackendCPU)),
		metric.Optional(metric.Metric{
			ID: plan.PoolWait, Title: "wait for a connection to the database per request", Short: "pool wait/req",
			Dimension: metric.Time,
			Gain:      "shorter", Loss: "longer", Closed: true, Open: true, Take: metric.PerCall(metric.PoolWait),
		}),
		{
			ID: plan.Throughput, Title: "throughput", Short: "throughput", Dimension: metric.Frequency, Higher: true,
			Gain: "faster", Loss: "slower", Closed: true, Take: metric.Throughput,
		},
	}
	all = append(all, metric.Times("response", false)...)
	all = append(all, metric.Times("service", true)...)
	return append(all,
		// Published figures are means, so there must be one to compare with them; it
		// hides the tail.
		metric.Metric{
			ID: plan.ResponseMean, Title: "mean response time", Short: "response mean", Dimension: metric.Time,
			Gain: "faster", Loss: "slower", Closed: true, Open: true, Take: metric.MeanResponse,
		},
		metric.PerRequest(plan.ClientCPU, "client CPU", metric.Time,
			func(t *result.Trial) (float64, bool) { return metric.CPU(t.Driver) }),
		metric.PerRequest(plan.WireSent, "sent", metric.Size,
			func(t *result.Trial) (float64, bool) { return metric.OurTotal(t, t.WireSent) }),
		metric.PerRequest(plan.WireReceived, "received", metric.Size,
			func(t *result.Trial) (float64, bool) { return metric.OurTotal(t, t.WireReceived) }),
		metric.PerRequest(plan.ServerAllocations, "server allocs", metric.Number,
			func(t *result.Trial) (float64, bool) { return metric.Served(t.Server) }),
		metric.PerRequest(plan.ClientAllocations, "client allocs", metric.Number,
			func(t *result.Trial) (float64, bool) { return metric.Allocations(t.Driver) }),
		metric.Metric{
			ID: metric.Connections, Title: "connections opened while measuring", Short: "connections opened",
			Dimension: metric.Number, Gain: "fewer", Loss: "more",
			Closed: true, Open: true, Streams: true, Counted: true,
			Take: func(t *result.Trial) (float64, bool) { return metric.OurTotal(t, t.Connections) },
		},
	)
}
