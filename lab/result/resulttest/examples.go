package resulttest

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/calibration"
	"wirelab/lab/stat"
)

// Arms returns three arms: http1-proto, grpc, which costs the server 32 % more, and connect, whose server costs the
// same as http1-proto's to within 0.5 %.
func Arms() []Arm {
	return []Arm{
		{
			Name: "http1-proto", Protocol: "http1-proto", ServerCPU: 24100, ClientCPU: 21800,
			Response: 61 * time.Microsecond,
			Sent:     212, Received: 188, ServerAllocs: 24, ClientAllocs: 31,
		},
		{
			Name: "grpc", Protocol: "grpc", Server: "grpc-go", Client: "grpc-go", Multiplexed: true,
			ServerCPU: 31900, ClientCPU: 27400, Response: 74 * time.Microsecond,
			Sent: 97, Received: 84, ServerAllocs: 38, ClientAllocs: 44,
		},
		{
			Name: "connect", Protocol: "connect", Server: "connect-go", Client: "connect-go", Multiplexed: true,
			ServerCPU: 24200, ClientCPU: 22300, Response: 62 * time.Microsecond,
			Sent: 241, Received: 196, ServerAllocs: 29, ClientAllocs: 35,
		},
	}
}

// Closed returns a closed-loop result without problems: three arms with 1 and 50 calls in flight, 30 rounds, and
// published figures for two of the arms.
func Closed() *result.Result {
	r := Make(Setting{
		Name: "example", About: "What does one small request cost over three wires?",
		Arms: Arms(), Loads: []plan.Load{{InFlight: 1}, {InFlight: 50}}, Rounds: 30, Seed: 0x7f3a, Until: 0.02,
	})
	r.Ending = result.WidthReached
	r.Plan.Published = []plan.Published{
		{
			Source: "an example write-up, table 1", Machine: "darwin/arm64, 10 processors", Arm: "http1-proto",
			Mean: 49005, Flaws: []string{"duh-M01", "duh-M02"},
		},
		{
			Source: "an example write-up, table 1", Machine: "darwin/arm64, 10 processors", Arm: "grpc", Mean: 56548,
			Flaws: []string{"duh-M02"},
		},
	}
	return r
}

// Open returns an open-loop result: three arms at two rates, 12 rounds. Under the second load connect's calls were
// late, so its quantiles are invalid.
func Open() *result.Result {
	r := Make(Setting{
		Name: "example-open", About: "How long does a request take at a rate that users set?", Arms: Arms(),
		Loads: []plan.Load{
			{Rate: 2000, Arrivals: plan.Poisson, InFlight: 256},
			{Rate: 5000, Arrivals: plan.Constant, InFlight: 256},
		},
		Rounds: 12, Seed: 0x0be1, Noise: 0.06,
	})
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if t := &r.Rounds[n].Trials[i]; t.Arm == 2 && t.Load == 1 {
				t.Lag.Reset()
				times(t.Lag, t.OK, 40_000, 4)
			}
		}
	}
	return r
}

// Troubled returns a result with many problems: grpc gave wrong answers, connect failed in 3 of 12 rounds, h2c-proto
// was never steady, http3-proto was removed, and netrpc's server is unknown, except that it is near the floor.
func Troubled() *result.Result {
	arms := append(Arms(),
		Arm{
			Name: "h2c-proto", Protocol: "h2c-proto", Multiplexed: true, ServerCPU: 29000, ClientCPU: 25000,
			Response: 70 * time.Microsecond, Sent: 130, Received: 110, ServerAllocs: 33, ClientAllocs: 37,
		},
		Arm{
			Name: "http3-proto", Protocol: "http3-proto", Server: "quic-go", Client: "quic-go", Multiplexed: true,
			ServerCPU: 60000, ClientCPU: 58000, Response: 150 * time.Microsecond, Sent: 180, Received: 160,
			ServerAllocs: 71, ClientAllocs: 80,
		},
		Arm{
			Name: "netrpc", Protocol: "netrpc", Multiplexed: true, ServerCPU: 15000, ClientCPU: 14000,
			Response: 40 * time.Microsecond, Floor: 25 * time.Microsecond, Sent: 61, Received: 58, ServerAllocs: 14,
			ClientAllocs: 15,
		})
	r := Make(Setting{
		Name: "example-troubled", About: "What does a report say when much went wrong?", Arms: arms,
		Loads: []plan.Load{{InFlight: 1}}, Rounds: 12, Seed: 0x0bad,
	})
	r.Arms[4].Out = "3 rounds failed in a row: server did not answer within 10s"
	for n := range r.Rounds {
		round := &r.Rounds[n]
		kept := round.Trials[:0]
		for _, t := range round.Trials {
			switch {
			case t.Arm == 1 && n == 4:
				t.Errors = map[string]uint64{"mismatch": 2, "deadline_exceeded": 1}
				t.Sent += 3
			case t.Arm == 2 && n >= 9:
				round.Failures = append(round.Failures, result.Failure{Arm: 2, Why: "server ended: exit status 2"})
				continue
			case t.Arm == 3:
				t.Steady = n == 0
			case t.Arm == 4:
				continue
			case t.Arm == 5:
				t.Server = nil
			}
			kept = append(kept, t)
		}
		round.Trials = kept
	}
	return r
}

