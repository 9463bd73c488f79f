// Package gather puts entries that are written at the same time into one commit, since a commit waits for the disk
// and its size hardly matters. It knows entries and callers; a function that it is given stores them.
package gather

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/workload/logging"
)

// Limits of one commit. The limit in bytes keeps a batch of long entries as short as a few of the longest.
const (
	EntriesMost = 1_000
	BytesMost   = 8 * logging.DataLimit // of names and data; one entry may exceed it
)

// longest is the time limit of a batch for callers without a deadline: with a database that does not answer, all
// others would wait for them.
const longest = 30 * time.Second

// Verdict is the outcome for an entry.
type Verdict int16

// The verdicts.
const (
	New   Verdict = iota // it is stored now
	Known                // it was stored before
	Other                // its id is stored with another content
)

// Store stores entries, whose ids differ, in one commit and returns the verdict on each. After an error, whose code
// callers get, any of them may be stored or not.
type Store func(ctx context.Context, entries []logging.Entry) ([]Verdict, error)

// Writer gathers entries. Entries that arrive while one batch is stored go together in the next. No call waits for
// others, so that a single caller pays for itself only. There is one batch at a time: of two, each would wait for
// the same disk, and be half as full.
type Writer struct {
	store   Store
	longest time.Duration // longest; shorter in a test
	stop    context.CancelFunc
	ended   chan struct{} // closed when the storing goroutine has ended
	bell    chan struct{} // holds one element: a caller waits

	mu      sync.Mutex // guards below
	waiting []*asked   // in order; bounded by the calls in flight
	closed  bool

	together, waited uint64 // entries that shared the commit of another, and that waited for one
	waitedFor        time.Duration
}

// asked is a request to store an entry.
type asked struct {
	entry logging.Entry
	began time.Time
	over  func() error  // of its caller's context
	batch *batch        // nil while it waits; guarded by Writer.mu
	done  chan struct{} // closed when verdict and err are set

	verdict Verdict
	err     error
}

// batch is the entries of one commit.
type batch struct {
	entries []logging.Entry
	asked   [][]*asked // the requests for each entry
	left    int        // callers who still wait; guarded by Writer.mu
	cancel  context.CancelFunc
}

// Start returns a writer. The caller must close it.
func Start(store Store) *Writer { return start(store, longest) }

func start(store Store, longest time.Duration) *Writer {
	ctx, stop := context.WithCancel(context.Background())
	w := &Writer{store: store, longest: longest, stop: stop, ended: make(chan struct{}), bell: make(chan struct{}, 1)}
	go func() {
		defer close(w.ended)
		w.run(ctx)
	}()
	return w
}

// Close cancels the batch in progress, fails all waiting calls with Unavailable, and waits until all goroutines
// have ended.
func (w *Writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	<-w.ended
}

// Write stores a valid entry with an id, and returns once that is committed. If its caller leaves, the entry may
// still be stored.
func (w *Writer) Write(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	if err := ctx.Err(); err != nil {
		return logging.Written{}, wirelab.Public(err)
	}
	a := &asked{entry: entry, began: time.Now(), over: ctx.Err, done: make(chan struct{})}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return logging.Written{}, errClosed()
	}
	w.waiting = append(w.waiting, a)
	w.mu.Unlock()
	select {
	case w.bell <- struct{}{}:
	default: // the signal is pending already
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		w.leave(a)
		return logging.Written{}, wirelab.Public(ctx.Err())
	}
	switch {
	case a.err != nil:
		return logging.Written{}, a.err
	case a.verdict == New:
		return logging.Written{ID: entry.ID}, nil
	}
	return entry.Again(a.verdict == Known)
}

func errClosed() error { return wirelab.Errorf(wirelab.Unavailable, "the log is closed") }

// leave removes a caller from those who wait, and cancels a batch whose callers have all left.
func (w *Writer) leave(a *asked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.batch == nil {
		w.waiting = slices.DeleteFunc(w.waiting, func(other *asked) bool { return other == a })
		return
	}
	if a.batch.left--; a.batch.left == 0 {
		a.batch.cancel()
	}
}

// run stores batches until ctx ends, then fails the waiting calls.
func (w *Writer) run(ctx context.Context) {
	for {
		select {
		case <-w.bell:
		case <-ctx.Done():
			for b := w.take(func() {}); b != nil; b = w.take(func() {}) {
				b.end(nil, errClosed())
			}
			return
		}
		for ctx.Err() == nil && w.one(ctx) {
		}
	}
}

// one stores the next batch, if a caller waits.
func (w *Writer) one(ctx context.Context) bool {
	over := ctx
	ctx, cancel := context.WithTimeout(ctx, w.longest)
	defer cancel()
	b := w.take(cancel)
	if b == nil {
		return false
	}
	verdicts, err := w.store(ctx, b.entries)
	switch {
	case err != nil && over.Err() != nil:
		err = errClosed()
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = wirelab.Errorf(wirelab.Unavailable, "the database has not answered for %v", w.longest)
	case err != nil:
		err = wirelab.Public(err)
	case len(verdicts) != len(b.entries):
		err = wirelab.Errorf(wirelab.Internal, "%d verdicts on %d entries", len(verdicts), len(b.entries))
	}
	b.end(verdicts, err)
	return true
}

// take takes the next batch of waiting entries; nil if there are none. An entry whose id is in the batch already
// joins that one if they are the same, and otherwise waits for the next batch: the first call decides which of two
// contents is stored.
func (w *Writer) take(cancel context.CancelFunc) *batch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return nil
	}
	b := &batch{cancel: cancel}
	place := make(map[string]int, min(len(w.waiting), EntriesMost))
	size, now := 0, time.Now()
	kept := w.waiting[:0]
	for _, a := range w.waiting {
		// A batch whose only caller has left would be cancelled at once, and a database can miss that: it forgets a
		// cancellation that arrives before its statement. The caller itself has returned.
		if a.over() != nil {
			continue
		}
		i, known := place[a.entry.ID]
		switch {
		case known && b.entries[i] == a.entry:
			b.asked[i] = append(b.asked[i], a)
		case known, len(b.entries) >= EntriesMost, size >= BytesMost:
			kept = append(kept, a)
			continue
		default:
			place[a.entry.ID] = len(b.entries)
			b.entries = append(b.entries, a.entry)
			b.asked = append(b.asked, []*asked{a})
			size += len(a.entry.Name) + len(a.entry.Data)
		}
		a.batch = b
		b.left++
		w.waitedFor += now.Sub(a.began)
	}
	clear(w.waiting[len(kept):]) // else the array would keep finished entries alive
	w.waiting = kept
	if b.left == 0 {
		return nil
	}
	w.together += uint64(b.left - 1) // never below 0
	w.waited += uint64(b.left)       // likewise
	return b
}

// end answers all callers. Of several calls for the same entry, the first has stored it.
func (b *batch) end(verdicts []Verdict, err error) {
	for i, all := range b.asked {
		for n, a := range all {
			switch {
			case err != nil:
				a.err = err
			case n > 0 && verdicts[i] == New:
				a.verdict = Known
			default:
				a.verdict = verdicts[i]
			}
			close(a.done)
		}
	}
}

// Use adds to the usage of a pool the counts that it does not have: entries that shared a connection, and how long
// they waited for it.
func (w *Writer) Use(pool wirelab.PoolUse) wirelab.PoolUse {
	w.mu.Lock()
	defer w.mu.Unlock()
	pool.Acquired += w.together
	pool.Waited += w.waited
	pool.Waiting += w.waitedFor
	return pool
}
