package node

import (
	"context"
	"math"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

// member is a feed of a group's member, on the leader.
type member struct {
	group    *group
	id       uint64
	wake     chan struct{} // one place
	inFlight int
	detach   func() bool
	unwatch  func()

	err   error          // why it ended; with the hand's mu
	ahead []broker.Batch // leased to this member and not given out; with the hand's mu
	last  broker.Range   // what Next gave last; with the hand's mu
	gap   *broker.Range  // what was told with it; with the hand's mu
}

func (f *member) tell() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// end ends it. With the hand's mu.
func (f *member) end(err error) {
	if f.err == nil {
		f.err = err
		f.unwatch()
		f.detach()
		f.tell()
	}
}

// Next implements [broker.Feed].
func (f *member) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return broker.Batch{}, status.Public(err)
		}
		b, ok, err := f.lease(room)
		if err != nil || ok {
			return b, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
		}
	}
}

// lease is what the member may have now. It is leased no more than there is room for: what lies with it unsent,
// another could have.
func (f *member) lease(room broker.Room) (broker.Batch, bool, error) {
	h := f.group
	h.mu.Lock()
	if b, ok, err := f.given(room); ok || err != nil {
		h.mu.Unlock()
		return b, ok, err
	}
	most := f.inFlight
	if room.Messages > 0 {
		most = min(most, room.Messages)
	}
	l, ok := h.g.Next(f.id, h.topic.next.Load(), h.topic.first.Load(), most, h.n.clock.now())
	if ok {
		h.expire() // it may be due before all else
	}
	generation := h.generation
	h.mu.Unlock()
	if !ok {
		return broker.Batch{}, false, nil
	}
	got, err := h.n.recent.Fetch(nil, h.topic.id, l.First, l.Last+1, room.Bytes)
	if err == nil && (len(got) == 0 || got[0].Offset != l.First) && h.topic.first.Load() <= l.First {
		err = status.Errorf(status.Internal, "message %d of topic %q is missing", l.First, h.topic.name)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if generation != h.generation {
		f.tell() // the lease is forgotten, and others may have it: ask again
		return broker.Batch{}, false, f.err
	}
	from := l.First
	if err == nil && len(got) > 0 {
		last := got[len(got)-1]
		from = last.Offset + uint64(last.Count)
	}
	if from <= l.Last {
		h.g.Return(f.id, from, l.Last)
		if len(got) == 0 || err != nil {
			f.tell()
		}
	}
	if err != nil {
		return broker.Batch{}, false, err
	}
	for i := range got {
		got[i].Attempt = l.Attempt
	}
	f.ahead = got
	return f.given(room)
}

// given is the next of what was leased before. With the hand's mu.
func (f *member) given(room broker.Room) (broker.Batch, bool, error) {
	if f.err != nil {
		return broker.Batch{}, false, f.err
	}
	for len(f.ahead) > 0 && !f.group.g.Holds(f.id, f.ahead[0].Offset) {
		f.back(f.ahead[0]) // its lease is over, or a leader before this one had stored it: no more of it is sent
		f.ahead = f.ahead[1:]
	}
	if len(f.ahead) == 0 {
		return broker.Batch{}, false, nil
	}
	b, rest := f.ahead[0].Cut(room)
	if f.ahead[0] = rest; rest.Count == 0 {
		f.ahead = f.ahead[1:]
	}
	f.last = broker.Range{First: b.Offset, Last: b.Offset + uint64(b.Count) - 1}
	if b.Gap, f.group.gap = f.group.gap, nil; b.Gap != nil {
		f.group.told = b.Gap.Last + 1
	}
	f.gap = b.Gap
	f.group.g.Sent(f.id, f.last.First, f.last.Last)
	return b, true, nil
}

// back gives a batch back untried, as far as the member has it. With the hand's mu.
func (f *member) back(b broker.Batch) { f.group.g.Return(f.id, b.Offset, b.Offset+uint64(b.Count)-1) }

// giveBack gives back what was leased and not given out. With the hand's mu.
func (f *member) giveBack() {
	for _, b := range f.ahead {
		f.back(b)
	}
	f.ahead = nil
}

// Return implements [broker.Feed].
func (f *member) Return(count int) {
	h := f.group
	h.mu.Lock()
	defer h.mu.Unlock()
	if count <= 0 || f.err != nil || f.last.First > f.last.Last {
		return
	}
	from := f.last.Last + 1 - min(uint64(count), f.last.Last-f.last.First+1)
	if h.gap == nil && from == f.last.First {
		h.gap = f.gap // no one was told
	}
	h.g.Return(f.id, from, f.last.Last)
	f.last = broker.Range{First: 1} // none: it is given back once
	h.settle()
}

func checkRanges(ranges []broker.Range) error {
	for _, r := range ranges {
		if r.First > r.Last {
			return status.Errorf(status.InvalidArgument, "range %d to %d ends before it begins", r.First, r.Last)
		}
	}
	return nil
}

// Ack implements [broker.Feed].
func (f *member) Ack(ctx context.Context, ranges []broker.Range) error {
	if err := checkRanges(ranges); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return status.Public(err)
	}
	h := f.group
	h.mu.Lock()
	if f.err != nil {
		h.mu.Unlock()
		return f.err
	}
	acked, strange, ok := h.g.Ack(f.id, ranges, h.n.clock.now())
	generation := h.generation
	f.tell() // there may be room for more
	h.mu.Unlock()
	if !ok {
		return broker.Strange(strange)
	}
	var late error
	if len(acked.Late) > 0 {
		late = &broker.LateError{Ranges: acked.Late}
	}
	taken := acked.Taken
	if len(taken) == 0 {
		return late
	}
	back := make(chan answer[struct{}], 1)
	// The hand must hear of it, whether the caller waits or not.
	h.n.loop.propose(&proposal{
		items: commands(core.Ack(h.id, generation, taken, 0)), count: 1,
		ctx: context.WithoutCancel(ctx), answer: func(v replica.Verdict) {
			err := failure(v)
			h.logged(generation, taken, err)
			back <- answer[struct{}]{err: err}
		},
	})
	if _, err := await(ctx, back); err != nil {
		return err
	}
	return late
}

// Nack implements [broker.Feed].
func (f *member) Nack(ctx context.Context, ranges []broker.Range, reason string, delay int64) error {
	if err := checkRanges(ranges); err != nil {
		return err
	}
	if delay < 0 {
		return status.Errorf(status.InvalidArgument, "a delay of %d ns is negative", delay)
	}
	if err := ctx.Err(); err != nil {
		return status.Public(err)
	}
	h := f.group
	h.mu.Lock()
	if f.err != nil {
		h.mu.Unlock()
		return f.err
	}
	now := h.n.clock.now()
	again := now + delay
	if again < now {
		again = math.MaxInt64
	}
	strange, ok := h.g.Nack(f.id, ranges, reason, now, again)
	failed, generation := h.failed(), h.generation
	h.settle()
	h.mu.Unlock()
	if !ok {
		return broker.Strange(strange)
	}
	return h.keepSurely(ctx, failed, generation)
}

// Close implements [broker.Feed].
func (f *member) Close() {
	f.group.leave(f, status.Errorf(status.Canceled, "the subscription was closed"))
}
