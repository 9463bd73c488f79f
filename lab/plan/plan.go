// Package plan says what an experiment is to do: which arms, under which
// loads, for how long, and when to stop. A plan is written in YAML or made
// from flags, is checked before anything starts, and is stored whole with its
// result. It knows no workload and starts nothing.
package plan

import (
	"slices"
	"strings"
	"time"

	"wirelab"
)

// Plan is one experiment. The zero value of a field means the default that
// [Plan.Complete] fills in; a completed plan depends on no default.
type Plan struct {
	// Name is the preset's or file's name, or "compare".
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// About says in a sentence what question the plan answers.
	About string `json:"about,omitempty" yaml:"about,omitempty"`
	// Workload and Operation are the work: "routeguide", "GetFeature".
	Workload  string `json:"workload" yaml:"workload"`
	Operation string `json:"operation" yaml:"operation"`
	// Requests is how requests are drawn; empty: the operation's first way.
	Requests string `json:"requests,omitempty" yaml:"requests,omitempty"`
	// Data names the workload's data set, for the arms that name none; empty:
	// its first.
	Data string `json:"data,omitempty" yaml:"data,omitempty"`
	// Database is what servers keep their data in, for the arms that name none:
	// "postgres", "embedded" or "memory". Empty: memory, which is all that some
	// workloads have; commands put the one there that they find.
	Database string `json:"database,omitempty" yaml:"database,omitempty"`
	// Pool is how many connections to its database each server holds, the same
	// in every arm. Default: 16.
	Pool int `json:"pool,omitempty" yaml:"pool,omitempty"`
	// Network is the path between driver and server as room network reads it,
	// "cloud" or "rtt=40ms,loss=0.1%". Empty: the loopback as it is.
	Network string `json:"network,omitempty" yaml:"network,omitempty"`
	// Durability is what the acknowledgements of brokers are to promise, "fsync" (a
	// quorum has the message on disk; the default) or "default" (what the broker
	// promises with its default settings), for the arms that say nothing. Only with scenarios.
	Durability string `json:"durability,omitempty" yaml:"durability,omitempty"`
	// Nodes is how many nodes each broker has. Default: 3. Only with scenarios.
	Nodes int `json:"nodes,omitempty" yaml:"nodes,omitempty"`
	// External are the services that are not ours and are the work: Workload is then their name, and protocols of arms
	// are their wires. Of several, a wire is named with its service, as shop-rest. At most 8. Default: the work is one
	// of ours.urs.
	External []External `json:"external,omitempty" yaml:"external,omitempty"`
	// Arms are what is compared, 1 to 64. Each is compared with the first.
	Arms []Arm `json:"arms" yaml:"arms"`
	// Loads are the loads that every arm is put under, 1 to 16. Default: one call in flight.
	Loads []Load `json:"loads,omitempty" yaml:"loads,omitempty"`
	// Rounds bounds the number of rounds. Default: 10 to 100.
	Rounds Rounds `json:"rounds,omitzero" yaml:"rounds,omitempty"`
	// Slices is the number of measured slices in a round, for each arm and
	// load. Default: 10 in the closed loop, 3 in the open one.
	Slices int `json:"slices,omitempty" yaml:"slices,omitempty"`
	// Slice is the length of one. Default: 30 ms in the closed loop, 1 s in
	// the open one, or as long as three calls take at the lowest rate; at least 30 ms.
	Slice Duration `json:"slice,omitempty" yaml:"slice,omitempty"`
	// WarmUp is the least time each arm and load is warmed up in each round.
	// It goes on until steady, at most 8 times as long. Default: 200 ms.
	WarmUp Duration `json:"warm_up,omitempty" yaml:"warm_up,omitempty"`
	// Until is the half-width of the primary metric's interval, as a share
	// (0.02 is ±2 %), at which the experiment stops. 0: not used.
	Until float64 `json:"until,omitempty" yaml:"until,omitempty"`
	// For is the wall time after which no new round starts once Rounds.Min
	// are done. 0: not used. Without Until and For, Rounds.Min rounds are run.
	For Duration `json:"for,omitempty" yaml:"for,omitempty"`
	// Seed draws every order and request. 0: one is drawn and recorded.
	Seed uint64 `json:"seed,omitempty" yaml:"seed,omitempty"`
	// Pin is "auto" (server and driver on disjoint cores where there are two)
	// or "none". Default: auto.
	Pin string `json:"pin,omitempty" yaml:"pin,omitempty"`
	// DriverCores is how many cores the driver gets where it is pinned; the
	// server gets the others. 0: half of them.
	DriverCores int `json:"driver_cores,omitempty" yaml:"driver_cores,omitempty"`
	// Floor is "auto" (each arm's driver is also put before a server that does
	// nothing, once in a round) or "none". Default: auto.
	Floor string `json:"floor,omitempty" yaml:"floor,omitempty"`
	// Deadline is how long one call may take. Default: 10 s.
	Deadline Duration `json:"deadline,omitempty" yaml:"deadline,omitempty"`
	// TLS is how targets are reached over TLS. Default: the system's authorities are trusted.
	TLS TLS `json:"tls,omitzero" yaml:"tls,omitempty"`
	// Primary is the metric that Until and the ranking look at. Default:
	// server CPU per request in the closed loop, response p99 in the open one.
	Primary string `json:"primary,omitempty" yaml:"primary,omitempty"`
	// Practical is the smallest difference called one, as a share. Default: 0.01.
	Practical float64 `json:"practical,omitempty" yaml:"practical,omitempty"`
	// Equivalent is the margin inside which two arms are called equivalent. Default: 0.03.
	Equivalent float64 `json:"equivalent,omitempty" yaml:"equivalent,omitempty"`
	// Explain names the arms between which "wirelab explain" takes the
	// difference apart. Default: plain HTTP/1.1 with JSON and plain gRPC with
	// Protocol Buffers, where there are such arms.
	Explain Corners `json:"explain,omitzero" yaml:"explain,omitempty"`
	// Published are figures others published for these arms, shown beside ours.
	Published []Published `json:"published,omitempty" yaml:"published,omitempty"`
	// Notes are what a reader of these figures must know: what is not as it was
	// there, what is kept although it is a flaw, which rows have no arm here.
	Notes []string `json:"notes,omitempty" yaml:"notes,omitempty"`
	// Contrasts are pairs of arms that show what published flaws are worth.
	Contrasts []Contrast `json:"contrasts,omitempty" yaml:"contrasts,omitempty"`
	// Advice is what was recommended with the published figures, held to ours.
	Advice []Advice `json:"advice,omitempty" yaml:"advice,omitempty"`
}

