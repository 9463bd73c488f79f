package listener_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/internal/leaktest"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/listener"
	"wirelab/workload/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

func message(id, text string) workqueue.Message { return workqueue.Message{ID: id, Body: []byte(text)} }

func entryMessage(e logging.Entry) workqueue.Message {
	text, err := json.Marshal(map[string]string{"id": e.ID, "name": e.Name, "data": e.Data})
	if err != nil {
		panic(err) // a map of strings
	}
	return workqueue.Message{ID: e.ID, Body: text}
}

// fake is a broker in memory, as far as a listener needs one: it hands out a
// list of messages and keeps what the handler said of each. It keeps the
// contract's bound, as the real ones are held to by brokertest.
type fake struct {
	workqueue.Queues
	messages []workqueue.Message
	away     int // times that Declare fails
	declare  error

	mu       sync.Mutex
	declared int
	said     map[string]error
	active   int
	most     int
}

func (f *fake) Declare(context.Context, workqueue.Options) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.declared++
	if f.declared <= f.away {
		return wirelab.Errorf(wirelab.Unavailable, "no broker yet")
	}
	return f.declare
}

func (f *fake) Consume(ctx context.Context, o workqueue.Options, handle workqueue.Handler) error {
	places := make(chan struct{}, o.Prefetch)
	var handlers sync.WaitGroup
	for _, m := range f.messages {
		places <- struct{}{}
		handlers.Go(func() {
			defer func() { <-places }()
			f.count(1)
			defer f.count(-1)
			err := handle(ctx, workqueue.Delivery{Message: m, Attempt: 1})
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.said == nil {
				f.said = map[string]error{}
			}
			f.said[m.ID] = err
		})
	}
	handlers.Wait()
	<-ctx.Done()
	return nil
}

func (f *fake) count(by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active += by
	f.most = max(f.most, f.active)
}

// run listens until the broker's messages have been dealt with by done.
func run(t *testing.T, f *fake, j *journal.Journal, prefetch int, sink listener.Sink, until func() bool) error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	watched := func(ctx context.Context, e logging.Entry) error {
		err := sink(ctx, e)
		mu.Lock()
		defer mu.Unlock()
		if until() {
			stop()
		}
		return err
	}
	return listener.Run(ctx, listener.Options{
		Broker: f, Queue: workqueue.Options{Name: "q", Prefetch: prefetch}, Sink: watched, Journal: j,
	})
}

// words are a journal's events as "id what", sorted by nothing.
func words(j *journal.Journal) map[string]int {
	events, _, _ := j.Since(0, 1000)
	all := map[string]int{}
	for _, e := range events {
		all[e.ID+" "+e.What.String()]++
	}
	return all
}

// TestListen checks that messages without a valid entry, or with one that contradicts a stored one, fail with the
// error that makes them dead letters, and that the others are stored. At no time do more handlers run than the
// prefetch allows (ms-D06).
func TestListen(t *testing.T) {
	t.Parallel()
	store, j := logging.New(), journal.New(0)
	f := &fake{away: 2}
	for i := range 40 {
		f.messages = append(f.messages, entryMessage(logging.Entry{ID: fmt.Sprintf("e-%d", i), Name: "n", Data: "d"}))
	}
	f.messages = append(f.messages, message("bad", "no JSON"), entryMessage(logging.Entry{ID: "e-0", Name: "other"}),
		entryMessage(logging.Entry{ID: "e-last", Name: "n"}))
	stored := 0
	into := listener.Into(store)
	err := run(t, f, j, 1, into, func() bool { stored++; return stored == 42 })
	if err != nil {
		t.Fatal(err)
	}
	if f.most != 1 || f.declared != 3 {
		t.Errorf("%d handlers at once and %d declarations, want 1 and 3", f.most, f.declared)
	}
	for id, code := range map[string]wirelab.Code{"bad": wirelab.InvalidArgument, "e-0": wirelab.Conflict} {
		if said := f.said[id]; said == nil || wirelab.CodeOf(said) != code {
			t.Errorf("of %s was said %v, want %v", id, said, code)
		}
	}
	if said := f.said["e-last"]; said != nil {
		t.Errorf("of the last was said %v", said)
	}
	list, err := store.ListEntries(t.Context(), logging.Query{})
	if err != nil || len(list.Entries) != 41 {
		t.Errorf("%d entries, %v, want 41", len(list.Entries), err)
	}
	noted := words(j)
	for text, times := range map[string]int{
		"bad received": 1, "bad failed": 1, "e-0 received": 2, "e-0 failed": 1, "e-last received": 1,
		"e-last failed": 0, "e-1 stored": 0,
	} {
		if noted[text] != times {
			t.Errorf("%q is noted %d times, want %d", text, noted[text], times)
		}
	}
}

