package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirelab"
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/delivery"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
)

// keeperTick is how late a message may be taken back that was not acknowledged in time.
const keeperTick = 20 * time.Millisecond

// hands are the groups that have had members since this node leads. The log has what
// they acknowledged; what is in members' hands is here, and begins anew with each leader.
type hands struct {
	n    *Node
	wake chan struct{} // the keeper has dead letters to make
	next atomic.Int64  // before this time nothing is due; 0: nothing is

	mu  sync.Mutex // guards all; taken before a hand's mu
	all map[uint64]*hand
}

// hand is one group's.
type hand struct {
	n     *Node
	id    uint64
	topic *topic
	name  string

	mu      sync.Mutex // guards all below, and its members' err and ahead
	g       *delivery.Group
	members map[uint64]*member
	// generation is the machine's, as of the group's last seek. What belongs to an earlier one,
	// and comes now, is passed over.
	generation uint64
	last       uint64 // the member made last
	due        int64  // when Expire has something to do; 0: never
	dead       []delivery.Dead
	ended      bool
}

func newHands(n *Node) *hands {
	return &hands{n: n, wake: make(chan struct{}, 1), all: map[uint64]*hand{}}
}

// join makes a member. On the loop.
func (s *hands) join(ctx context.Context, t *topic, id, generation uint64, g broker.Group, inFlight int) *member {
	s.mu.Lock()
	h := s.all[id]
	if h == nil {
		h = &hand{n: s.n, id: id, topic: t, name: g.Name, generation: generation, members: map[uint64]*member{}, g: delivery.New(delivery.Options{
			AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts, Floor: g.Floor, Acked: g.Acked,
		})}
		s.all[id] = h
	}
	s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	f := &member{hand: h, id: h.last, wake: make(chan struct{}, 1), inFlight: inFlight}
	h.members[f.id] = f
	h.g.Join(f.id, inFlight)
	f.unwatch = t.watch(f)
	f.detach = context.AfterFunc(ctx, func() { h.leave(f, wirelab.Public(ctx.Err())) })
	return f
}

func (s *hands) find(id uint64) *hand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// counted adds what only the leader knows of a group.
func (s *hands) counted(id uint64, g broker.Group) broker.Group {
	if h := s.find(id); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		c := h.g.Counts()
		g.Members, g.InFlight, g.Redelivered = c.Members, c.InFlight, c.Redelivered
	}
	return g
}

// seek forgets what is in members' hands, and begins another generation. On the loop.
func (s *hands) seek(id, floor, generation uint64) {
	if h := s.find(id); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.g.Seek(floor)
		h.generation = generation
		h.dead = nil
		for _, f := range h.members {
			f.ahead = nil
		}
		h.settle()
	}
}

// end ends all groups' members: this node leads no longer.
func (s *hands) end(err error) { s.endSome(err, func(*hand) bool { return true }) }

func (s *hands) endTopic(topic uint32, err error) {
	s.endSome(err, func(h *hand) bool { return h.topic.id == topic })
}

func (s *hands) endGroup(id uint64, err error) {
	s.endSome(err, func(h *hand) bool { return h.id == id })
}

func (s *hands) endSome(err error, which func(*hand) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.all {
		if which(h) {
			delete(s.all, id)
			h.end(err)
		}
	}
}

func (h *hand) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, f := range h.members {
		f.end(err)
	}
}

// run is the keeper.
func (s *hands) run() {
	tick := time.NewTicker(keeperTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.wake:
		case <-s.n.stopped:
			return
		}
		for _, h := range s.due(s.n.clock.now()) {
			h.mu.Lock()
			h.settle()
			dead, generation := h.dead, h.generation
			h.dead = nil
			h.mu.Unlock()
			for _, d := range dead {
				h.bury(d, generation)
			}
		}
	}
}

// due are the groups that have something due. It looks at all there are, but only when
// the earliest time that any of them told has come.
func (s *hands) due(now int64) []*hand {
	if next := s.next.Load(); next == 0 || next > now {
		return nil
	}
	s.next.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*hand
	for _, h := range s.all {
		h.mu.Lock()
		if h.due != 0 && h.due <= now || len(h.dead) > 0 {
			all = append(all, h)
		} else {
			s.expect(h.due)
		}
		h.mu.Unlock()
	}
	return all
}

