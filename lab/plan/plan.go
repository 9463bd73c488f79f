// Package plan describes an experiment: which arms, under which loads, for how long, and when it ends. A plan is
// written in YAML or made from flags. It is checked before anything starts, and is stored whole with its result. The
// package knows no workload and starts nothing.
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
	// About is one sentence with the question that the plan answers.
	About string `json:"about,omitempty" yaml:"about,omitempty"`
	// Workload and Operation are the work, such as "routeguide" and "GetFeature".
	Workload  string `json:"workload" yaml:"workload"`
	Operation string `json:"operation" yaml:"operation"`
	// Requests is how requests are drawn. Empty: the first way that the operation has.
	Requests string `json:"requests,omitempty" yaml:"requests,omitempty"`
	// Data is the workload's data set for arms that name none. Empty: the workload's first one.
	Data string `json:"data,omitempty" yaml:"data,omitempty"`
	// Database is where servers keep their data, for arms that name none: "postgres", "embedded" or "memory". Empty:
	// memory, the only choice of some workloads. Commands fill in the database that they find.
	Database string `json:"database,omitempty" yaml:"database,omitempty"`
	// Pool is how many database connections each server holds, the same in every arm. Default: 16.
	Pool int `json:"pool,omitempty" yaml:"pool,omitempty"`
	// Network is the path between driver and server, in the form that package network reads: "cloud" or
	// "rtt=40ms,loss=0.1%". Empty: the unchanged loopback.
	Network string `json:"network,omitempty" yaml:"network,omitempty"`
	// Hosts are the machines that servers and drivers run on. Default: the runner's own.
	Hosts Hosts `json:"hosts,omitzero" yaml:"hosts,omitempty"`
	// Durability is what an acknowledgement of a broker must guarantee, for arms that do not say it: "fsync" (a
	// quorum has the message on disk; the default) or "default" (the broker's default settings). Only with scenarios.
	Durability string `json:"durability,omitempty" yaml:"durability,omitempty"`
	// Nodes is the number of nodes of each broker. Default: 3. Only with scenarios.
	Nodes int `json:"nodes,omitempty" yaml:"nodes,omitempty"`
	// External are services that are not part of wirelab, and are the work. Workload is then their name, and the
	// protocols of arms are their wires. With several services, a wire is named with its service, as in shop-rest. At
	// most 8. Default: the work is one of wirelab's own workloads.
	External []External `json:"external,omitempty" yaml:"external,omitempty"`
	// Arms are compared, each with the first. 1 to 64.
	Arms []Arm `json:"arms" yaml:"arms"`
	// Loads are applied to every arm. 1 to 16. Default: one call in flight.
	Loads []Load `json:"loads,omitempty" yaml:"loads,omitempty"`
	// Rounds bounds the number of rounds. Default: 10 to 100.
	Rounds Rounds `json:"rounds,omitzero" yaml:"rounds,omitempty"`
	// Slices is the number of measured slices in a round, for each arm and
	// load. Default: 10 in the closed loop, 3 in the open one.
	Slices int `json:"slices,omitempty" yaml:"slices,omitempty"`
	// Slice is the length of a slice, at least 30 ms. Default: 30 ms in the closed loop, and 1 s in the open one, or
	// longer if fewer than three calls would be due at the lowest rate.
	Slice Duration `json:"slice,omitempty" yaml:"slice,omitempty"`
	// WarmUp is the minimum warm-up of each arm and load in each round. The warm-up continues until the arm is
	// steady, at most 8 times as long. Default: 200 ms.
	WarmUp Duration `json:"warm_up,omitempty" yaml:"warm_up,omitempty"`
	// Until is a half-width of the primary metric's interval, as a share (0.02 is ±2 %). The experiment stops when
	// the interval is that narrow. 0: not used.
	Until float64 `json:"until,omitempty" yaml:"until,omitempty"`
	// For is the wall time after which no new round starts, once Rounds.Min are done. 0: not used. Without Until and
	// For, Rounds.Min rounds are run.
	For Duration `json:"for,omitempty" yaml:"for,omitempty"`
	// Seed determines every random order and request. 0: a seed is drawn and recorded.
	Seed uint64 `json:"seed,omitempty" yaml:"seed,omitempty"`
	// Pin is "auto" (server and driver on separate cores if there are at least two) or "none". Default: auto.
	Pin string `json:"pin,omitempty" yaml:"pin,omitempty"`
	// DriverCores is how many cores a pinned driver gets. The server gets the others. 0: half of them.
	DriverCores int `json:"driver_cores,omitempty" yaml:"driver_cores,omitempty"`
	// Floor is "auto" (each arm's driver also runs against a server that does nothing, once in a round) or "none".
	// Default: auto.
	Floor string `json:"floor,omitempty" yaml:"floor,omitempty"`
	// Deadline is the maximum duration of one call. Default: 10 s.
	Deadline Duration `json:"deadline,omitempty" yaml:"deadline,omitempty"`
	// TLS says how targets are reached over TLS. Default: the system's certificate authorities are trusted.
	TLS TLS `json:"tls,omitzero" yaml:"tls,omitempty"`
	// Primary is the metric that Until and the ranking use. Default: server CPU per request in the closed loop,
	// response p99 in the open one.
	Primary string `json:"primary,omitempty" yaml:"primary,omitempty"`
	// Practical is the smallest difference that matters, as a share. Default: 0.01.
	Practical float64 `json:"practical,omitempty" yaml:"practical,omitempty"`
	// Equivalent is the margin within which two arms are called equivalent, as a share. Default: 0.03.
	Equivalent float64 `json:"equivalent,omitempty" yaml:"equivalent,omitempty"`
	// Explain names the two arms whose difference "wirelab explain" splits into parts. Default: plain HTTP/1.1 with
	// JSON and plain gRPC with Protocol Buffers, if there are such arms.
	Explain Corners `json:"explain,omitzero" yaml:"explain,omitempty"`
	// Published are figures that others published for these arms. They are shown next to ours.
	Published []Published `json:"published,omitempty" yaml:"published,omitempty"`
	// Notes are what a reader of these figures must know: what differs from the published measurement, which flaws
	// are kept on purpose, and which rows have no arm here.
	Notes []string `json:"notes,omitempty" yaml:"notes,omitempty"`
	// Contrasts are pairs of arms that show how much published flaws change a figure.
	Contrasts []Contrast `json:"contrasts,omitempty" yaml:"contrasts,omitempty"`
	// Advice are the published recommendations, which are checked against our figures.
	Advice []Advice `json:"advice,omitempty" yaml:"advice,omitempty"`
}

