package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/stat"
	"wirelab/lab/target"
	"wirelab/pipeline/stack"
	"wirelab/system/postgres"
)

// front is the wire of a caller, with the gateway and without it.
const front = "http1-json"

// gatewayPaths are the gateway's paths by the wire behind it.
func gatewayPaths() map[string]string {
	return map[string]string{"http1-json": "log-http", "grpc": "log-grpc", "netrpc": "log-rpc"}
}

// chain is a way of an entry to the logger.
type chain struct {
	name     string
	wire     string // behind the client
	protocol string // of the client
	kind     kind
}

type kind int

const (
	direct kind = iota
	through
	further
)

// The names of chains, by wire.
func nameOf(k kind, wire string) string {
	switch k {
	case direct:
		return "client -" + wire + "-> logger"
	case through:
		return "client -" + front + "-> gateway -" + wire + "-> logger"
	default:
		return "client -" + wire + "-> relay -" + wire + "-> logger"
	}
}

// chains are those that wires need.
func chains(wires []string) []chain {
	var all []chain
	add := func(k kind, wire, protocol string) {
		name := nameOf(k, wire)
		for _, c := range all {
			if c.name == name {
				return
			}
		}
		all = append(all, chain{name: name, wire: wire, protocol: protocol, kind: k})
	}
	add(direct, front, front)
	for _, wire := range wires {
		add(direct, wire, wire)
		add(through, wire, gatewayPaths()[wire])
		add(further, wire, wire)
	}
	return all
}

// figures are of one chain in one round.
type figures struct {
	Rate float64 `json:"entries_per_second"`
	Mean float64 `json:"response_mean_us"`
	P50  float64 `json:"response_p50_us"`
	P99  float64 `json:"response_p99_us"`
	CPU  float64 `json:"cpu_us_per_entry"` // of all processes on the way
	// Parts is CPU by process, in µs per entry.
	Parts map[string]float64 `json:"cpu_parts_us"`
}

// bench runs all in turns.
type bench struct {
	options
	chains   []chain
	progress io.Writer
	database *postgres.Server // nil: memory
	found    map[string][]figures
}

// all runs all rounds.
func (b *bench) all(ctx context.Context) (err error) {
	b.found = map[string][]figures{}
	if b.Database != memory {
		if b.database, err = postgres.Start(ctx, postgres.Options{}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.database.Stop(context.WithoutCancel(ctx))) }()
	}
	for i := range b.Rounds {
		fmt.Fprintf(b.progress, "round %d of %d\n", i+1, b.Rounds)
		if err := b.round(ctx, uint64(i)); err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
	}
	return nil
}

// round starts all processes, measures every chain, and stops them.
func (b *bench) round(ctx context.Context, number uint64) (err error) {
	r := &round{bench: b, relays: map[string]*target.Process{}, number: number}
	defer func() { err = errors.Join(err, r.stop(context.WithoutCancel(ctx))) }()
	if err := r.start(ctx); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(b.Seed, number))
	order := random.Perm(len(b.chains))
	for _, i := range order {
		if _, err := r.driver.Ask(ctx, control.Order{Warm: &control.Warm{Load: i, Least: plan.Duration(b.Warm)}}); err != nil {
			return fmt.Errorf("%s: %w", b.chains[i].name, err)
		}
	}
	sums := make([]sum, len(b.chains))
	for range b.Slices {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			if err := r.slice(ctx, i, &sums[i], random.Uint64()); err != nil {
				return fmt.Errorf("%s: %w", b.chains[i].name, err)
			}
		}
	}
	for i, c := range b.chains {
		b.found[c.name] = append(b.found[c.name], sums[i].figures())
	}
	return nil
}

// sum is what the slices of a chain gave in a round.
type sum struct {
	response  stat.Histogram
	completed uint64
	window    time.Duration
	calls     uint64
	parts     map[string]time.Duration
}

func (s *sum) figures() figures {
	n := float64(s.calls)
	f := figures{
		Rate: float64(s.completed) / s.window.Seconds(), Mean: s.response.Mean() / 1e3,
		P50: float64(s.response.Quantile(0.5)) / 1e3, P99: float64(s.response.Quantile(0.99)) / 1e3,
		Parts: map[string]float64{},
	}
	for part, used := range s.parts {
		f.Parts[part] = float64(used) / 1e3 / n
		f.CPU += f.Parts[part]
	}
	return f
}

// round is what runs in one.
type round struct {
	*bench
	number uint64
	stack  *stack.Stack
	relays map[string]*target.Process // by wire
	driver *target.Process
	server *probe.Tree // of the database; nil: memory
}

