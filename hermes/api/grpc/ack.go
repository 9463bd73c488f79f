package grpc

import (
	"context"
	"sync"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// acksLimit is how many ranges and frames wait to be acknowledged; then the stream is not read on.
const acksLimit = 4096

// ack is acknowledged messages, or with back ones that are given back.
type ack struct {
	frames uint64 // of the client's that it is made of
	ranges []broker.Range
	back   bool
	reason string
	delay  int64
}

// weight counts a frame without ranges too.
func (a *ack) weight() int { return int(a.frames) + len(a.ranges) }

// acks are a subscriber's acks and nacks that are not done yet, in order.
type acks struct {
	mu     sync.Mutex // guards all below
	queue  []ack
	weight int  // of the entries in queue
	closed bool // no more come

	work chan struct{} // 1: something was added, or closed
	room chan struct{} // 1: weight fell
}

func newAcks() acks {
	return acks{work: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// add waits for room. One ack always has.
func (q *acks) add(ctx context.Context, a ack) error {
	a.frames = 1
	for {
		q.mu.Lock()
		if q.weight == 0 || q.weight+a.weight() <= acksLimit {
			q.put(a)
			q.mu.Unlock()
			signal(q.work)
			return nil
		}
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// put puts acks that follow one another together, so that however long the log takes for one, the next takes
// all that came in the meantime.
func (q *acks) put(a ack) {
	q.weight += a.weight()
	if n := len(q.queue); n > 0 && !a.back && !q.queue[n-1].back {
		q.queue[n-1].frames += a.frames
		q.queue[n-1].ranges = append(q.queue[n-1].ranges, a.ranges...)
		return
	}
	q.queue = append(q.queue, a)
}

func (q *acks) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.work)
}

// take is the oldest that is to be done; closed: there is none and none will come.
func (q *acks) take() (a ack, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.queue) == 0 {
		return ack{}, false, q.closed
	}
	a = q.queue[0]
	q.queue = append(q.queue[:0], q.queue[1:]...)
	q.weight -= a.weight()
	signal(q.room)
	return a, true, false
}

// do does what comes, tells settled how many frames that was so far and what of the last came too late, and
// ends the subscription when there will be no more, or when one fails.
func (q *acks) do(
	ctx context.Context, feed broker.Feed, settled func(frames uint64, late []broker.Range) error,
	end context.CancelCauseFunc,
) {
	for done := uint64(0); ; {
		a, ok, closed := q.take()
		switch {
		case closed:
			end(errDone)
			return
		case !ok:
			select {
			case <-q.work:
			case <-ctx.Done():
				return
			}
			continue
		}
		// One that is late ends nothing: anyone who sent it continues with the others.
		late, err := broker.Late(a.tell(ctx, feed))
		if done += a.frames; err == nil {
			err = settled(done, late)
		}
		if err != nil {
			end(status.Public(err))
			return
		}
	}
}

func (a *ack) tell(ctx context.Context, feed broker.Feed) error {
	switch {
	case len(a.ranges) == 0:
		return nil
	case a.back:
		return feed.Nack(ctx, a.ranges, a.reason, a.delay)
	}
	return feed.Ack(ctx, a.ranges)
}
