package torture

import (
	"context"
	"sync"
	"testing"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// watcher subscribes to a topic from its beginning and keeps account of what it gets, while
// all that is tried happens.
type watcher struct {
	stop context.CancelFunc
	done chan struct{}

	mu        sync.Mutex // guards all below
	next      uint64     // the offset behind what came
	delivered int
	again     int // came twice, or too late
	skipped   []broker.Range
	corrupted int
	err       error
}

func watch(ctx context.Context, t *testing.T, c *client.Client, topic string) *watcher {
	t.Helper()
	s, err := c.Subscribe(ctx, broker.Start{Topic: topic, From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{done: make(chan struct{})}
	ctx, w.stop = context.WithCancel(ctx)
	go func() {
		defer close(w.done)
		defer func() { _ = s.Close(context.WithoutCancel(ctx)) }() // no group: nothing to store
		for {
			d, err := s.Next(ctx)
			w.mu.Lock()
			w.take(d, err)
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		w.stop()
		<-w.done
	})
	return w
}

func (w *watcher) take(d hermes.Delivered, err error) {
	switch {
	case err != nil:
		w.err = err
		return
	case d.Offset < w.next:
		w.again++
		return
	case d.Offset > w.next:
		w.skipped = append(w.skipped, broker.Range{First: w.next, Last: d.Offset - 1})
	}
	w.next = d.Offset + 1
	w.delivered++
	if _, err := read(d.Payload); err != nil {
		w.corrupted++
	}
}

// settle waits until the watcher has all before an offset, and counts what it was not given of the existing
// messages, from another one on.
func (w *watcher) settle(ctx context.Context, t *testing.T, from, until uint64, into *count) {
	t.Helper()
	patience, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for reached := false; !reached && patience.Err() == nil; pause(patience, 5*time.Millisecond) {
		w.mu.Lock()
		reached = w.next >= until || w.err != nil
		w.mu.Unlock()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		t.Errorf("the subscription ended: %v", w.err)
	}
	into.Delivered, into.Again = w.delivered, w.again
	into.Corrupted += w.corrupted
	for _, r := range append(w.skipped, broker.Range{First: w.next, Last: max(until, 1) - 1}) {
		if first := max(r.First, from); until > 0 && first <= r.Last {
			into.Undelivered += int(r.Last - first + 1)
		}
	}
}