func (r *round) start(ctx context.Context) error {
	o := stack.Options{Program: r.Wirelab}
	if r.database != nil {
		o.Database = wirelab.DatabaseAddress{Kind: r.Database, Source: r.database.DSN()}
	}
	var err error
	if r.stack, err = stack.Start(ctx, o); err != nil {
		return err
	}
	if r.database != nil {
		if r.server, err = probe.NewTree(r.database.PID()); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, wire := range r.Wires {
		at, err := r.logger(wire)
		if err != nil {
			return err
		}
		r.relays[wire], err = target.Start(ctx, target.Command{Name: "relay of " + wire, Path: self, Args: []string{relayCommand, wire, at}})
		if err != nil {
			return err
		}
	}
	if r.driver, err = target.Start(ctx, target.Command{Name: "driver", Path: r.Wirelab, Args: []string{"drive"}}); err != nil {
		return err
	}
	for i, c := range r.chains {
		if err := r.dial(ctx, uint64(i), c); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// logger is the address of the logger's door for a wire.
func (r *round) logger(wire string) (string, error) {
	part, err := r.stack.Part(stack.LoggerPart)
	return part.Doors[map[string]string{front: stack.DoorHTTP, "grpc": stack.DoorGRPC, "netrpc": stack.DoorRPC}[wire]], err
}

// address is where a chain's client calls.
func (r *round) address(c chain) (string, error) {
	switch c.kind {
	case through:
		part, err := r.stack.Part(stack.GatewayPart)
		return part.Doors[stack.DoorHTTP], err
	case further:
		return r.relays[c.wire].Ready().Address, nil
	default:
		return r.logger(c.wire)
	}
}

// deadline is what each call gets: as much as the gateway gives.
const deadline = 5 * time.Second

func (r *round) dial(ctx context.Context, number uint64, c chain) error {
	address, err := r.address(c)
	if err != nil {
		return err
	}
	connections := r.Callers
	if c.protocol == "grpc" || c.protocol == "netrpc" {
		connections = 1 // multiplexed
	}
	_, err = r.driver.Ask(ctx, control.Order{Dial: &control.Dial{
		Workload: "logging", Protocol: c.protocol, Address: address, Seed: r.Seed, Once: r.Seed<<32 + r.number<<8 + number,
		Deadline: plan.Duration(deadline),
		Loads:    []control.Load{{Operation: "WriteLog", Requests: r.Requests, InFlight: r.Callers, Connections: connections}},
	}})
	return err
}

// slice measures a slice of a chain.
func (r *round) slice(ctx context.Context, load int, to *sum, seed uint64) error {
	before, err := r.used(r.chains[load])
	if err != nil {
		return err
	}
	reply, err := r.driver.Ask(ctx, control.Order{Slice: &control.Slice{Load: load, For: plan.Duration(r.Slice), Seed: seed}})
	if err != nil {
		return err
	}
	after, err := r.used(r.chains[load])
	if err != nil {
		return err
	}
	m := reply.Slice
	if len(m.Recording.Errors) > 0 || m.Calls == 0 {
		return fmt.Errorf("%d calls, failures %v", m.Calls, m.Recording.Errors)
	}
	to.response.Merge(m.Recording.Response)
	to.completed += m.Recording.CompletedInWindow
	to.window += r.Slice
	to.calls += m.Calls
	if to.parts == nil {
		to.parts = map[string]time.Duration{}
	}
	to.parts["client"] += time.Duration(m.Usage.CPU)
	for part, used := range after {
		to.parts[part] += used - before[part]
	}
	return nil
}

// used is what the processes on a chain's way, but the client, have used so far.
func (r *round) used(c chain) (map[string]time.Duration, error) {
	parts, err := r.stack.CPU()
	if err != nil {
		return nil, err
	}
	switch c.kind {
	case further:
		parts["relay"], err = probe.CPU(r.relays[c.wire].PID())
		delete(parts, stack.GatewayPart)
	case direct:
		delete(parts, stack.GatewayPart)
	case through:
	}
	if r.server != nil && err == nil {
		var use probe.TreeUse
		use, err = r.server.Read()
		parts["database"] = use.CPU
	}
	return parts, err
}

// stop ends what runs, the client first.
func (r *round) stop(ctx context.Context) error {
	var all error
	if r.driver != nil {
		all = r.driver.Stop()
	}
	for _, process := range r.relays {
		if process != nil {
			all = errors.Join(all, process.Stop())
		}
	}
	if r.stack != nil {
		all = errors.Join(all, r.stack.Stop(ctx))
	}
	return all
}
