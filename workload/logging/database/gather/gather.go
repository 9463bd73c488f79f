// Package gather puts entries that are written at the same time into one commit,
// since a commit waits for the disk and what is in it hardly matters. It knows
// entries and callers; how they are stored it is told.
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

// The bounds of one commit. By bytes, so that a batch of long entries is no
// longer than a few of the longest.
const (
	EntriesMost = 1_000
	BytesMost   = 8 * logging.DataLimit // of names and data; one entry more may be over it
)

// longest is how long a batch may take for callers without a deadline: behind a
// database that is silent, everybody would wait for them.
const longest = 30 * time.Second

// Verdict is what became of an entry.
type Verdict int16

// The verdicts.
const (
	New   Verdict = iota // it is stored now
	Known                // it was stored before
	Other                // its id is stored with another content
)

// Store stores entries, whose ids differ, in one commit and returns the verdict
// on each. On an error, whose code callers get, any may be stored or none.
type Store func(ctx context.Context, entries []logging.Entry) ([]Verdict, error)

// Writer gathers entries. While one batch is stored those that come wait, and
// go together in the next; nobody waits for company, so that a lone caller pays
// for itself only. One batch at a time: of two, each would wait for the same
// disk, and be half as full.
type Writer struct {
	store   Store
	longest time.Duration // longest; less in a test
	stop    context.CancelFunc
	ended   chan struct{} // closed when the goroutine that stores is over
	bell    chan struct{} // holds one: somebody waits

	mu      sync.Mutex // guards below
	waiting []*asked   // in order; bounded by the calls in flight
	closed  bool

	together, waited uint64 // entries that shared another's commit, and that waited for one
	waitedFor        time.Duration
}

// asked is an entry that a caller waits for.
type asked struct {
	entry logging.Entry
	began time.Time
	over  func() error  // of its caller's context
	batch *batch        // nil while it waits; guarded by Writer.mu
	done  chan struct{} // closed when verdict and err are set

	verdict Verdict
	err     error
}

// batch is what goes into one commit.
type batch struct {
	entries []logging.Entry
	asked   [][]*asked // for each entry who asked for it
	left    int        // callers who still wait; guarded by Writer.mu
	cancel  context.CancelFunc
}

// Start returns a writer, which is to be closed.
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

// Close ends a batch that is under way, fails all who wait with Unavailable, and
// waits until nothing runs.
func (w *Writer) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	<-w.ended
}

// Write stores a valid entry with an id, and returns once that is committed. An
// entry whose caller left may be stored yet.
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
	default: // it rings already
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

// leave takes a caller out of those who wait, and ends a batch that nobody
// waits for any more.
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

// run stores batches until ctx ends, then fails who waits.
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

// one stores the next batch, if somebody waits.
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

// take takes the next batch of those who wait; nil if nobody does. An entry
// whose id is in the batch goes with that one if they are the same, and else
// waits for the next: which of two contents comes first is decided by who asked.
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
		// A batch that is begun for nobody is cancelled at once, and a database can miss that: it forgets
		// a cancellation that comes before its statement. The caller has his own word of it.
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
	clear(w.waiting[len(kept):]) // or what is done stays reachable
	w.waiting = kept
	if b.left == 0 {
		return nil
	}
	w.together += uint64(b.left - 1) // never below 0
	w.waited += uint64(b.left)       // likewise
	return b
}

// end tells all who asked. Of several who asked for the same entry, the first
// has stored it.
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

// Use adds to how a pool was used what it does not see: entries that shared a
// connection, and how long they waited for it.
func (w *Writer) Use(pool wirelab.PoolUse) wirelab.PoolUse {
	w.mu.Lock()
	defer w.mu.Unlock()
	pool.Acquired += w.together
	pool.Waited += w.waited
	pool.Waiting += w.waitedFor
	return pool
}