// expect notes that something is due at a time.
func (s *hands) expect(at int64) {
	for {
		next := s.next.Load()
		if at == 0 || next != 0 && next <= at || s.next.CompareAndSwap(next, at) {
			return
		}
	}
}

// settle takes back what is due and tells all members to ask again. With mu.
func (h *hand) settle() {
	h.expire()
	for _, f := range h.members {
		f.tell()
	}
}

// expire takes back what is due and notes when that is to be done next. With mu.
func (h *hand) expire() {
	dead, wake := h.g.Expire(h.n.clock.now())
	h.due = wake
	h.n.hands.expect(wake)
	if len(dead) == 0 {
		return
	}
	h.dead = append(h.dead, dead...)
	h.n.hands.expect(1)
	select {
	case h.n.hands.wake <- struct{}{}:
	default:
	}
}

// bury passes a message over, and stores it as a dead letter in the same entry. (hb-D19)
func (h *hand) bury(d delivery.Dead, generation uint64) {
	only := []broker.Range{{First: d.Offset, Last: d.Offset}}
	items, count, err := h.letter(d, generation, only)
	if err != nil {
		h.n.logger.Error("a dead letter could not be made", "topic", h.topic.name, "offset", d.Offset, "why", err)
		h.logged(generation, only, err)
		return
	}
	h.n.loop.propose(&proposal{items: items, count: count, ctx: context.Background(), answer: func(v replica.Verdict) {
		h.logged(generation, only, failure(v))
	}})
}

// letter is what the log gets for a message that was given up, and how many items that is.
func (h *hand) letter(d delivery.Dead, generation uint64, only []broker.Range) (items []byte, count int, err error) {
	ack := func(dead uint32) []byte { return core.Ack(h.id, generation, only, dead) }
	if h.topic.name == hermes.DeadLetters {
		// It stays where it is, and counts. A letter about it would come to this same group, whose
		// letter about that would come too: a topic that feeds itself fills the disk.
		h.n.logger.Warn("a dead letter was passed over: its group could not handle it either",
			"group", h.name, "offset", d.Offset, "attempts", d.Attempts, "reason", d.Reason)
		return commands(ack(1)), 1, nil
	}
	got, err := h.n.tail.Fetch(nil, h.topic.id, d.Offset, d.Offset+1, 1)
	if err != nil {
		return nil, 0, err
	}
	if len(got) == 0 { // trimmed meanwhile: there is nothing to keep
		return commands(ack(0)), 1, nil
	}
	var m hermes.Message
	for raw := range record.Messages(got[0].Messages) {
		if err := record.ReadMessage(raw, &m); err != nil {
			return nil, 0, err
		}
	}
	m = hermes.DeadLetter(m, h.topic.name, d.Offset, h.name, d.Attempts, d.Reason)
	letters, err := h.n.topics.find(hermes.DeadLetters)
	if err != nil {
		return nil, 0, err
	}
	items = record.AppendRun(nil, record.Run{Topic: letters.id, Count: 1, Messages: record.AppendMessage(nil, &m)})
	return record.AppendCommand(items, ack(1)), 2, nil
}

// failure is why something of a proposal was not done.
func failure(v replica.Verdict) error {
	if v.Err != nil {
		return v.Err
	}
	for _, o := range v.Outcomes {
		if o.Err != nil {
			return o.Err
		}
	}
	return nil
}

// logged tells what became of ranges that were to be acknowledged in the log.
func (h *hand) logged(generation uint64, ranges []broker.Range, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if generation != h.generation {
		return // the group was set elsewhere: these may be in other hands now
	}
	if err == nil {
		h.g.Acknowledged(ranges)
	} else {
		h.g.Refused(ranges, h.n.clock.now())
	}
	h.settle()
}

// leave ends a member's feed.
func (h *hand) leave(f *member, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.err != nil {
		return
	}
	f.end(err)
	delete(h.members, f.id)
	h.g.Leave(f.id, h.n.clock.now())
	h.settle()
}

