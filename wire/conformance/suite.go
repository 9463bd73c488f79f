package conformance

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
)

// Suite is what a workload adds to its own description so that its cells can be judged.
type Suite[S any] struct {
	// Scripts is the folder of the scripts, relative to the test's package; "" for none.
	Scripts string
	// EdgeValues are requests that random draws do not make.
	EdgeValues []EdgeValue[S]
	// Probes are properties of the contract that one exchange cannot show.
	Probes []Probe[S]
	// Behaviour reads a stream item by item; its zero value where the workload has none.
	Behaviour Behaviour[S]
	// Sequences are the operations that a stub may make of several calls, one
	// after the other. A stop may come between two of them, and so may end one
	// with Unavailable, though it must not cut the call that is in flight.
	Sequences []string
	// EveryPair asks every client library of a protocol against every server library. Which libraries understand
	// each other does not depend on the content, so one workload does it for all; elsewhere [pairs] has each
	// library at its end once, which is what its binding's own code takes.
	EveryPair bool
}

// EdgeValue is one request that some wire is likely to carry wrongly.
type EdgeValue[S any] struct {
	Operation string
	Name      string // lower case, no space
	Why       string
	// JSON is the request as [wirelab.Operation.Parse] reads it; "" where
	// Exchange gives it, since JSON cannot write every value (text that is not
	// UTF-8), nor shortly every size.
	JSON     string
	Exchange wirelab.Exchange[S]
}

// Probe is a property checked on the reference and then on each cell.
type Probe[S any] struct {
	Name string
	// Operation is the one the property belongs to: a cell with a hole there is not asked.
	Operation string
	Why       string
	// Check returns a fault, or nil. service is fresh.
	Check func(ctx context.Context, service S) error
}

// Behaviour is how the suite drives a workload's endless stream, which its
// Wrap makes. How anything else of a service is got into, Wrap itself tells.
type Behaviour[S any] struct {
	// Stream names the server stream that Read reads; "" if there is none.
	Stream string
	// Read starts one server stream and calls item after each item, until it
	// says false or the stream ends. It returns the stream's error.
	Read func(ctx context.Context, service S, item func() bool) error
}

// reporter is where faults go: a test, or in the suite's own tests a list.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
}

// pace is how much is asked. Short runs ask less of each cell, nothing that is a wait for time to pass, and
// never every pair of libraries; a check in the clear is not repeated over TLS too.
type pace struct {
	perOperation int  // exchanges asked one after another, for each operation
	workers      int  // callers at once
	perWorker    int  // exchanges of each
	everyWay     bool // of drawing requests from a further data set, or only the usual one
	everyPair    bool // of libraries, where the suite asks for it
	everySecure  bool // protocol, or only those that have no form in the clear
	waiting      bool // checks that wait
}

var (
	fullPace = pace{
		perOperation: 48, workers: 16, perWorker: 10, everyWay: true, everyPair: true, everySecure: true, waiting: true,
	}
	shortPace = pace{perOperation: 16, workers: 16, perWorker: 4}
)

// defaultSeed seeds the conversations unless WIRELAB_SEED says otherwise. Its value means nothing.
const defaultSeed = 20260101

// cell is a binding with a library at each end, under test.
type cell[S any] struct {
	workload wirelab.Workload[S]
	suite    Suite[S]
	binding  wirelab.Binding[S]
	server   wirelab.Server[S]
	client   wirelab.Dialer[S]

	identity *identity
	pace     pace
	seed     uint64
	// patience bounds every wait for something that must happen, and so is
	// long; nothing passes or fails by being quicker.
	patience time.Duration
	// quiet is how long a stalled stream must stay still to count as bounded.
	quiet time.Duration

	exchanges atomic.Int64 // asked of this cell so far
	stuck     atomic.Bool  // whether a server of it did not stop
}

// name is protocol/client→server: the arrow is the request's way.
func (c *cell[S]) name() string {
	return fmt.Sprintf("%s/%s→%s", c.binding.Protocol.Name, c.client.Library, c.server.Library)
}

// check is one subject on which a cell is judged.
type check[S any] struct {
	name  string
	run   func(c *cell[S], r reporter)
	waits bool // for time to pass
}

// checks are all subjects, cheap and telling ones first.
func checks[S any]() []check[S] {
	return []check[S]{
		{"facts", (*cell[S]).facts, false},
		{"transcript", (*cell[S]).transcript, false},
		{"data", (*cell[S]).data, false},
		{"concurrent", (*cell[S]).concurrent, false},
		{"scripts", (*cell[S]).scripts, false},
		{"edge values", (*cell[S]).edgeValues, false},
		{"probes", (*cell[S]).probes, false},
		{"errors", (*cell[S]).errors, false},
		{"holes", (*cell[S]).holes, false},
		{"wire", (*cell[S]).wire, false},
		{"connections", (*cell[S]).connections, false},
		{"deadline", (*cell[S]).deadline, true},
		{"cancel", (*cell[S]).cancel, false},
		{"panic", (*cell[S]).panics, false},
		{"feeds", (*cell[S]).feeds, true},
		{"slow-reader", (*cell[S]).slowReader, true},
		{"early-break", (*cell[S]).earlyBreak, false},
		{"drain", (*cell[S]).drains, true},
		{"cut", (*cell[S]).cuts, true},
		{"restart", (*cell[S]).restarts, true},
	}
}