// Arm is a cell with its settings.
type Arm struct {
	// Name labels the arm. Default: its text form, see [Arm.String].
	Name     string `json:"name,omitempty" yaml:"name,omitempty"`
	Protocol string `json:"protocol" yaml:"protocol"`
	// Server and Client are the libraries. Empty: the binding's first. Server "null" answers without doing any work.
	// With a Target, Server only says what serves there. Empty then means unknown.
	Server string `json:"server,omitempty" yaml:"server,omitempty"`
	Client string `json:"client,omitempty" yaml:"client,omitempty"`
	// Driver is "client" (the library that a user would use), "raw" (our own minimal client), "described" (the raw
	// client as wirelab load uses it for a service that is not ours), or "tool:" and the name of another load
	// generator: see [Tools]. Empty: client.
	Driver string `json:"driver,omitempty" yaml:"driver,omitempty"`
	// Inject is what the server does in addition to its work, in the form that package inject reads: "constant 20ms",
	// "spin 2us". Empty: nothing.
	Inject string `json:"inject,omitempty" yaml:"inject,omitempty"`
	// Data is the data set. Empty: the plan's.
	Data string `json:"data,omitempty" yaml:"data,omitempty"`
	// Database is where the server keeps its data. Empty: the plan's.
	Database string `json:"database,omitempty" yaml:"database,omitempty"`
	// Queue says how the message broker on a pipeline's path keeps entries, in the form that package queue reads:
	// "classic+unconfirmed". With a scenario it says how the broker keeps a topic: "classic" for RabbitMQ, "eventual"
	// for Hermes. Empty: durably.
	Queue string `json:"queue,omitempty" yaml:"queue,omitempty"`
	// Durability is what an acknowledgement of the arm's broker must guarantee. Empty: the plan's.
	Durability string `json:"durability,omitempty" yaml:"durability,omitempty"`
	// Connections is how many connections the driver holds. 0: one for a multiplexed protocol, one for each call in
	// flight for the others.
	Connections int `json:"connections,omitempty" yaml:"connections,omitempty"`
	// Hops is the number of processes between driver and server. Each accepts a call with the arm's protocol and
	// libraries and forwards it, which shows what one more process costs. 0 to 3.
	Hops int `json:"hops,omitempty" yaml:"hops,omitempty"`
	// Target is the address of a server that wirelab does not start. Its allocations are then unknown, and its CPU is
	// too unless PID is given. Empty: wirelab starts a server.
	Target string `json:"target,omitempty" yaml:"target,omitempty"`
	// PID is the process on this machine that serves at Target. Its descendants are included. 0: unknown.
	PID int `json:"pid,omitempty" yaml:"pid,omitempty"`
}

