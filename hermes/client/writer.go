package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"wirelab/hermes"
	"wirelab/hermes/frame"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// writer is the publishing half of a client: it takes messages, keeps them until they are
// answered, and has one stream at a time to send them on.
type writer struct {
	c    *Client
	room *semaphore.Weighted // bytes of messages
	size int64               // of room

	mu       sync.Mutex // guards all below
	inbox    inbox
	queues   map[queueKey]*sendQueue
	list     []*sendQueue      // that have something to send; each once
	sent     map[uint64]*run   // by tag, on the present stream
	tag      uint64            // the last
	telling  map[*run]struct{} // answered, but the callbacks have not returned
	shared   [hermes.Performance]uint64
	stored   uint64 // runs
	started  bool   // the goroutine runs
	closed   bool
	moving   bool      // nothing more continues the present stream: another node leads
	answered time.Time // when the last verdict came, or the first of what waits was sent

	work chan struct{} // 1: list is not empty
}

// streamRuns is how many runs may be unanswered on a stream. With many topics those that wait grow in the
// meantime: a run costs a node about as much as ten of its messages. Of 1024, as many as a node takes, ten
// thousand topics' runs had 7 messages and went no faster for their number.
const streamRuns = 128

// frameBytes is how much goes in one frame, but for the last run of it: with many topics a frame for
// each run of a few messages would cost both ends more than the messages.
const frameBytes = 32 << 10

func newWriter(c *Client) *writer {
	return &writer{
		c: c, room: semaphore.NewWeighted(int64(c.options.Buffer)), size: int64(c.options.Buffer),
		queues: map[queueKey]*sendQueue{}, sent: map[uint64]*run{}, telling: map[*run]struct{}{},
		work: make(chan struct{},
			1),
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// weigh is the room of a message: what it takes in a run, about.
func (w *writer) weigh(m *hermes.Message) int64 {
	n := int64(len(m.Payload) + len(m.Key) + 16)
	for i := range m.Headers {
		n += int64(len(m.Headers[i].Name) + len(m.Headers[i].Value) + 8)
	}
	return min(n, w.size) // a message larger than the room goes alone
}

func (w *writer) send(ctx context.Context, key queueKey, m *hermes.Message, done func(Receipt, error)) error {
	if err := key.check(); err != nil {
		return err
	}
	if err := record.CheckMessage(m); err != nil {
		return err
	}
	weight := w.weigh(m)
	if !w.room.TryAcquire(weight) {
		if err := w.acquire(ctx, weight); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		w.room.Release(weight)
		return errClosed
	}
	// While others wait to be sent, this one can wait for its neighbours: the sender spreads before it picks.
	if w.inbox.put(key, m, weight, done) || len(w.list) == 0 || w.c.options.Linger > 0 {
		w.spread()
	}
	if !w.started {
		w.started = w.c.spawn(w.run)
	}
	return nil
}

// acquire waits for room, as long as ctx and the client last.
func (w *writer) acquire(ctx context.Context, weight int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.c.ctx, func() { cancel(errClosed) })()
	if err := w.room.Acquire(ctx, weight); err != nil {
		return status.Public(context.Cause(ctx))
	}
	return nil
}

// lingers starts the wait of a queue's open run.
func (w *writer) lingers(l *sendQueue) {
	if w.c.options.Linger == 0 || l.open == nil {
		return
	}
	r := l.open
	l.linger = time.AfterFunc(w.c.options.Linger, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.open == r {
			l.due = true
			w.enlist(l)
		}
	})
}

// enlist puts a queue that may send on the list.
func (w *writer) enlist(l *sendQueue) {
	if l.listed || !l.ready(&w.c.options) {
		return
	}
	l.listed = true
	w.list = append(w.list, l)
	signal(w.work)
}

// pick is the next runs to send, as one frame, as they are now: an answer to another may number them anew.
// needs: there is one more, but its queue has no producer.
func (w *writer) pick() (next frame.Runs, needs *sendQueue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spread()
	for size := 0; len(w.list) > 0 && len(w.sent) < streamRuns && !w.moving && size < frameBytes; {
		l := w.list[0]
		if !l.ready(&w.c.options) {
			w.unlist(l)
			continue
		}
		if mode := l.key.mode; mode != hermes.Performance && l.producer == 0 {
			if l.renewed || w.shared[mode] == 0 {
				return next, l
			}
			l.producer = w.shared[mode]
		}
		r := l.take()
		w.unlist(l)
		w.enlist(l) // at the end: topics take turns
		if len(w.sent) == 0 {
			w.answered = time.Now()
		}
		w.tag++
		w.sent[w.tag] = r
		next = append(next, r.frame(w.tag))
		size += len(r.messages)
	}
	return next, nil
}

// unlist takes the first queue off the list. Those behind it are not moved up: with ten thousand topics that
// cost more than the run that is sent.
func (w *writer) unlist(l *sendQueue) {
	l.listed = false
	w.list[0] = nil
	w.list = w.list[1:]
}

// produce gives a queue a producer.
func (w *writer) produce(l *sendQueue, id uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l.producer = id
	if !l.renewed {
		w.shared[l.key.mode] = id
	}
}