// judge runs one check and then looks for goroutines it left behind.
func (c *cell[S]) judge(k check[S], r reporter) {
	before := goleak.IgnoreCurrent()
	k.run(c, r)
	if err := leaktest.Find(c.patience, before); err != nil {
		r.Errorf("leaks a goroutine after stop and close: %v", err)
	}
}

// Run judges every cell of the workload. Cells run at once, as many as -parallel
// says, since they mostly wait; a goroutine that one of them leaves behind is
// then sought by running each cell alone.
func Run[S any](t *testing.T, workload wirelab.Workload[S], suite Suite[S]) {
	t.Helper()
	quieten(t)
	t.Run(workload.Name+"/reference", func(t *testing.T) { reference(t, workload, suite) })
	if fault := wrapFault(workload, suite.Behaviour); fault != "" {
		t.Fatalf("%s: no cell is judged, since the suite does not see into its service: %s", workload.Name, fault)
	}
	for _, b := range workload.Bindings {
		for _, fault := range unserved(b) {
			t.Errorf("%s/%s %s", workload.Name, b.Protocol.Name, fault)
		}
	}
	all := cells(t, workload, suite)
	before := goleak.IgnoreCurrent()
	t.Run(workload.Name, func(t *testing.T) {
		for _, c := range all {
			t.Run(c.name(), func(t *testing.T) {
				t.Parallel()
				for _, k := range checks[S]() {
					t.Run(k.name, func(t *testing.T) {
						if k.waits && !c.pace.waiting {
							t.Skip("waits for time to pass")
						}
						k.run(c, t)
					})
				}
				t.Logf("%s: %d exchanges, %d holes, seed %d", c.name(), c.exchanges.Load(), len(c.binding.Holes),
					c.seed)
			})
		}
	})
	if err := leaktest.Find(time.Minute, before); err != nil {
		t.Errorf("a cell leaks a goroutine after stop and close; each now runs alone, to find which: %v", err)
		t.Run(workload.Name+"/alone", func(t *testing.T) { alone(t, cells(t, workload, suite)) })
	}
}

// alone judges cells one after the other, so that a leak has one suspect.
func alone[S any](t *testing.T, all []*cell[S]) {
	for _, c := range all {
		for _, k := range checks[S]() {
			t.Run(c.name()+"/"+k.name, func(t *testing.T) { c.judge(k, t) })
		}
	}
}

// cells returns every cell of a workload, as fast to judge as the test run asks.
func cells[S any](t *testing.T, workload wirelab.Workload[S], suite Suite[S]) []*cell[S] {
	t.Helper()
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := seedFrom(os.Getenv("WIRELAB_SEED"))
	if err != nil {
		t.Fatal(err)
	}
	pace, quiet := fullPace, 300*time.Millisecond
	if testing.Short() {
		pace, quiet = shortPace, 100*time.Millisecond
	}
	var all []*cell[S]
	for _, b := range workload.Bindings {
		if b.Protocol.Pipeline {
			continue // its processes are judged together, where they are started
		}
		if !pace.everySecure && inTheClear(workload.Bindings, b.Protocol) {
			continue
		}
		for _, p := range pairs(len(b.Servers), len(b.Clients), suite.EveryPair && pace.everyPair) {
			all = append(all, &cell[S]{
				workload: workload, suite: suite, binding: b, server: b.Servers[p.server], client: b.Clients[p.client],
				identity: id, pace: pace, seed: seed, patience: time.Minute, quiet: quiet,
			})
		}
	}
	return all
}

// inTheClear says whether one of the bindings is a protocol's own form without TLS.
func inTheClear[S any](all []wirelab.Binding[S], p wirelab.Protocol) bool {
	plain := strings.Replace(p.Name, "-tls", "", 1)
	return plain != p.Name && slices.ContainsFunc(all,
		func(b wirelab.Binding[S]) bool { return b.Protocol.Name == plain })
}

func seedFrom(text string) (uint64, error) {
	if text == "" {
		return defaultSeed, nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("WIRELAB_SEED: %w", err)
	}
	return seed, nil
}

// hole tells whether the binding does not carry the operation.
func (c *cell[S]) hole(operation string) bool {
	_, ok := c.binding.Holes[operation]
	return ok
}

// live returns the operations the binding carries.
func (c *cell[S]) live() []wirelab.Operation[S] {
	var live []wirelab.Operation[S]
	for _, o := range c.workload.Operations {
		if !c.hole(o.Name) {
			live = append(live, o)
		}
	}
	return live
}

// simplest returns a live operation for checks that need just any call, a
// unary one if there is one.
func (c *cell[S]) simplest() (o wirelab.Operation[S], ok bool) {
	live := c.live()
	for _, o := range live {
		if o.Kind == wirelab.UnaryCall {
			return o, true
		}
	}
	if len(live) == 0 {
		return o, false
	}
	return live[0], true
}

// operation finds an operation by name.
func operation[S any](w wirelab.Workload[S], name string) (wirelab.Operation[S], error) {
	var known []string
	for _, o := range w.Operations {
		if o.Name == name {
			return o, nil
		}
		known = append(known, o.Name)
	}
	return wirelab.Operation[S]{}, wirelab.UnknownName("operation", name, known)
}
