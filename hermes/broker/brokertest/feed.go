package brokertest

import (
	"context"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// pushed is how many runs of performance mode wait for one feed; further ones pass it by.
const pushed = 1024

// feed is a subscription; its broker's lock guards it.
type feed struct {
	m        *InMemory
	t        *topic
	next     uint64        // broadcast: the offset that comes next
	gap      *broker.Range // broadcast: to be told with the next batch
	live     []broker.Batch
	group    *group
	inFlight int
	turn     int                 // group: how often it was handed something
	had      map[uint64]struct{} // group: what it was ever handed
	last     []uint64            // group: what Next gave last
	settled  time.Time           // group: when it last settled something that it had
	err      error               // set: it has ended
	detach   func() bool
}

// Subscribe implements [broker.Broker].
func (m *InMemory) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return nil, status.Public(ctx.Err())
	}
	if m.closed {
		return nil, errStopping
	}
	t, err := m.find(start.Topic)
	if err != nil {
		if !start.Create || status.CodeOf(err) != status.NotFound {
			return nil, err
		}
		if err := m.writable(ctx); err != nil {
			return nil, err
		}
		t = m.create(broker.Topic{Name: start.Topic})
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	f := &feed{m: m, t: t}
	switch {
	case start.From > broker.FromGroup:
		return nil, status.Errorf(status.InvalidArgument, "beginning %d is none", start.From)
	case start.From != broker.FromGroup:
		if f.next, err = t.at(start); err != nil {
			return nil, err
		}
		if start.From == broker.FromOffset && start.Offset < f.next {
			f.gap = &broker.Range{First: start.Offset, Last: f.next - 1}
		}
	default:
		if err := m.join(ctx, f, start); err != nil {
			return nil, err
		}
	}
	t.feeds[f] = struct{}{}
	f.detach = context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		f.end(status.Public(ctx.Err()))
		m.wake()
	})
	return f, nil
}

func (m *InMemory) join(ctx context.Context, f *feed, start broker.Start) error {
	if err := hermes.CheckGroup(start.Group); err != nil {
		return err
	}
	if err := m.writable(ctx); err != nil {
		return err
	}
	if start.InFlight < 0 {
		return status.Errorf(status.InvalidArgument, "%d messages in flight", start.InFlight)
	}
	g, ok := f.t.groups[start.Group]
	if !ok {
		g = f.t.addGroup(m, broker.Group{Topic: start.Topic, Name: start.Group}, f.t.First)
	}
	f.group, f.inFlight, f.had = g, start.InFlight, map[uint64]struct{}{}
	if f.inFlight == 0 {
		f.inFlight = hermes.InFlight
	}
	return nil
}

// push hands a run in performance mode to the live subscribers.
func (t *topic) push(b broker.Batch) {
	for f := range t.feeds {
		if f.group == nil && f.next == t.Next && len(f.live) < pushed {
			f.live = append(f.live, b)
		}
	}
}

// end ends the feed once. The lock is held.
func (f *feed) end(err error) {
	if f.err != nil {
		return
	}
	f.err = err
	delete(f.t.feeds, f)
	if f.group != nil {
		f.group.leave(f)
	}
}

// Next implements [broker.Feed].
func (f *feed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	for {
		f.m.mu.Lock()
		b, ok, err := f.take(room)
		changed := f.m.changed
		f.m.mu.Unlock()
		if err != nil || ok {
			return b, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return broker.Batch{}, status.Public(ctx.Err())
		}
	}
}

func (f *feed) take(room broker.Room) (broker.Batch, bool, error) {
	switch {
	case f.err != nil:
		return broker.Batch{}, false, f.err
	case f.group != nil:
		b, ok := f.group.lease(f, room, time.Now())
		return b, ok, nil
	case len(f.live) > 0:
		b, rest := f.live[0].Cut(room)
		if f.live[0] = rest; rest.Count == 0 {
			f.live = f.live[1:]
		}
		return b, true, nil
	}
	b, ok := f.t.read(f.next, room.Bytes)
	b, _ = b.Cut(room)
	f.next += uint64(b.Count)
	if ok {
		b.Gap, f.gap = f.gap, nil
	}
	return b, ok, nil
}

// Ack implements [broker.Feed].
func (f *feed) Ack(ctx context.Context, ranges []broker.Range) error {
	var late []broker.Range
	err := f.dealt(ctx, ranges, func(o uint64) {
		g := f.group
		h := g.leases[o]
		_, done := g.acked[o]
		switch {
		case done || o < g.s.Floor:
		case h == nil, h.with != nil && h.with != f:
			late = append(late, broker.Range{First: o, Last: o})
		default:
			if h.with == f {
				g.progress(o, time.Now())
			}
			g.acknowledge(o)
		}
	})
	if err == nil && len(late) > 0 {
		return &broker.LateError{Ranges: late}
	}
	return err
}

// Nack implements [broker.Feed].
func (f *feed) Nack(ctx context.Context, ranges []broker.Range, reason string, delay int64) error {
	if delay < 0 {
		return status.Errorf(status.InvalidArgument, "a delay of %d ns is negative", delay)
	}
	now := time.Now()
	return f.dealt(ctx, ranges, func(o uint64) {
		if h := f.group.leases[o]; h != nil && h.with == f {
			f.group.progress(o, now)
			f.group.back(o, now.Add(time.Duration(delay)), reason, false)
		}
	})
}

// dealt calls do for each offset of the ranges, all of which the feed must have been given.
func (f *feed) dealt(ctx context.Context, ranges []broker.Range, do func(offset uint64)) error {
	for _, r := range ranges {
		if r.First > r.Last {
			return status.Errorf(status.InvalidArgument, "range %d to %d ends before it begins", r.First, r.Last)
		}
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.group == nil {
		return status.Errorf(status.InvalidArgument, "only members of a group acknowledge")
	}
	if f.err != nil {
		return f.err
	}
	if ctx.Err() != nil {
		return status.Public(ctx.Err())
	}
	var all []uint64
	for _, r := range ranges {
		for o := r.First; o <= r.Last; o++ { // it ends: what was given is finite
			if _, ok := f.had[o]; !ok {
				return broker.Strange(o)
			}
			all = append(all, o)
		}
	}
	for _, o := range all {
		do(o)
	}
	f.group.settle()
	f.m.wake()
	return nil
}

// Return implements [broker.Feed].
func (f *feed) Return(count int) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.group == nil || f.err != nil {
		return
	}
	for _, o := range f.last[max(0, len(f.last)-max(0, count)):] {
		if h := f.group.leases[o]; h != nil && h.with == f {
			f.group.untried(o)
		}
	}
	f.last = nil
	f.group.settle()
	f.m.wake()
}

// Close implements [broker.Feed].
func (f *feed) Close() {
	f.detach()
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.end(status.Errorf(status.Canceled, "the subscription was closed"))
	f.m.wake()
}