// Arm is a cell with its settings.
type Arm struct {
	// Name labels the arm; default: its text form, see [Arm.String].
	Name     string `json:"name,omitempty" yaml:"name,omitempty"`
	Protocol string `json:"protocol" yaml:"protocol"`
	// Server and Client are the libraries; empty: the binding's first. Server "null" does
	// nothing but answer. Of a Target, Server only names what serves there; empty: nobody knows.
	Server string `json:"server,omitempty" yaml:"server,omitempty"`
	Client string `json:"client,omitempty" yaml:"client,omitempty"`
	// Driver is "client", the library that a user would use, "raw", our own
	// minimal client, "described", the same as wirelab load drives a service that is not ours,
	// or "tool:" and the name of another load generator: see [Tools]. Empty: client.
	Driver string `json:"driver,omitempty" yaml:"driver,omitempty"`
	// Inject is what the server is made to do beside its work, as room inject
	// reads it: "constant 20ms", "spin 2us". Empty: nothing.
	Inject string `json:"inject,omitempty" yaml:"inject,omitempty"`
	// Data names the data set; empty: the plan's.
	Data string `json:"data,omitempty" yaml:"data,omitempty"`
	// Database is what the server keeps its data in; empty: the plan's.
	Database string `json:"database,omitempty" yaml:"database,omitempty"`
	// Queue says how the message broker of a pipeline's path keeps what passes
	// through it, as room queue reads it: "classic+unconfirmed"; with a scenario how
	// the broker keeps a topic: "classic" of RabbitMQ, "eventual" of Hermes. Empty: safely.
	Queue string `json:"queue,omitempty" yaml:"queue,omitempty"`
	// Durability is what its broker's acknowledgements are to promise; empty: the plan's.
	Durability string `json:"durability,omitempty" yaml:"durability,omitempty"`
	// Connections is how many the driver holds. 0: one on a multiplexed
	// protocol, one for each call in flight on the others.
	Connections int `json:"connections,omitempty" yaml:"connections,omitempty"`
	// Hops are processes between driver and server, each of which takes a call by the arm's protocol and libraries and
	// makes it again: what one more process on the way costs. 0 to 3.
	Hops int `json:"hops,omitempty" yaml:"hops,omitempty"`
	// Target is the address of a server that somebody else runs; empty: one
	// is started here. Its allocations are then unknown, and so is its CPU without a PID.
	Target string `json:"target,omitempty" yaml:"target,omitempty"`
	// PID is the process that serves at Target, on this machine, with all that
	// descends from it. 0: nobody says.
	PID int `json:"pid,omitempty" yaml:"pid,omitempty"`
}

