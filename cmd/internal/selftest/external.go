package selftest

import (
	"context"
	"slices"

	"wirelab/lab/plan"
)

// externalTest measures servers with known response times through descriptions, as external services.
func externalTest() Test {
	return Test{
		Name: "external",
		Shows: "figures of an external service are true as well: described, and called by the " +
			"library and by the raw driver",
		Required: "every published quantile and mean within 2 % + 100 µs of the closed form",
		Short:    20e9, Long: 600e9,
		run: runExternal,
	}
}

// externalWires are the protocols that external services mostly use.
var externalWires = map[string]bool{ // read only
	"http1-json": true, "h2c-json": true, "http2-json": true, "http3-proto": true, "grpc": true, "graphql": true,
	"websocket": true,
}

func runExternal(ctx context.Context, e Env) (finding, error) {
	service, err := e.External(ctx)
	if err != nil {
		return finding{}, err
	}
	e.external = service
	var jobs []job
	for _, driver := range []string{plan.DriverClient, plan.DriverRaw} {
		e.Driver = driver
		for _, wire := range e.Wires {
			// Over these wires the raw driver cannot call external services. To the raw driver, GraphQL is the same
			// as HTTP/1.1.
			if !externalWires[wire.Protocol.Name] ||
				driver == plan.DriverRaw && (wire.DialRaw == nil || wire.Protocol.Name == "graphql") {
				continue
			}
			jobs = appendLaws(jobs, job{env: e, wire: wire})
		}
		if driver == plan.DriverClient {
			for _, wire := range e.Feeds {
				jobs = appendLaws(jobs, job{env: e, wire: wire, operation: "ListFeatures"})
			}
		}
	}
	// The raw driver does not sleep while calls are in flight, so several raw drivers would disturb each other.
	first := slices.IndexFunc(jobs, func(j job) bool { return j.env.Driver == plan.DriverRaw })
	if first < 0 {
		first = len(jobs) // the raw driver exists only on Linux
	}
	var all truths
	all.measure(ctx, e, jobs[:first], beside)
	all.measure(ctx, e, jobs[first:], 1)
	return all.finding(), nil
}

// appendLaws adds a wire under each law. In the short form it adds it under the first two in turn.
func appendLaws(jobs []job, j job) []job {
	all := laws(j.env)
	if !j.env.Long {
		k := len(jobs) % 2
		all = all[k : k+1]
	}
	for _, j.law = range all {
		jobs = append(jobs, j)
	}
	return jobs
}