// member is a feed of a group's member, on the leader.
type member struct {
	hand     *hand
	id       uint64
	wake     chan struct{} // one place
	inFlight int
	detach   func() bool
	unwatch  func()

	err   error          // why it ended; with the hand's mu
	ahead []broker.Batch // in this member's hands, and not given out; with the hand's mu
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
func (f *member) Next(ctx context.Context, limit int) (broker.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return broker.Batch{}, wirelab.Public(err)
		}
		b, ok, err := f.lease(limit)
		if err != nil || ok {
			return b, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
		}
	}
}

// lease is what the member may have now.
func (f *member) lease(limit int) (broker.Batch, bool, error) {
	h := f.hand
	h.mu.Lock()
	if b, ok, err := f.given(limit); ok || err != nil {
		h.mu.Unlock()
		return b, ok, err
	}
	l, ok := h.g.Next(f.id, h.topic.next.Load(), h.topic.first.Load(), f.inFlight, h.n.clock.now())
	if ok {
		h.expire() // it may be due before all else
	}
	generation := h.generation
	h.mu.Unlock()
	if !ok {
		return broker.Batch{}, false, nil
	}
	got, err := h.n.tail.Fetch(nil, h.topic.id, l.First, l.Last+1, limit)
	if err == nil && (len(got) == 0 || got[0].Offset != l.First) && h.topic.first.Load() <= l.First {
		err = wirelab.Errorf(wirelab.Internal, "message %d of topic %q is missing", l.First, h.topic.name)
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
	return f.given(limit)
}

// given is the next of what was leased before. With the hand's mu.
func (f *member) given(limit int) (broker.Batch, bool, error) {
	if f.err != nil {
		return broker.Batch{}, false, f.err
	}
	if len(f.ahead) == 0 {
		return broker.Batch{}, false, nil
	}
	b := f.ahead[0]
	head, count := record.Head(b.Messages, limit)
	if count < b.Count {
		rest := &f.ahead[0]
		rest.Messages, rest.Offset, rest.Count = b.Messages[len(head):], b.Offset+uint64(count), b.Count-count
		b.Messages, b.Count = head[:len(head):len(head)], count
		return b, true, nil
	}
	f.ahead = f.ahead[1:]
	return b, true, nil
}

func checkRanges(ranges []broker.Range) error {
	for _, r := range ranges {
		if r.First > r.Last {
			return wirelab.Errorf(wirelab.InvalidArgument, "range %d to %d ends before it begins", r.First, r.Last)
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
		return wirelab.Public(err)
	}
	h := f.hand
	h.mu.Lock()
	if f.err != nil {
		h.mu.Unlock()
		return f.err
	}
	taken, generation := h.g.Ack(f.id, ranges), h.generation
	f.tell() // there may be room in its hands
	h.mu.Unlock()
	if len(taken) == 0 {
		return nil
	}
	back := make(chan answer[struct{}], 1)
	// The hand must hear of it, whether the caller waits or not.
	h.n.loop.propose(&proposal{items: commands(core.Ack(h.id, generation, taken, 0)), count: 1, ctx: context.WithoutCancel(ctx), answer: func(v replica.Verdict) {
		err := failure(v)
		h.logged(generation, taken, err)
		back <- answer[struct{}]{err: err}
	}})
	_, err := await(ctx, back)
	return err
}

// Nack implements [broker.Feed].
func (f *member) Nack(ctx context.Context, ranges []broker.Range, reason string, delay int64) error {
	if err := checkRanges(ranges); err != nil {
		return err
	}
	if delay < 0 {
		return wirelab.Errorf(wirelab.InvalidArgument, "a delay of %d ns is negative", delay)
	}
	if err := ctx.Err(); err != nil {
		return wirelab.Public(err)
	}
	h := f.hand
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	h.g.Nack(f.id, ranges, reason, h.n.clock.now()+delay)
	h.settle()
	return nil
}

// Close implements [broker.Feed].
func (f *member) Close() {
	f.hand.leave(f, wirelab.Errorf(wirelab.Canceled, "the subscription was closed"))
}