// TestALoggerThatIsAway checks that an unavailable logger is tried again with the same message, which is not
// returned to the broker in between: no attempt is counted, and the message holds back the rest (ms-D07).
func TestALoggerThatIsAway(t *testing.T) {
	t.Parallel()
	for _, code := range []wirelab.Code{
		wirelab.Unavailable, wirelab.DeadlineExceeded, wirelab.ResourceExhausted,
		wirelab.Canceled,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			f := &fake{messages: []workqueue.Message{entryMessage(logging.Entry{ID: "a", Name: "n"})}}
			asked := 0
			err := run(t, f, nil, 4, func(context.Context, logging.Entry) error {
				if asked++; asked < 4 {
					return wirelab.Errorf(code, "not now")
				}
				return nil
			}, func() bool { return asked == 4 })
			if err != nil || f.said["a"] != nil || asked != 4 {
				t.Errorf("%v; the broker was told %v after %d tries, want 4 and nothing wrong", err, f.said["a"], asked)
			}
		})
	}
}

// TestAFault checks that any failure other than an unavailable logger is left to the broker to retry: a fault that
// only this message triggers must not hold back the others for ever.
func TestAFault(t *testing.T) {
	t.Parallel()
	for why, fault := range map[string]error{
		"of the house": wirelab.Errorf(wirelab.Internal, "broken"),
		"of no code":   errors.New("broken"),
		"of a right":   wirelab.Errorf(wirelab.PermissionDenied, "not you"),
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			f := &fake{messages: []workqueue.Message{entryMessage(logging.Entry{ID: "a", Name: "n"})}}
			j := journal.New(8)
			if err := run(t, f, j, 4, func(context.Context, logging.Entry) error { return fault },
				func() bool { return true }); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(f.said["a"], fault) || words(j)["a failed"] != 0 {
				t.Errorf("the broker was told %v, noted is %v", f.said["a"], words(j))
			}
		})
	}
}

// TestStopWhileTheLoggerIsAway checks that a stop does not wait for a logger that stays unavailable.
func TestStopWhileTheLoggerIsAway(t *testing.T) {
	t.Parallel()
	f := &fake{messages: []workqueue.Message{entryMessage(logging.Entry{ID: "a", Name: "n"})}}
	err := run(t, f, nil, 4, func(context.Context, logging.Entry) error {
		return wirelab.Errorf(wirelab.Unavailable, "gone for good")
	}, func() bool { return true })
	if err != nil || f.said["a"] == nil {
		t.Errorf("%v; the broker was told %v, want an error, so that it keeps the message", err, f.said["a"])
	}
}

// A queue that cannot be had ends the listener with the reason; a broker that
// is not there yet does not, but a stop does.
func TestTheStart(t *testing.T) {
	t.Parallel()
	f := &fake{declare: wirelab.Errorf(wirelab.Conflict, "the queue is of another kind")}
	err := listener.Run(t.Context(), listener.Options{Broker: f, Queue: workqueue.Options{Name: "q"}})
	if err == nil || wirelab.CodeOf(err) != wirelab.Conflict || !strings.Contains(err.Error(), "queue q") {
		t.Errorf("%v, want Conflict, and which queue", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := listener.Run(ctx,
		listener.Options{Broker: &fake{away: 1 << 30}, Queue: workqueue.Options{Name: "q"}}); err != nil {
		t.Errorf("a stop before the broker came: %v", err)
	}
}
