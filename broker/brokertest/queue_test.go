package brokertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	brokermemory "wirelab/broker/memory"
	"wirelab/broker/workqueue"
)

// TestQueueSuitePasses checks that a broker which keeps the contract passes.
func TestQueueSuitePasses(t *testing.T) {
	RunQueue(t, func(*testing.T) *Server { return newMemory(none).server(time.Minute) })
}

// TestQueuesOverMemory checks that work queues over the reference broker keep the contract.
func TestQueuesOverMemory(t *testing.T) {
	RunQueue(t, func(*testing.T) *Server {
		s := brokermemory.NewServer()
		return &Server{
			Kinds: []workqueue.Kind{workqueue.Stream}, Patience: time.Minute,
			Open: func(context.Context) (workqueue.Queues, error) { return workqueue.New(s.Connect()), nil },
			Doomed: func(context.Context) (workqueue.Queues, func(), error) {
				b := s.Connect()
				return workqueue.New(b), b.Sever, nil
			},
			Kill:   func(context.Context) error { s.Kill(); return nil },
			Revive: func(context.Context) error { s.Revive(); return nil },
		}
	})
}

// TestQueueSuiteSees checks that a broker which breaks one clause fails the check of that clause.
func TestQueueSuiteSees(t *testing.T) {
	if testing.Short() {
		t.Skip("most faults are seen by what does not come, in half a second each")
	}
	for f, name := range map[fault]string{
		losesOne:               "many publishers and consumers lose and double nothing",
		doublesOne:             "many publishers and consumers lose and double nothing",
		swapsTwo:               "one publisher's messages come in order",
		altersBody:             "ids and bodies come whole",
		takesAnyID:             "messages outside the contract are refused",
		givesOneMore:           "prefetch is a bound, and is reached",
		triesOnceMore:          "what fails comes again until it is a dead letter",
		triesOnceLess:          "what fails twice and then succeeds is done",
		forgetsBody:            "what fails comes again until it is a dead letter",
		retriesHopeless:        "what would fail again is a dead letter at once",
		blocksWhileOneWaits:    "a message that waits holds up no other",
		blamesTheCancelled:     "a consumer that ends gives back what it has not done",
		doesNotWaitForHandlers: "a consumer that ends waits for what it is doing",
		keepsTheKilled:         "what a killed consumer had comes again",
		believesTheDead:        "what a killed consumer had comes again",
		forgetsAtKill:          "what was confirmed outlives a killed server",
		forgetsLetters:         "what was confirmed outlives a killed server",
		buffersAnything:        "a server that is away holds back, and only so many",
		failsWhileAway:         "a server that is away holds back, and only so many",
		missesDeadline:         "a server that is away holds back, and only so many",
		makesQueues:            "a queue that was not declared is not found",
		ignoresContext:         "an ended context ends every call",
		givesLettersTwice:      "dead letters are counted, taken and deleted",
		leavesGoroutine:        "nothing is left behind",
		alwaysConsumes:         "a consumer is one once the server knows of it",
		neverConsumes:          "a consumer is one once the server knows of it",
	} {
		all := slices.Concat(calm(), rough(), alone())
		i := slices.IndexFunc(all, func(c check) bool { return c.name == name })
		if i < 0 {
			t.Fatalf("no check is called %q", name)
		}
		judge := &recorder{TB: t}
		patience := 500 * time.Millisecond
		judge.run(func() { all[i].run(newBench(judge, newMemory(f).server(patience), workqueue.Stream)) })
		if len(judge.said) == 0 {
			t.Errorf("fault %d was not seen by %q", f, name)
			continue
		}
		t.Logf("fault %d: %s", f, strings.Join(judge.said, "; "))
	}
}

// recorder is a test whose failure does not fail the test it runs in.
type recorder struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex // guards all below
	said     []string
	cleanups []func()
}

// run calls test as the testing package does.
func (r *recorder) run(test func()) {
	ctx, cancel := context.WithCancel(r.TB.Context())
	r.ctx = ctx
	inside := func(f func()) {
		var ended sync.WaitGroup
		ended.Go(f) // FailNow ends the goroutine
		ended.Wait()
	}
	inside(test)
	cancel()
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		inside(r.cleanups[i])
	}
}

func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Helper()                  {}
func (r *recorder) Logf(string, ...any)      {}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.exit()
}

// exit ends the test's goroutine.
func (*recorder) exit() { runtime.Goexit() }

// TestAccount checks that the account detects what a count would hide: one message lost and another delivered
// twice. Guards ms-M15.
func TestAccount(t *testing.T) {
	t.Parallel()
	a := NewAccount()
	for _, m := range messages(5) {
		a.Published(m)
		a.Published(m) // again: the same message
	}
	for _, n := range []int{0, 1, 2, 3} {
		a.Confirmed(message(n).ID)
	}
	a.Confirmed(message(0).ID)
	for _, n := range []int{2, 0, 0, 3} {
		a.Delivered(message(n))
	}
	a.Delivered(workqueue.Message{ID: "stranger", Body: []byte("x")})
	a.Delivered(workqueue.Message{ID: message(4).ID, Body: []byte("not its own")})
	got := a.Tally()
	want := "5 published, 4 confirmed, 4 delivered, 1 duplicated, 1 reordered, " +
		`missing ["m-000001"], unknown ["stranger"], altered ["m-000004"]`
	if got.String() != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

// TestRelay checks that a relay passes bytes both ways until it is cut, which ends open connections and accepts no
// new ones.
func TestRelay(t *testing.T) {
	t.Parallel()
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { _, _ = io.Copy(c, c); _ = c.Close() })
		}
	})
	r, err := NewRelay(t.Context(), echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("over there")); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, 10)
	if _, err := io.ReadFull(c, back); err != nil || string(back) != "over there" {
		t.Errorf("%q came back, %v", back, err)
	}
	r.Cut()
	r.Cut() // a second Cut does nothing
	if n, err := c.Read(back); err == nil {
		t.Errorf("%d bytes came through a cut relay", n)
	}
	// The port is not dialled: by now it may belong to another process.
	if _, err := r.listener.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a cut relay listens: %v", err)
	}
	_, _ = c.Close(), echo.Close()
	serving.Wait()
}
