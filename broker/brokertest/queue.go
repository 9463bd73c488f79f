package brokertest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/internal/together"
)

// Server is a message broker that the suite may kill.
type Server struct {
	// Kinds are the kinds of queues that it has; each is tested.
	Kinds []workqueue.Kind
	// Open connects to it. The suite closes the connection.
	Open func(ctx context.Context) (workqueue.Queues, error)
	// Hasty is Open for checks that do not kill the server: queues it declares need not survive the server. nil: as
	// Open.
	Hasty func(ctx context.Context) (workqueue.Queues, error)
	// Doomed opens a connection that cut breaks for good, as if the client's process had been killed; see [Relay].
	Doomed func(ctx context.Context) (b workqueue.Queues, cut func(), err error)
	// Kill ends the server at once, as kill -9 does. Revive starts it again with its data, at the same address, and
	// returns once it accepts connections.
	Kill, Revive func(ctx context.Context) error
	// Patience limits the wait for anything that must happen; 0: five minutes.
	Patience time.Duration
}

// check tests one clause of the contract.
type check struct {
	name string
	run  func(b *bench)
}

// checkedShort is the only rough check that runs with -short: it covers most of the others.
const checkedShort = "publishers and consumers outlive a killed server"

// calm returns the checks that do not kill the server. They run in parallel.
func calm() []check {
	return []check{
		{"ids and bodies come whole", checkWhole},
		{"messages outside the contract are refused", checkRefused},
		{"one publisher's messages come in order", checkOrder},
		{"many publishers and consumers lose and double nothing", checkMany},
		{"prefetch is a bound, and is reached", checkPrefetch},
		{"what fails comes again until it is a dead letter", checkAttempts},
		{"what fails twice and then succeeds is done", checkRecovers},
		{"a message that waits holds up no other", checkMeanwhile},
		{"what would fail again is a dead letter at once", checkHopeless},
		{"a consumer that ends gives back what it has not done", checkCancelled},
		{"a consumer that ends waits for what it is doing", checkFinished},
		{"what a killed consumer had comes again", checkKilled},
		{"a consumer is one once the server knows of it", checkConsuming},
		{"dead letters are counted, taken and deleted", checkDead},
		{"a queue is declared once", checkDeclare},
		{"a queue that was not declared is not found", checkUndeclared},
		{"an ended context ends every call", checkContext},
		{"closed objects fail", checkClosed},
	}
}

// rough returns the checks that kill the server. They run one at a time, but for all kinds of queues at once.
func rough() []check {
	return []check{
		{"what was confirmed outlives a killed server", checkKept},
		{checkedShort, checkThrough},
		{"a server that is away holds back, and only so many", checkAway},
	}
}

// alone returns the checks that count goroutines.
func alone() []check {
	return []check{{"nothing is left behind", checkLeaks}}
}

// RunQueue tests the contract of package workqueue over any broker. start starts a new server, and is called once.
// The test that calls RunQueue must not run in parallel with others, since goroutines are counted.
func RunQueue(t *testing.T, start func(t *testing.T) *Server) {
	t.Helper()
	s := start(t)
	peaceful := *s
	if s.Hasty != nil {
		peaceful.Open = s.Hasty
	}
	t.Run("calm", func(t *testing.T) {
		for _, kind := range s.Kinds {
			for _, c := range calm() {
				t.Run(string(kind)+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newBench(t, &peaceful, kind))
				})
			}
		}
	})
	for _, c := range rough() {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.name != checkedShort {
				t.Skip("-short kills the server once, and not for every clause")
			}
			runRough(t, s, c)
		})
	}
	for _, c := range alone() {
		for _, kind := range s.Kinds {
			t.Run(c.name+"/"+string(kind), func(t *testing.T) {
				if testing.Short() {
					t.Skip("goroutines are looked for until they have ended")
				}
				c.run(newBench(t, &peaceful, kind))
			})
		}
	}
}

// runRough tests all kinds with one kill of the server, since a server may take seconds to start.
func runRough(t *testing.T, s *Server, c check) {
	t.Helper()
	share := together.New(len(s.Kinds))
	for _, kind := range s.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			of := *s
			if together.Possible(len(s.Kinds)) {
				t.Parallel()
				t.Cleanup(share.Leave)
				of.Kill = func(ctx context.Context) error { return share.Do(ctx, s.Kill) }
				of.Revive = func(ctx context.Context) error { return share.Do(ctx, s.Revive) }
			}
			c.run(newBench(t, &of, kind))
		})
	}
}

// bench holds what a check works with.
type bench struct {
	testing.TB
	server   *Server
	kind     workqueue.Kind
	patience time.Duration
	ctx      context.Context // ends after Patience
}