// Ledger returns a result of servers with a database: two arms with one that shares a core with the server, and one
// with an embedded one. With 50 calls in flight they wait for one of 16 connections to it.
func Ledger() *result.Result {
	arms := Arms()[:2]
	for i := range arms {
		arms[i].Database, arms[i].DatabaseCPU, arms[i].PoolWait = "PostgreSQL 15.18", 45*time.Microsecond, 0.6
		arms[i].Response = 140 * time.Microsecond
	}
	arms[0].Response = 100 * time.Microsecond
	inside := Arms()[1]
	inside.Name, inside.Database, inside.ServerCPU = "grpc,db=embedded", "SQLite 3.51.1", 39*time.Microsecond
	r := Make(Setting{
		Name: "example-ledger", About: "What does a request cost that a database answers?", Arms: append(arms, inside),
		Loads: []plan.Load{{InFlight: 1}, {InFlight: 50}}, Rounds: 20, Seed: 0x0db0,
	})
	r.Plan.Workload, r.Plan.Operation, r.Plan.Requests, r.Plan.Database, r.Plan.Pool = "ledger", "GetBalance", "known",
		"postgres", 16
	r.Plan.Arms[2].Database = "embedded"
	return r
}

// LedgerElsewhere returns [Ledger] with its database on another host.
func LedgerElsewhere() *result.Result {
	r := Ledger()
	r.Placement.DatabaseCPUs = nil
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			if d := r.Rounds[n].Trials[i].Database; d != nil {
				d.Processes = nil
			}
		}
	}
	return r
}

// Short returns the first n rounds of [Closed], as after an interruption.
func Short(n int) *result.Result {
	r := Closed()
	r.Rounds = r.Rounds[:n]
	r.Ending = result.Interrupted
	return r
}

// OneArm returns a result with nothing to compare.
func OneArm() *result.Result {
	return Make(Setting{
		Name: "example-one", About: "What does one wire cost?", Arms: Arms()[:1], Loads: []plan.Load{{InFlight: 1}},
		Rounds: 10, Seed: 0x0001,
	})
}

// Certified returns [OneArm] with a calibration of its machine.
func Certified() *result.Result {
	arm := Arms()[0]
	burst := Make(Setting{
		Name: "doctor", Arms: []Arm{arm, arm}, Loads: []plan.Load{{InFlight: 1}}, Rounds: 12,
		Seed: 0x0003,
	})
	burst.Ended = burst.Began.Add(12 * 600 * time.Millisecond)
	r := OneArm()
	var err error
	if r.Certificate, err = calibration.Certify(burst); err != nil {
		panic("resulttest: " + err.Error())
	}
	return r
}

// LongNames returns a result whose arms are named after their settings.
func LongNames() *result.Result {
	arms := Arms()
	for i := range arms {
		arms[i].Name = arms[i].Protocol + ",client=net/http,connections=16"
	}
	return Make(Setting{
		Name: "example-long", About: "What do connections cost?", Arms: arms, Loads: []plan.Load{{InFlight: 50}},
		Rounds: 10, Seed: 0x0002,
	})
}

// Many returns a result of twelve arms, each about 4 % more expensive than the one before it, in 14 rounds. Some of
// them can be distinguished and some cannot.
func Many() *result.Result {
	var arms []Arm
	for i, name := range []string{
		"http1-json", "http1-proto", "h2c-json", "h2c-proto", "http2-json", "http2-proto",
		"http3-proto", "grpc", "grpc-tls", "connect", "graphql", "netrpc",
	} {
		dearer := 1 + 0.04*float64(i)
		arms = append(arms, Arm{
			Name: name, Protocol: name, Multiplexed: i > 1, ServerCPU: time.Duration(20000 * dearer),
			ClientCPU: time.Duration(19000 * dearer),
			Response:  time.Duration(60000 * dearer), Sent: uint64(200 - 8*i), Received: uint64(180 - 7*i),
			ServerAllocs: uint64(20 + i), ClientAllocs: uint64(25 + i),
		})
	}
	return Make(Setting{
		Name: "example-many", About: "Which wire is cheapest?", Arms: arms, Loads: []plan.Load{{InFlight: 8}},
		Rounds: 14, Seed: 0x000c,
	})
}

// Times returns a histogram of n durations around a median.
func Times(n uint64, median time.Duration) *stat.Histogram {
	h := &stat.Histogram{}
	times(h, n, float64(median), 1)
	return h
}
