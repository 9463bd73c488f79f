package resulttest

import (
	"math/rand/v2"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Way is a path for log entries, with its true times.
type Way struct {
	Name string // and protocol
	// Answer is the median time of an answer, with one call in flight. An entry is stored Later after that. CPU is
	// that of all processes, for an entry.
	Answer, Later, CPU time.Duration
	// DeliveryGuarantee says how entries are handed on; nil: not recorded. Database is where they are kept; "" is
	// memory.
	Guarantee *result.Guarantee
	Broker    string
	Database  string
	// Missing is the number of entries of the fourth round that were never stored.
	Missing uint64
	// Unconfirmed entries have no time of confirmation.
	Unconfirmed bool
}

// Queued is the guarantee of a path through a broker: persistent, with confirms as given.
func Queued(broker, kind string, confirms bool) *result.Guarantee {
	return &result.Guarantee{Broker: broker, Queue: kind, Confirms: confirms, Persistent: true, Sync: result.SyncFirst}
}

// Ways returns the result of a log pipeline's paths under a load.
func Ways(rounds int, load plan.Load, ways ...Way) *result.Result {
	var arms []Arm
	for _, w := range ways {
		arms = append(arms, Arm{
			Name: w.Name, Protocol: w.Name, Encoding: "JSON", ServerCPU: w.CPU, ClientCPU: 70 * time.Microsecond,
			Response: w.Answer, Database: w.Database,
		})
	}
	r := Make(Setting{
		Name: "ways", About: "Call the service, or put a queue between?", Arms: arms,
		Loads: []plan.Load{load}, Rounds: rounds, Seed: 0xdec1, Noise: 0.01,
	})
	r.Plan.Workload, r.Plan.Operation, r.Plan.Requests, r.Plan.Floor = "logging", "WriteLog", "", plan.FloorNone
	for i := range ways {
		r.Arms[i].Guarantee, r.Arms[i].Broker = ways[i].Guarantee, ways[i].Broker
		if ways[i].Database != "" {
			r.Plan.Arms[i].Database = "embedded"
		}
	}
	random := rand.New(rand.NewPCG(0xdec1, 2))
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			w := &ways[t.Arm]
			t.Floor = nil
			f := &result.Followed{
				Sent: t.Sent, Accepted: t.OK, Refused: t.Sent - t.OK, Stored: t.OK,
				ConfirmedAfter: &stat.Histogram{}, StoredAfter: &stat.Histogram{},
			}
			if n == 3 {
				f.Missing, f.Stored = w.Missing, t.OK-w.Missing
			}
			reply := float64(t.Response.Quantile(0.5))
			if !w.Unconfirmed {
				f.Confirmed = t.OK
				times(f.ConfirmedAfter, t.OK, 0.95*reply, 1)
			}
			times(f.StoredAfter, f.Stored, reply*(1+0.01*random.NormFloat64())+float64(w.Later), 1)
			f.Drained = plan.Duration(w.Later)
			t.Followed = f
		}
	}
	return r
}

// FourWays returns the usual four with 50 calls in flight: log-grpc, which is the cheapest and the first to store;
// log-http, whose answers are almost equal; log-rabbit; and log-nats, which answers first, because it is not
// confirmed.
func FourWays(rounds int) *result.Result {
	const database = "SQLite 3.54.1"
	return Ways(rounds, plan.Load{InFlight: 50},
		Way{
			Name: "log-grpc", Answer: 700 * time.Microsecond, CPU: 210 * time.Microsecond, Guarantee: &result.Guarantee{},
			Database: database,
		},
		Way{
			Name: "log-http", Answer: 702 * time.Microsecond, CPU: 260 * time.Microsecond, Guarantee: &result.Guarantee{},
			Database: database,
		},
		Way{
			Name: "log-rabbit", Answer: 1200 * time.Microsecond, Later: 90 * time.Millisecond,
			CPU:       480 * time.Microsecond,
			Guarantee: Queued("RabbitMQ", "quorum", true), Broker: "RabbitMQ 3.10.8", Database: database,
		},
		Way{
			Name: "log-nats", Answer: 400 * time.Microsecond, Later: 60 * time.Millisecond, CPU: 390 * time.Microsecond,
			Unconfirmed: true,
			Guarantee:   Queued("NATS JetStream", "stream", false), Broker: "NATS JetStream 2.15.2", Database: database,
		},
	)
}