// Library is the library of ours that serves the arm; "" is the usual one. What Server says of
// a target is what serves there, which may be any.
func (a Arm) Library() string {
	if a.Target != "" || a.Null() {
		return ""
	}
	return a.Server
}

// Null reports whether a server that does nothing serves the arm, so that what is measured is the driver.
func (a Arm) Null() bool { return a.Target == "" && a.Server == ServerNull }

// Seen reports whether what the server uses can be known: there is one, and it is started here, or its process is
// named.
func (a Arm) Seen() bool { return !a.Direct() && (a.Target == "" || a.PID != 0) }

// Load is how an arm is driven: closed loop (InFlight) or open loop (Rate or
// Stages), and with which calls.
type Load struct {
	// Operation and Requests stand in for the plan's, so that one experiment
	// can measure several operations; empty: the plan's. Requests belong to
	// Operation, and are the plan's only where Operation is.
	Operation string `json:"operation,omitempty" yaml:"operation,omitempty"`
	Requests  string `json:"requests,omitempty" yaml:"requests,omitempty"`
	// InFlight is the number of calls kept in flight in the closed loop, and
	// the most at once in the open one (default 256 there).
	InFlight int `json:"in_flight,omitempty" yaml:"in_flight,omitempty"`
	// Rate is the arrivals per second, in all, of the open loop.
	Rate float64 `json:"rate,omitempty" yaml:"rate,omitempty"`
	// Arrivals is the open loop's law: "poisson" (default), "constant",
	// "log-normal", or with a Recording "recorded" (default there: in its order,
	// a slice being all of it) or "sampled".
	Arrivals string `json:"arrivals,omitempty" yaml:"arrivals,omitempty"`
	// Spread is the coefficient of variation of log-normal gaps. Default: 2.
	Spread float64 `json:"spread,omitempty" yaml:"spread,omitempty"`
	// Recording is what recorded and sampled arrivals repeat, so fast that they
	// have the Rate; 0: as fast as it was recorded.
	Recording Recording `json:"recording,omitzero" yaml:"recording,omitempty"`
	// Stages makes the rate a function of time; a slice is then all of them.
	Stages []Stage `json:"stages,omitempty" yaml:"stages,omitempty"`
	// Streams is how many streams of a feed are held open at once, instead of
	// calls; Rate is then the events per second of all of them together.
	Streams int `json:"streams,omitempty" yaml:"streams,omitempty"`
	// Reader is the share of its stream's rate at which each reader reads, to
	// see what becomes of the rest. 0: as fast as it can.
	Reader float64 `json:"reader,omitempty" yaml:"reader,omitempty"`
	// Scenario makes it a load of messages through a broker, and says what happens
	// meanwhile: see [Scenarios]. InFlight is then how many sends are under way at
	// once, Rate the sends per second, of Batch messages each. Empty: calls, or streams.
	Scenario string `json:"scenario,omitempty" yaml:"scenario,omitempty"`
	// Size is the bytes of each message. Default: 100.
	Size int `json:"size,omitempty" yaml:"size,omitempty"`
	// Batch is how many messages a send carries. Default: 1; 100 of PublishBatch.
	Batch int `json:"batch,omitempty" yaml:"batch,omitempty"`
	// Groups is how many groups read each topic. Default: 1; 4 with scenario fanout.
	Groups int `json:"groups,omitempty" yaml:"groups,omitempty"`
	// Delay is what a reader takes for each message with scenario slow. Default: 2 ms.
	Delay Duration `json:"delay,omitempty" yaml:"delay,omitempty"`
}

