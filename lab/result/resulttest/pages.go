package resulttest

import (
	"math"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Two returns a result of two arms with 1 call in flight, 20 rounds.
func Two() *result.Result {
	r := Make(Setting{
		Name: "example-two", About: "Should a small lookup go over gRPC or over HTTP/1.1?",
		Arms: Arms()[:2], Loads: []plan.Load{{InFlight: 1}}, Rounds: 20, Seed: 0x0022,
	})
	r.Certificate = Certified().Certificate
	return r
}

// Wide returns a result of twelve arms in 30 rounds, which a page must draw quickly.
func Wide() *result.Result { return crowd(12, 30) }

// Crowded returns a result of 33 arms with long names in 12 rounds.
func Crowded() *result.Result {
	r := crowd(33, 12)
	for i := range r.Arms {
		r.Arms[i].Name += ",client=some-library,connections=16"
		r.Plan.Arms[i].Name = r.Arms[i].Name
	}
	return r
}

// crowd makes arms over every wire, each about 4 % more expensive than the one before.
func crowd(n, rounds int) *result.Result {
	names := []string{
		"http1-json", "http1-proto", "h2c-json", "h2c-proto", "http2-json", "http2-proto",
		"http3-proto", "grpc", "grpc-tls", "connect", "graphql", "netrpc",
	}
	var arms []Arm
	for i := range n {
		name := names[i%len(names)]
		dearer := 1 + 0.04*float64(i)
		arms = append(arms, Arm{
			Name: name, Protocol: name, Multiplexed: i%len(names) > 1, ServerCPU: time.Duration(20000 * dearer),
			ClientCPU: time.Duration(19000 * dearer),
			Response:  time.Duration(60000 * dearer), Sent: uint64(max(60, 200-8*i)),
			Received:     uint64(max(50, 180-7*i)),
			ServerAllocs: uint64(20 + i), ClientAllocs: uint64(25 + i),
		})
		if i >= len(names) {
			arms[i].Name += "-" + string(rune('a'+i/len(names)))
		}
	}
	return Make(Setting{
		Name: "example-wide", About: "Which wire is cheapest?", Arms: arms, Loads: []plan.Load{{InFlight: 8}},
		Rounds: rounds, Seed: 0x0c1e,
	})
}

// Operations returns a result of five operations over three stacks, each with 4 calls in flight, and published rates.
func Operations() *result.Result {
	arms := []Arm{
		{
			Name: "http", Protocol: "http1-json", ServerCPU: 26000, ClientCPU: 24000, Response: 70 * time.Microsecond,
			Sent: 180, Received: 420, ServerAllocs: 40, ClientAllocs: 52,
		},
		{
			Name: "rpc-protobuf", Protocol: "grpc", Server: "grpc-go", Client: "grpc-go", Multiplexed: true,
			ServerCPU: 30000, ClientCPU: 27000, Response: 76 * time.Microsecond, Sent: 95, Received: 210,
			ServerAllocs: 44, ClientAllocs: 47,
		},
		{
			Name: "rpc-avro", Protocol: "grpc-avro", Server: "grpc-go", Client: "grpc-go", Multiplexed: true,
			ServerCPU: 30300, ClientCPU: 28500, Response: 78 * time.Microsecond, Sent: 92, Received: 196,
			ServerAllocs: 49, ClientAllocs: 55,
		},
	}
	operations := []struct {
		name string
		work float64
	}{
		{"CreatePerson", 1.15},
		{"GetPerson", 1},
		{"GetPersonLinks", 1.4},
		{"ListPersons", 1.25},
		{"ProgramComposition", 8.6},
	}
	published := [][3]float64{
		{2567.182, 6417.909, 3716.135},
		{4352.536, 7345.886, 4778.613},
		{3535.380, 5604.365, 3812.347},
		{3766.406, 6106.618, 4424.835},
		{422.560, 818.099, 501.256},
	}
	var all *result.Result
	for i, o := range operations {
		scaled := make([]Arm, len(arms))
		for a, arm := range arms {
			scaled[a] = arm.times(o.work)
		}
		load := plan.Load{InFlight: 4, Operation: o.name}
		one := Make(Setting{
			Name: "example-operations", About: "What do five operations cost over three stacks?",
			Arms: scaled, Loads: []plan.Load{load}, Rounds: 12, Seed: uint64(0x0500 + i),
		})
		all = join(all, one)
	}
	all.Plan.Workload, all.Plan.Operation, all.Plan.Requests = "directory", "GetPerson", ""
	for i, o := range operations {
		for a, rate := range published[i] {
			all.Plan.Published = append(all.Plan.Published, plan.Published{
				Source: "a published comparison", Machine: "a laptop of 2 cores", Arm: arms[a].Name, Operation: o.name,
				Rate: rate, PlusMinus: 0.05 * rate, Flaws: []string{"mt-M04"},
			})
		}
	}
	return all
}

// times multiplies an arm's own costs by a factor.
func (a Arm) times(n float64) Arm {
	long := func(d time.Duration) time.Duration { return time.Duration(n * float64(d)) }
	many := func(count uint64) uint64 { return uint64(n * float64(count)) }
	a.ServerCPU, a.ClientCPU, a.Response = long(a.ServerCPU), long(a.ClientCPU), long(a.Response)
	a.Sent, a.Received = many(a.Sent), many(a.Received)
	a.ServerAllocs, a.ClientAllocs = many(a.ServerAllocs), many(a.ClientAllocs)
	return a
}

// join adds the loads of another result of the same arms and rounds.
func join(all, one *result.Result) *result.Result {
	if all == nil {
		return one
	}
	for n := range one.Rounds {
		for _, t := range one.Rounds[n].Trials {
			t.Load = len(all.Plan.Loads)
			all.Rounds[n].Trials = append(all.Rounds[n].Trials, t)
		}
	}
	all.Plan.Loads = append(all.Plan.Loads, one.Plan.Loads...)
	return all
}

// Rising returns an open-loop result of three arms at eight rates. Response times grow as in queues, grpc cannot keep
// up with the last two rates, and connect's calls at the third were late.
func Rising() *result.Result {
	arms := Arms()
	capacity := []float64{16500, 12500, 15500}
	var all *result.Result
	for i, rate := range []float64{2000, 4000, 6000, 8000, 10000, 12000, 14000, 15000} {
		slower := make([]Arm, len(arms))
		for a, arm := range arms {
			busy := rate / capacity[a]
			slow := 1 / (1 - min(busy, 0.97))
			slower[a] = arm
			slower[a].Response = time.Duration(float64(arm.Response) * (0.6 + 0.4*slow))
			if busy > 1 {
				slower[a].Response = time.Duration(float64(200*time.Millisecond) * math.Sqrt(busy-1))
			}
			slower[a].Floor = arm.Response / 4
		}
		one := Make(Setting{
			Name: "example-rising", About: "How does response time grow with the rate?", Arms: slower,
			Loads: []plan.Load{{Rate: rate, Arrivals: plan.Poisson, InFlight: 1024}}, Rounds: 10,
			Seed: uint64(0x0710 + i), Noise: 0.05,
		})
		for n := range one.Rounds {
			for j := range one.Rounds[n].Trials {
				t := &one.Rounds[n].Trials[j]
				if busy := rate / capacity[t.Arm]; busy > 1 {
					t.Completed = uint64(float64(t.OK) / busy)
				}
				if t.Arm == 2 && i == 2 {
					t.Lag = &stat.Histogram{}
					times(t.Lag, t.OK, 4e6, 4)
				}
			}
		}
		all = join(all, one)
	}
	return all
}
