package bind_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/workload/ledger"
)

// An event is on its way when the service yields it, and does not wait for the
// next one: here that comes only once the first was read. And who leaves, or
// gives up, ends the stream in a service that waits.
func TestFollow(t *testing.T) {
	eachServer(t, "StreamTransactions", func(t *testing.T, p pair) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		t.Run("follow", func(t *testing.T) { follow(t, p) })
	})
}

func follow(t *testing.T, p pair) {
	ended := make(chan struct{}, 2)
	memory := ledger.New()
	stub := p.Open(t, ledger.Wrap(memory, wirelab.Hooks{
		Before: func(context.Context, string) error { return nil },
		After:  func(string) { ended <- struct{}{} },
	}), 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const events = 4
	n := 0
	post := func() {
		_, err := memory.PostTransaction(ctx, ledger.Posting{
			ID: fmt.Sprint("follow-", n+1), From: payer, To: payee, Amount: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	post()
	for event, err := range stub.StreamTransactions(ctx, ledger.Feed{After: lastInLog, Follow: true}) {
		if err != nil {
			t.Fatalf("after %d events: %v", n, err)
		}
		if n++; event.Transaction.ID != fmt.Sprint("follow-", n) || event.Sequence != uint64(n) {
			t.Fatalf("event %d is %v", n, event)
		}
		if n == events {
			break
		}
		post()
	}
	wait(t, ended, "a stream whose reader left")

	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	for event, err := range stub.StreamTransactions(ctx, ledger.Feed{After: "follow-3", Follow: true}) {
		switch {
		case err == nil:
			if event.Transaction.ID != "follow-4" {
				t.Fatalf("event %v", event)
			}
			giveUp() // the next is never posted
		case wirelab.CodeOf(err) != wirelab.Canceled:
			t.Errorf("a stream that was given up ends with %v", err)
		}
	}
	wait(t, ended, "a stream that was given up")
}

func wait(t *testing.T, ended <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatalf("%s has not ended in the service", what)
	}
}

// heavy is a service whose stream is more than what lies between it and a
// reader that stopped can hold.
type heavy struct {
	ledger.Service
	yielded atomic.Int64
}

const (
	heavyEvents = 10_000
	heavyType   = 4 << 10 // bytes; 40 MB with the events
)

// event is the nth event, from 1.
func (h *heavy) event(n int) ledger.Event {
	return ledger.Event{
		Transaction: ledger.Transaction{
			ID: fmt.Sprint("heavy-", n), From: payer, To: payee, Amount: int64(n), Type: strings.Repeat("h", heavyType),
			Timestamp: time.Unix(int64(n), 1000).UTC(),
		},
		Stamp: wirelab.Stamp{Sequence: uint64(n), Due: int64(n), Sent: int64(n) + 1},
	}
}

// StreamTransactions implements [ledger.Service].
func (h *heavy) StreamTransactions(context.Context, ledger.Feed) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		for n := 1; n <= heavyEvents; n++ {
			h.yielded.Add(1)
			if !yield(h.event(n), nil) {
				return
			}
		}
	}
}

// stalled waits until the service has yielded nothing for some looks, and
// returns what it has yielded by then. Looks too short could only miss a fault.
func (h *heavy) stalled() int64 {
	looks := time.NewTicker(20 * time.Millisecond)
	defer looks.Stop()
	for last, same := int64(-1), 0; same < 5; {
		<-looks.C
		if n := h.yielded.Load(); n == last {
			same++
		} else {
			last, same = n, 0
		}
	}
	return h.yielded.Load()
}

// TestSlowReader checks that a reader that stops holds the server back, and has lost nothing when it continues: no
// event is dropped, repeated, or out of order (S7, grb-M02).
func TestSlowReader(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	eachServer(t, "StreamTransactions", func(t *testing.T, p pair) {
		service := &heavy{Service: ledger.New()}
		stub := p.Open(t, service, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		n := 0
		for event, err := range stub.StreamTransactions(ctx, ledger.Feed{}) {
			if err != nil {
				t.Fatalf("after %d events: %v", n, err)
			}
			n++
			if want := service.event(n); !event.Equal(want) || event.Stamp != want.Stamp {
				t.Fatalf("event %d is %.200v with %+v", n, event, event.Stamp)
			}
			if n == 10 {
				if held := service.stalled(); held >= heavyEvents {
					t.Errorf("a reader that stopped was sent all %d events", held)
				}
			}
		}
		if n != heavyEvents {
			t.Errorf("%d events arrived of %d", n, heavyEvents)
		}
	})
}