// Stage is a part of an open load in which the rate goes from From to To
// (requests/s) in a straight line.
type Stage struct {
	For  Duration `json:"for" yaml:"for"`
	From float64  `json:"from" yaml:"from"`
	To   float64  `json:"to" yaml:"to"`
}

// Corners are two arms, each by its name or by the protocol of several.
type Corners struct {
	From string `json:"from,omitempty" yaml:"from,omitempty"`
	To   string `json:"to,omitempty" yaml:"to,omitempty"`
}

// Rounds bounds the rounds of an experiment.
type Rounds struct {
	Min int `json:"min,omitempty" yaml:"min,omitempty"`
	Max int `json:"max,omitempty" yaml:"max,omitempty"`
}

// Duration is a time.Duration written as "50ms".
type Duration time.Duration

// Raw reports whether the raw driver drives the arm.
func (a Arm) Raw() bool { return a.Driver == DriverRaw }

// Described reports whether the raw driver drives the arm as a service that is not ours.
func (a Arm) Described() bool { return a.Driver == DriverDescribed }

// Tool is the load generator of others that drives the arm; "" if one of ours does.
func (a Arm) Tool() string {
	name, ok := strings.CutPrefix(a.Driver, DriverTool)
	if !ok {
		return ""
	}
	return name
}

// OperationOf is the operation that a load calls.
func (p Plan) OperationOf(l Load) string {
	if l.Operation != "" {
		return l.Operation
	}
	return p.Operation
}

// RequestsOf is how a load's requests are drawn; "" is the operation's first way.
func (p Plan) RequestsOf(l Load) string {
	if l.Requests != "" || l.Operation != "" && l.Operation != p.Operation {
		return l.Requests
	}
	return p.Requests
}

// Operations are those that the loads call, each once, in their order.
func (p Plan) Operations() []string {
	var all []string
	for _, l := range p.Loads {
		if o := p.OperationOf(l); !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return []string{p.Operation}
	}
	return all
}

// DataOf is the name of an arm's data set; "" is the workload's first.
func (p Plan) DataOf(a Arm) string {
	if a.Data != "" {
		return a.Data
	}
	return p.Data
}

// DatabaseOf is what an arm's server keeps its data in; "" is memory.
func (p Plan) DatabaseOf(a Arm) string {
	kind := p.Database
	if a.Database != "" {
		kind = a.Database
	}
	if kind == wirelab.Memory {
		return ""
	}
	return kind
}

// Databases are those that the arms' servers need, each once.
func (p Plan) Databases() []string {
	var all []string
	for _, a := range p.Arms {
		if kind := p.DatabaseOf(a); kind != "" && a.Target == "" && !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return all
}

// Open reports whether the load is an open loop.
func (l Load) Open() bool { return l.Rate > 0 || len(l.Stages) > 0 || l.Recording.Given() }

// Replays reports whether a slice of the load is all of a recording.
func (l Load) Replays() bool { return l.Recording.Given() && l.Arrivals != Sampled }
