package result

import "wirelab/lab/plan"

// callKind is the kind of loads that make calls, one at a time or many, in a closed loop or an open one.
func callKind() *Kind {
	return &Kind{
		Name: plan.Calls, Words: func(text string) string { return text },
		Manner: Manner{
			Things: "calls", Replies: "replies", Begun: "begun", Made: "call was made", Raw: true,
			Fewer: "fewer calls in flight or a lower --rate",
		},
		Metrics: callMetrics, Under: callsHave, Primary: callPrimary, Rate: plan.Throughput,
		Gates: callGates, Refuse: refuseCalls, Flaws: stepFlaws,
	}
}

// callsHave reports whether a metric is one of calls in the load's loop.
func callsHave(m Metric, l plan.Load) bool {
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
func callGates(_ grid, _ int, s *subject) {
	if tool := s.tool(); tool != "" {
		s.told(tool)
		s.settled()
		s.physics()
		s.generator()
		s.noise()
		s.database()
		return
	}
	s.answers()
	s.entries()
	s.parts()
	s.steps()
	s.steady()
	s.settled()
	s.physics()
	s.arrivals()
	s.generator()
	s.noise()
	s.floor(0)
	s.database()
}

// refuseCalls takes out what is known of the parts of a pipeline, and of the steps of a chain.
func refuseCalls(s *ArmState, why func(id string) string, _ string) {
	for i := range s.Parts {
		p := &s.Parts[i]
		p.Refused.move("cpu", &p.CPU, why(plan.ServerCPU))
		p.Refused.move("share", &p.Share, why(plan.ServerCPU))
	}
	for i := range s.Steps {
		s.Steps[i].refuse(why)
	}
}

// callMetrics are those of calls.
func callMetrics() []Metric {
	all := []Metric{
		perRequest(plan.ServerCPU, "server CPU", Time, func(t *Trial) (float64, bool) { return cpu(t.Server) }),
		optional(perRequest(plan.DatabaseCPU, "database CPU", Time, databaseCPU)),
		optional(perRequest(plan.BackendCPU, "server + database CPU", Time, backendCPU)),
		optional(Metric{
			ID: plan.PoolWait, Title: "wait for a connection to the database per request", Short: "pool wait/req", Dimension: Time,
			Gain: "shorter", Loss: "longer", Closed: true, Open: true, take: perCall(poolWait),
		}),
		{
			ID: plan.Throughput, Title: "throughput", Short: "throughput", Dimension: Frequency, Higher: true,
			Gain: "faster", Loss: "slower", Closed: true, take: throughput,
		},
	}
	all = append(all, times("response", false)...)
	all = append(all, times("service", true)...)
	return append(all,
		// Published figures are means, so there is one to hold beside them; it
		// hides the tail.
		Metric{
			ID: plan.ResponseMean, Title: "mean response time", Short: "response mean", Dimension: Time,
			Gain: "faster", Loss: "slower", Closed: true, Open: true, take: meanResponse,
		},
		perRequest(plan.ClientCPU, "client CPU", Time, func(t *Trial) (float64, bool) { return cpu(t.Driver) }),
		perRequest(plan.WireSent, "sent", Size, func(t *Trial) (float64, bool) { return ourTotal(t, t.WireSent) }),
		perRequest(plan.WireReceived, "received", Size, func(t *Trial) (float64, bool) { return ourTotal(t, t.WireReceived) }),
		perRequest(plan.ServerAllocations, "server allocs", Number, func(t *Trial) (float64, bool) { return served(t.Server) }),
		perRequest(plan.ClientAllocations, "client allocs", Number, func(t *Trial) (float64, bool) { return allocations(t.Driver) }),
		Metric{
			ID: Connections, Title: "connections opened while measuring", Short: "connections opened", Dimension: Number, Gain: "fewer", Loss: "more",
			Closed: true, Open: true, Streams: true, Counted: true, take: func(t *Trial) (float64, bool) { return ourTotal(t, t.Connections) },
		},
	)
}
