package benchmark

import (
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Description says what a run was, in the words of the first benchmark where it had them.
type Description struct {
	Scenario, Protocol, Client string
	Wire                       string // the protocol by wirelab's name
	Concurrency                int    // calls in flight, or open streams
	Rate                       *float64
}

// Describe returns the description of a run.
func Describe(r *result.Result, u *Run) Description {
	l, arm := r.Plan.Loads[u.Load], r.Plan.Arms[u.Arm]
	d := Description{Wire: arm.Protocol, Client: "go", Concurrency: max(l.InFlight, 1)}
	if l.Open() {
		d.Concurrency = l.Width()
	}
	if l.Rate > 0 {
		d.Rate = number(l.Rate)
	}
	if arm.Raw() || u.Arm < len(r.Arms) && r.Arms[u.Arm].Driver == plan.DriverRaw {
		d.Client = "go-raw"
	}
	d.Scenario, d.Protocol = theirs(r.Plan.Workload, r.Plan.OperationOf(l), d.Wire)
	return d
}

// theirs returns the words of the first benchmark.
func theirs(workload, operation, protocol string) (scenario, wire string) {
	switch {
	case workload == "ledger" && operation == "GetBalance":
		scenario = "balance"
	case workload == "ledger" && operation == "StreamTransactions":
		scenario = "stream"
	default:
		scenario = workload + "." + operation
	}
	if workload == "ledger" && (protocol == "http1-json" || protocol == "sse" && scenario == "stream") {
		return scenario, "rest"
	}
	return scenario, protocol
}

// Millis converts a time to milliseconds.
func Millis(nanos *float64) *float64 {
	if nanos == nil {
		return nil
	}
	return new(*nanos / 1e6)
}