// finish is a run that is answered. It returns its callbacks' call, for outside the lock.
func (w *writer) finish(r *run, v *frame.Verdict, err error) func() {
	w.room.Release(r.taken)
	w.telling[r] = struct{}{}
	return func() {
		defer w.told(r)
		for i, done := range r.done {
			switch {
			case done == nil:
			case err != nil:
				done(Receipt{}, err)
			case v.Provisional || r.queue.key.mode == hermes.Performance:
				done(Receipt{Time: v.Time, Provisional: v.Provisional, Term: v.Term, Index: v.Index}, nil)
			default:
				done(Receipt{
					Offset: v.Offset + uint64(i), Time: v.Time, Duplicate: v.Duplicate, Term: v.Term,
					Index: v.Index,
				}, nil)
			}
		}
	}
}

// told is that a run's callbacks have returned.
func (w *writer) told(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.telling, r)
	for _, f := range r.flushes {
		if f.left--; f.left == 0 {
			close(f.done)
		}
	}
}

// verdict takes an answer, and adds to calls whatever is to be told outside the lock. An error is the end of
// the stream: all that is not answered is to be sent again.
func (w *writer) verdict(v *frame.Verdict, calls []func()) ([]func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered = time.Now()
	defer w.goOn()
	r := w.sent[v.Tag]
	if r == nil {
		return calls, nil // it was given up, or another answer sent it again
	}
	l := r.queue
	defer w.enlist(l)
	if !v.Failed {
		delete(w.sent, v.Tag)
		l.land(r)
		l.proven, l.gap = true, false
		w.stored++
		return w.refusals(l, append(calls, w.finish(r, v, nil))), nil
	}
	code, _ := status.ParseCode(v.Code)
	failed := status.Errorf(code, "%s", v.Message)
	switch {
	case l.key.mode == hermes.Performance:
		delete(w.sent, v.Tag)
		l.land(r)
		return append(calls, w.finish(r, nil, failed)), nil
	case uncertain(code):
		return calls, failed
	}
	r.refusal, r.tag = failed, v.Tag
	return w.refusals(l, calls), nil
}

// goOn wakes the sender, where an answer made room on the stream or was the last one of it.
func (w *writer) goOn() {
	if len(w.list) > 0 || w.moving && len(w.sent) == 0 {
		signal(w.work)
	}
}

// refusals deals with the runs of a queue that were refused for certain, from the front on. One behind a run
// that is not answered yet waits: it may be refused for the other's sake, and the run in front of it may be
// stored, and so must keep its numbers.
func (w *writer) refusals(l *sendQueue, calls []func()) []func() {
	for len(l.flying) > 0 && l.flying[0].refusal != nil {
		r := l.flying[0]
		delete(w.sent, r.tag)
		if again, told := l.refused(r, r.refusal); !again {
			calls = append(calls, w.finish(r, nil, told))
		}
		if len(l.flying) == 0 {
			w.forget(l) // what was sent under the old producer is refused, whenever that is reported
		}
	}
	return calls
}

// forget takes a queue's runs that do not fly any more out of sent.
func (w *writer) forget(l *sendQueue) {
	for tag, r := range w.sent {
		if r.queue == l {
			delete(w.sent, tag)
		}
	}
}

// broke puts all that was sent back, and gives up runs that are too old or may not be sent again; after an
// error that is certain, everything.
func (w *writer) broke(err error) {
	w.mu.Lock()
	w.spread()
	oldest := time.Now().Add(-w.c.options.RetryFor)
	var calls []func()
	clear(w.sent)
	w.list = w.list[:0]
	untried := status.Errorf(status.Unavailable, "tried for %v; the last failure: %s", w.c.options.RetryFor,
		status.Public(err).Message)
	which := func(r *run) bool { return r.since.Before(oldest) }
	switch {
	case errors.Is(err, errMoved): // nothing failed
		which = func(*run) bool { return false }
	case !uncertain(status.CodeOf(err)): // such as no right to publish: no node says otherwise
		untried, which = err, func(*run) bool { return true }
	}
	finish := func(r *run, err error) { calls = append(calls, w.finish(r, nil, err)) }
	for _, l := range w.queues {
		l.listed = false
		if l.key.mode == hermes.Performance {
			for _, r := range l.flying {
				finish(r, perhaps(err))
			}
			l.flying = nil
		}
		l.again()
		if l.open != nil && which(l.open) {
			l.seal()
		}
		l.give(which, untried, perhaps(err), finish)
		w.enlist(l)
	}
	w.mu.Unlock()
	for _, call := range calls {
		call()
	}
}

func (w *writer) flush(ctx context.Context) error {
	f := &flush{done: make(chan struct{})}
	w.mu.Lock()
	w.spread()
	for _, l := range w.queues {
		runs := append(append([]*run(nil), l.waiting...), l.flying...)
		if l.open != nil {
			runs = append(runs, l.open)
			l.due = true
			w.enlist(l)
		}
		for _, r := range runs {
			f.awaits(r)
		}
	}
	for r := range w.telling {
		f.awaits(r)
	}
	empty := f.left == 0
	w.mu.Unlock()
	if empty {
		return nil
	}
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return status.Public(ctx.Err())
	}
}

// close takes no more.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
}

// fail answers all that is left, once the client has closed.
func (w *writer) fail() {
	w.mu.Lock()
	w.spread()
	var calls []func()
	for _, l := range w.queues {
		l.seal()
		for _, r := range append(l.flying, l.waiting...) {
			calls = append(calls, w.finish(r, nil, errClosed))
		}
		l.flying, l.waiting = nil, nil
	}
	clear(w.sent)
	w.list = nil
	w.mu.Unlock()
	for _, call := range calls {
		call()
	}
}
