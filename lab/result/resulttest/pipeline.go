package resulttest

import (
	"math"
	"math/rand/v2"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Pipeline returns a result of a log pipeline with 50 calls in flight and at a rate, 12 rounds. The entries of
// log-grpc are stored before the caller gets a reply. Those of log-rabbit wait in a queue and sometimes come twice.
// log-rabbit-published confirms nothing and lost one entry, so it has no figure.
func Pipeline() *result.Result {
	arms := []Arm{
		{
			Name: "log-grpc", Protocol: "log-grpc", Encoding: "JSON", ServerCPU: 210_000, ClientCPU: 70_000,
			Response: 700 * time.Microsecond, Database: "SQLite 3.54.1", ServerAllocs: 280, ClientAllocs: 85,
		},
		{
			Name: "log-rabbit", Protocol: "log-rabbit", Encoding: "JSON", ServerCPU: 480_000, ClientCPU: 75_000,
			Response: 1200 * time.Microsecond, Database: "PostgreSQL 17", DatabaseCPU: 90_000, ServerAllocs: 400,
			ClientAllocs: 86,
		},
		{
			Name: "log-rabbit-published", Protocol: "log-rabbit-published", Encoding: "JSON", ServerCPU: 700_000,
			ClientCPU: 80_000, Response: 2400 * time.Microsecond, Database: "SQLite 3.54.1", ServerAllocs: 400,
			ClientAllocs: 86,
		},
	}
	loads := []plan.Load{{InFlight: 50}, {Rate: 800, Arrivals: plan.Poisson, InFlight: 256}}
	r := Make(Setting{
		Name: "example-pipeline", About: "Call the service, or put a queue between?", Arms: arms,
		Loads: loads, Rounds: 12, Seed: 0x10a6, Noise: 0.04,
	})
	r.Plan.Workload, r.Plan.Operation, r.Plan.Requests, r.Plan.Floor = "logging", "WriteLog", "", plan.FloorNone
	r.Plan.Slices, r.Plan.Slice = 1, plan.Duration(2*time.Second)
	r.Arms[0].Guarantee = &result.Guarantee{}
	for i, queue := range []string{"quorum", "classic"} {
		r.Arms[1+i].Broker = "RabbitMQ 3.10.8"
		r.Arms[1+i].Guarantee = &result.Guarantee{
			Broker: "RabbitMQ", Queue: queue, Confirms: i == 0, Persistent: i == 0,
			Sync: result.SyncFirst,
		}
	}
	random := rand.New(rand.NewPCG(0x10a6, 2))
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			t.Floor = nil
			follow(t, random)
			if t.Arm == 2 && n == 7 {
				t.Followed.Stored, t.Followed.Missing = t.Followed.Stored-1, 1
				t.Followed.StoredAfter = &stat.Histogram{}
				times(t.Followed.StoredAfter, t.OK-1, 80e6, 1)
			}
		}
	}
	return r
}

// follow makes the counts of a trial's entries, and the use of each process.
func follow(t *result.Trial, random *rand.Rand) {
	f := &result.Followed{
		Sent: t.Sent, Accepted: t.OK, Refused: t.Sent - t.OK, Stored: t.OK,
		ConfirmedAfter: &stat.Histogram{}, StoredAfter: &stat.Histogram{},
	}
	reply := float64(t.Response.Quantile(0.5))
	cpu := t.Server.CPU
	backlog := make([]int32, 23)
	switch t.Arm {
	case 0:
		f.Confirmed = t.OK
		times(f.ConfirmedAfter, t.OK, 0.9*reply, 1)
		times(f.StoredAfter, t.OK, 0.8*reply, 1)
		t.Parts = map[string]plan.Duration{"gateway": cpu / 2, "logger": cpu - cpu/2}
		t.Followed = f
		f.Backlog = [][]int32{backlog[:21]}
		return
	case 1:
		f.Confirmed = t.OK
		times(f.ConfirmedAfter, t.OK, 0.95*reply, 1)
		f.Duplicated, f.Reordered = 2, 5
	}
	times(f.StoredAfter, t.OK, 120e6, 1)
	most := 300 + 200*random.Float64()
	for i := range backlog {
		backlog[i] = int32(most * math.Sin(math.Pi*float64(i)/float64(len(backlog)-1)))
	}
	backlog[len(backlog)-1] = 0
	f.Backlog, f.Drained = [][]int32{backlog}, plan.Duration(280*time.Millisecond)
	t.Parts = map[string]plan.Duration{
		"gateway": cpu / 4, "logger": cpu / 4, "rabbitmq": cpu / 4,
		"listener-rabbit": cpu - 3*(cpu/4),
	}
	t.Followed = f
}
