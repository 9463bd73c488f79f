package resulttest

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// Chained returns a result of chains over two wires in 12 rounds: log in, list and act on an external service. The
// list takes most of the time.
func Chained() *result.Result {
	arms := []Arm{
		{
			Name: "rest", Protocol: "rest", Framing: "HTTP", Encoding: "as given", ServerCPU: 90_000, ClientCPU: 60_000,
			Response: 300 * time.Microsecond,
		},
		{
			Name: "grpc", Protocol: "grpc", Server: "grpc-go", Client: "grpc-go", Multiplexed: true, ServerCPU: 70_000,
			ClientCPU: 70_000, Response: 240 * time.Microsecond,
		},
	}
	r := Make(Setting{
		Name: "example-chained", About: "What does a visit cost?", Arms: arms,
		Loads: []plan.Load{{InFlight: 10}}, Rounds: 12, Seed: 0x5743,
	})
	r.Plan.Workload, r.Plan.Operation, r.Plan.Requests, r.Plan.Floor = "shop", "checkout", "", plan.FloorNone
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			t.Floor = nil
			t.Steps = result.NewSteps([]string{"login", "list", "buy"})
			for s, part := range []float64{0.2, 0.68, 0.1} {
				times(t.Steps[s].Times, t.OK, part*float64(t.Service.Quantile(0.5)), 1)
			}
		}
	}
	return r
}