func newBench(tb testing.TB, s *Server, kind workqueue.Kind) *bench {
	patience := s.Patience
	if patience == 0 {
		patience = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(tb.Context(), patience,
		wirelab.Errorf(wirelab.DeadlineExceeded, "it did not happen within %v", patience))
	tb.Cleanup(cancel)
	return &bench{TB: tb, server: s, kind: kind, patience: patience, ctx: ctx}
}

// options returns the options of a new durable queue, with defaults filled in.
func (b *bench) options() workqueue.Options {
	o := workqueue.Options{
		Name: "t-" + strings.ToLower(rand.Text()[:12]), Kind: b.kind, Confirms: true, Persistent: true,
		Retry: 20 * time.Millisecond,
	}
	return o.Complete()
}

// must ends the check if err is not nil.
func (b *bench) must(err error, what string, args ...any) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %v", fmt.Sprintf(what, args...), err)
	}
}

// coded checks that err has one of the codes.
func (b *bench) coded(err error, what string, codes ...wirelab.Code) {
	b.Helper()
	for _, code := range codes {
		if err != nil && wirelab.CodeOf(err) == code {
			return
		}
	}
	b.Errorf("%s: error %v, want one of %v", what, err, codes)
}

// open connects; the connection is closed at the end of the check.
func (b *bench) open() workqueue.Queues {
	b.Helper()
	broker, err := b.server.Open(b.ctx)
	b.must(err, "open")
	b.Cleanup(func() { b.closed(broker.Close()) })
	return broker
}

// closed checks the result of a Close in a cleanup.
func (b *bench) closed(err error) {
	if err != nil {
		b.Errorf("close: %v", err)
	}
}

// declare connects and declares a queue, which is deleted at the end of the check.
func (b *bench) declare(o workqueue.Options) workqueue.Queues {
	b.Helper()
	broker := b.open()
	b.must(broker.Declare(b.ctx, o), "declare")
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), b.patience)
		defer cancel()
		if err := broker.Delete(ctx, o); err != nil {
			b.Errorf("delete: %v", err)
		}
	})
	return broker
}

// publisher returns a publisher that is closed at the end of the check.
func (b *bench) publisher(broker workqueue.Queues, o workqueue.Options) workqueue.Publisher {
	b.Helper()
	p, err := broker.Publisher(b.ctx, o)
	b.must(err, "publisher")
	b.Cleanup(func() { b.closed(p.Close()) })
	return p
}

// publish publishes messages, one after the other.
func (b *bench) publish(p workqueue.Publisher, messages ...workqueue.Message) {
	b.Helper()
	for _, m := range messages {
		_, err := p.Publish(b.ctx, m)
		b.must(err, "publish %q", m.ID)
	}
}

// handler is the function that a check runs for each delivery.
type handler = func(ctx context.Context, d workqueue.Delivery) error

// consume runs a consumer until stop is called or the check ends. stop returns once the consumer has ended, which
// must be without an error.
func (b *bench) consume(broker workqueue.Queues, o workqueue.Options, handle handler) (stop func()) {
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- broker.Consume(ctx, o, handle) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("consume: %v", err)
		}
	})
	b.Cleanup(stop)
	return stop
}

// take receives one value, and fails after Patience.
func take[V any](b *bench, from <-chan V, what string) V {
	b.Helper()
	select {
	case v := <-from:
		return v
	case <-b.ctx.Done():
		b.Fatalf("waiting for %s: %v", what, context.Cause(b.ctx))
		panic("not reached")
	}
}

// put sends a value to a channel with room for all, unless the check has ended.
func put[V any](ctx context.Context, to chan<- V, v V) {
	select {
	case to <- v:
	case <-ctx.Done():
	}
}

// settle waits until the queue and its dead letters have these depths.
func (b *bench) settle(broker workqueue.Queues, o workqueue.Options, waiting, dead int) {
	b.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		w, d, err := broker.Depth(b.ctx, o)
		if err == nil && w == waiting && d == dead {
			return
		}
		if err != nil && b.ctx.Err() == nil {
			b.Fatalf("depth: %v", err)
		}
		select {
		case <-again.C:
		case <-b.ctx.Done():
			b.Fatalf("the queue and its dead letters hold %d and %d, want %d and %d", w, d, waiting, dead)
		}
	}
}

// message returns message n of a series, with a body that contains n.
func message(n int) workqueue.Message {
	id := fmt.Sprintf("m-%06d", n)
	return workqueue.Message{ID: id, Body: []byte(`{"id":"` + id + `"}`)}
}

func messages(n int) []workqueue.Message {
	all := make([]workqueue.Message, n)
	for i := range all {
		all[i] = message(i)
	}
	return all
}

// flag is set when all messages have arrived. It stays set, since the last delivery may be a duplicate.
type flag struct {
	ended chan struct{}
	end   func()
}

func newFlag() flag {
	ended := make(chan struct{})
	return flag{ended, sync.OnceFunc(func() { close(ended) })}
}