// Library is the server library of ours that the arm uses; "" is the usual one. It is empty for a target, whose
// Server may be any program.
func (a Arm) Library() string {
	if a.Target != "" || a.Null() {
		return ""
	}
	return a.Server
}

// Null reports whether the arm's server does nothing, so that the driver is measured.
func (a Arm) Null() bool { return a.Target == "" && a.Server == ServerNull }

// Seen reports whether the server's resource use is known: there is a server, and wirelab starts it or its process is
// given.
func (a Arm) Seen() bool { return !a.Direct() && (a.Target == "" || a.PID != 0) }

// Load says how an arm is driven, and with which calls. A load is a closed loop (InFlight) or an open loop (Rate or
// Stages).
type Load struct {
	// Operation and Requests replace the plan's, so that one experiment can measure several operations. Empty: the
	// plan's. The plan's Requests only apply to the plan's Operation.
	Operation string `json:"operation,omitempty" yaml:"operation,omitempty"`
	Requests  string `json:"requests,omitempty" yaml:"requests,omitempty"`
	// InFlight is the number of calls kept in flight in the closed loop. In the open loop it is the maximum, 256 by
	// default.
	InFlight int `json:"in_flight,omitempty" yaml:"in_flight,omitempty"`
	// Rate is the total number of arrivals per second in the open loop.
	Rate float64 `json:"rate,omitempty" yaml:"rate,omitempty"`
	// Arrivals is the distribution of arrivals in the open loop: "poisson" (default), "constant", "log-normal", or
	// with a Recording "recorded" (default there: in its order, and a slice is all of it) or "sampled".
	Arrivals string `json:"arrivals,omitempty" yaml:"arrivals,omitempty"`
	// Spread is the coefficient of variation of log-normal gaps. Default: 2.
	Spread float64 `json:"spread,omitempty" yaml:"spread,omitempty"`
	// Recording has the times between arrivals that recorded and sampled arrivals use. It is sped up or slowed down
	// to the Rate. Rate 0: as fast as it was recorded.
	Recording Recording `json:"recording,omitzero" yaml:"recording,omitempty"`
	// Stages make the rate a function of time. A slice is then all of them.
	Stages []Stage `json:"stages,omitempty" yaml:"stages,omitempty"`
	// Streams is how many streams are held open at once. The load then makes no calls, and Rate is the events per
	// second of all streams together.
	Streams int `json:"streams,omitempty" yaml:"streams,omitempty"`
	// Reader is the share of its stream's rate at which each reader reads, to see what happens to the other events.
	// 0: as fast as it can.
	Reader float64 `json:"reader,omitempty" yaml:"reader,omitempty"`
	// Scenario makes this a load of messages through a broker, and says what happens while they are sent: see
	// [Scenarios]. InFlight is then how many sends are under way at once, and Rate the sends per second, of Batch
	// messages each. Empty: calls, or streams.
	Scenario string `json:"scenario,omitempty" yaml:"scenario,omitempty"`
	// Size is the size of each message in bytes. Default: 100.
	Size int `json:"size,omitempty" yaml:"size,omitempty"`
	// Batch is how many messages a send carries. Default: 1; 100 with operation PublishBatch.
	Batch int `json:"batch,omitempty" yaml:"batch,omitempty"`
	// Groups is how many consumer groups read each topic. Default: 1; 4 with scenario fanout.
	Groups int `json:"groups,omitempty" yaml:"groups,omitempty"`
	// Delay is how long a reader needs for each message with scenario slow. Default: 2 ms.
	Delay Duration `json:"delay,omitempty" yaml:"delay,omitempty"`
}

// Stage is a part of an open load in which the rate changes linearly from From to To, in requests/s.
type Stage struct {
	For  Duration `json:"for" yaml:"for"`
	From float64  `json:"from" yaml:"from"`
	To   float64  `json:"to" yaml:"to"`
}

// Corners are two arms. Each is given by its name, or by a protocol that several arms may have.
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

// Described reports whether the described driver drives the arm: see [DriverDescribed].
func (a Arm) Described() bool { return a.Driver == DriverDescribed }

// Tool is the name of the load generator that drives the arm; "" if a driver of ours does.
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

// RequestsOf is how a load's requests are drawn; "" is the first way that the operation has.
func (p Plan) RequestsOf(l Load) string {
	if l.Requests != "" || l.Operation != "" && l.Operation != p.Operation {
		return l.Requests
	}
	return p.Requests
}

// Operations returns the operations that the loads call, each once, in their order.
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

// DatabaseOf is where an arm's server keeps its data; "" is memory.
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

// Databases returns the databases that the arms' servers need, each once.
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
