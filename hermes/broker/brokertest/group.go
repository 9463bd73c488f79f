package brokertest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// group is a group's cursor and hand-outs; its broker's lock guards it.
type group struct {
	m      *InMemory
	t      *topic
	s      broker.Group // Floor is kept right; Acked, Lag and the counts are made in state
	acked  map[uint64]struct{}
	leases map[uint64]*leased // messages above the floor that were handed out, and not acknowledged
	alarm  *time.Timer        // nil: nothing expires
}

// leased is a message that was handed out.
type leased struct {
	with     *feed     // nil: no member has it now
	turn     int       // with a member: of what was handed out together
	since    time.Time // with a member: when its time began
	again    time.Time // with no one: not before
	attempts uint32
	lost     uint32 // of these, those that do not count: its member had others with it
	reason   string
}

// lone tells that it is handed out alone: it was lost in company twice.
func (h *leased) lone() bool { return h.lost >= 2 }

func (t *topic) addGroup(m *InMemory, s broker.Group, floor uint64) *group {
	s.AckTimeout = cmp.Or(s.AckTimeout, int64(hermes.AckTimeout))
	s.MaxAttempts = cmp.Or(s.MaxAttempts, hermes.MaxAttempts)
	s = broker.Group{Topic: s.Topic, Name: s.Name, AckTimeout: s.AckTimeout, MaxAttempts: s.MaxAttempts, Floor: floor}
	g := &group{m: m, t: t, s: s, acked: map[uint64]struct{}{}, leases: map[uint64]*leased{}}
	t.groups[s.Name] = g
	return g
}

// lease hands messages of one attempt that follow one another to a member.
func (g *group) lease(f *feed, room broker.Room, now time.Time) (broker.Batch, bool) {
	g.expire(now)
	has := g.has(f)
	left := f.inFlight - len(has)
	if room.Messages > 0 {
		left = min(left, room.Messages)
	}
	if left <= 0 || len(has) == 1 && g.leases[has[0]].lone() {
		return broker.Batch{}, false
	}
	first, single := max(g.s.Floor, g.t.First), false
	for _, o := range g.offsets() {
		if h := g.leases[o]; h.lone() && h.with == nil && !now.Before(h.again) && o >= first {
			if len(has) > 0 {
				return broker.Batch{}, false // it gets this one when it has nothing in flight, and nothing before
			}
			first, single = o, true
			break
		}
	}
	free := func(o uint64) (attempt, lost uint32, ok bool) {
		if _, done := g.acked[o]; done || o >= g.t.Next {
			return 0, 0, false
		}
		h := g.leases[o]
		if h == nil {
			return 1, 0, true
		}
		return h.attempts + 1, h.lost, h.with == nil && !now.Before(h.again)
	}
	for o := first; o < g.t.Next; o++ {
		attempt, lost, ok := free(o)
		if !ok {
			continue
		}
		b, _ := g.t.read(o, room.Bytes)
		n := 1
		for ; n < min(b.Count, left) && !single; n++ {
			if a, l, ok := free(o + uint64(n)); !ok || a != attempt || l != lost {
				break
			}
		}
		b.Attempt = attempt
		b, _ = b.Cut(broker.Room{Messages: n, Bytes: len(b.Messages)})
		g.handOut(f, b, now)
		return b, true
	}
	return broker.Batch{}, false
}

// handOut puts a batch in flight with a member.
func (g *group) handOut(f *feed, b broker.Batch, now time.Time) {
	f.turn++
	f.last = f.last[:0]
	for o := b.Offset; o < b.Offset+uint64(b.Count); o++ {
		h := g.leases[o]
		if h == nil {
			h = &leased{}
			g.leases[o] = h
		}
		h.with, h.turn, h.since, h.attempts = f, f.turn, now, b.Attempt
		f.had[o] = struct{}{}
		f.last = append(f.last, o)
	}
	if b.Attempt > 1 {
		g.s.Redelivered += uint64(b.Count)
	}
	g.settle()
}

// untried takes a message back that its member was not sent.
func (g *group) untried(o uint64) {
	h := g.leases[o]
	h.with, h.again = nil, time.Time{}
	if h.attempts > 1 {
		g.s.Redelivered--
	}
	if h.attempts--; h.attempts == 0 {
		delete(g.leases, o)
	}
}

// has is what a member has in flight, in order.
func (g *group) has(f *feed) []uint64 {
	var all []uint64
	for o, h := range g.leases {
		if h.with == f {
			all = append(all, o)
		}
	}
	slices.Sort(all)
	return all
}

// progress notes that a member settles a message that it has: what it was given with it and after it has as
// long again.
func (g *group) progress(o uint64, now time.Time) {
	of := g.leases[o]
	of.with.settled = now
	for _, h := range g.leases {
		if h.with == of.with && h.turn >= of.turn {
			h.since = now
		}
	}
}

func (g *group) acknowledge(o uint64) {
	delete(g.leases, o)
	g.acked[o] = struct{}{}
}

// back takes a message from its member, who had it in vain; company tells that it had others, and that no one
// can say which is to blame.
func (g *group) back(o uint64, again time.Time, reason string, company bool) {
	h := g.leases[o]
	h.with, h.again, h.reason = nil, again, reason
	if company && !h.lone() {
		h.lost++
	}
	if h.attempts-h.lost < g.s.MaxAttempts {
		return
	}
	if g.s.Topic != hermes.DeadLetters { // a topic that fed itself would never end
		g.deadLetter(o, h, reason)
	}
	g.s.Dead++
	g.acknowledge(o)
}

// deadLetter stores a message as a dead letter.
func (g *group) deadLetter(o uint64, h *leased, reason string) {
	var m hermes.Message
	if b, ok := g.t.read(o, 1); ok {
		for raw := range record.Messages(b.Messages) {
			if err := record.ReadMessage(raw, &m); err != nil {
				panic("brokertest: a message that was checked cannot be read: " + err.Error())
			}
		}
	}
	m = hermes.DeadLetter(m, g.s.Topic, o, g.s.Name, h.attempts, reason)
	g.m.store(g.m.topics[hermes.DeadLetters], record.AppendMessage(nil, &m), 1)
}

func (g *group) leave(f *feed) {
	has := g.has(f)
	for _, o := range has {
		g.back(o, time.Time{}, "its member left", len(has) > 1)
	}
	g.settle()
}

// until is when a message is taken back that a member has.
func (g *group) until(h *leased) time.Time { return h.since.Add(time.Duration(g.s.AckTimeout)) }

// expire takes back what was not acknowledged in time.
func (g *group) expire(now time.Time) {
	many := map[*feed]int{}
	for _, h := range g.leases {
		many[h.with]++
	}
	for _, o := range g.offsets() {
		if h := g.leases[o]; h.with != nil && !now.Before(g.until(h)) {
			g.back(o, now, "", many[h.with] > 1 && !h.with.settled.After(h.since))
		}
	}
}

func (g *group) offsets() []uint64 {
	all := make([]uint64, 0, len(g.leases))
	for o := range g.leases {
		all = append(all, o)
	}
	slices.Sort(all)
	return all
}

// settle moves the floor up and sets the alarm.
func (g *group) settle() {
	for {
		if _, ok := g.acked[g.s.Floor]; !ok {
			break
		}
		delete(g.acked, g.s.Floor)
		g.s.Floor++
	}
	g.stop()
	var next time.Time
	now := time.Now()
	for _, h := range g.leases {
		at := h.again
		if h.with != nil {
			at = g.until(h)
		} else if !at.After(now) {
			continue // it waits for a member, not for a time
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if next.IsZero() || g.m.closed {
		return
	}
	g.alarm = time.AfterFunc(max(0, time.Until(next)), func() {
		g.m.mu.Lock()
		defer g.m.mu.Unlock()
		if g.t.gone || g.m.closed || g.t.groups[g.s.Name] != g {
			return
		}
		g.expire(time.Now())
		g.settle()
		g.m.wake()
	})
}

func (g *group) stop() {
	if g.alarm != nil {
		g.alarm.Stop()
		g.alarm = nil
	}
}

// state is the displayed state.
func (g *group) state() broker.Group {
	s := g.s
	s.Floor = max(s.Floor, g.t.First)
	above := make([]uint64, 0, len(g.acked))
	for o := range g.acked {
		if o >= s.Floor {
			above = append(above, o)
		}
	}
	slices.Sort(above)
	for _, o := range above {
		if n := len(s.Acked); n > 0 && s.Acked[n-1].Last+1 == o {
			s.Acked[n-1].Last = o
			continue
		}
		s.Acked = append(s.Acked, broker.Range{First: o, Last: o})
	}
	if s.Floor < g.t.Next { // a group may stand before what will come
		s.Lag = g.t.Next - s.Floor - uint64(len(above))
	}
	for f := range g.t.feeds {
		if f.group == g {
			s.Members++
		}
	}
	for _, h := range g.leases {
		if h.with != nil {
			s.InFlight++
		}
	}
	return s
}

// CreateGroup implements [broker.Groups].
func (m *InMemory) CreateGroup(ctx context.Context, want broker.Group, start broker.Start) (broker.Group, error) {
	if want.AckTimeout < 0 {
		return broker.Group{}, status.Errorf(status.InvalidArgument, "ack timeout %d is negative", want.AckTimeout)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t, g, err := m.group(want.Topic, want.Name)
	if err != nil {
		return broker.Group{}, err
	}
	if err := m.writable(ctx); err != nil {
		return broker.Group{}, err
	}
	if err := t.open(); err != nil {
		return broker.Group{}, err
	}
	if g == nil {
		floor, err := t.at(start)
		if err != nil {
			return broker.Group{}, err
		}
		return t.addGroup(m, want, floor).state(), nil
	}
	if g.s.AckTimeout != cmp.Or(want.AckTimeout, int64(hermes.AckTimeout)) ||
		g.s.MaxAttempts != cmp.Or(want.MaxAttempts,
			hermes.MaxAttempts) {
		return broker.Group{}, status.Errorf(status.Conflict,
			"group %q of topic %q is there with other settings; delete it first", want.Name, want.Topic)
	}
	return g.state(), nil
}

// group is a topic and its group, which may be nil. The lock is held.
func (m *InMemory) group(topicName, name string) (*topic, *group, error) {
	if err := hermes.CheckGroup(name); err != nil {
		return nil, nil, err
	}
	t, err := m.find(topicName)
	if err != nil {
		return nil, nil, err
	}
	return t, t.groups[name], nil
}

// existing is group, and NotFound when there is none. The lock is held.
func (m *InMemory) existing(topicName, name string) (*topic, *group, error) {
	t, g, err := m.group(topicName, name)
	if err == nil && g == nil {
		err = status.Errorf(status.NotFound, "topic %q has no group %q", topicName, name)
	}
	return t, g, err
}

// SeekGroup implements [broker.Groups].
func (m *InMemory) SeekGroup(ctx context.Context, topicName, name string, to broker.Start) (broker.Group, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, g, err := m.existing(topicName, name)
	if err != nil {
		return broker.Group{}, err
	}
	if err := m.writable(ctx); err != nil {
		return broker.Group{}, err
	}
	floor, err := t.at(to)
	if err != nil {
		return broker.Group{}, err
	}
	clear(g.acked)
	clear(g.leases)
	g.s.Floor = floor
	g.settle()
	m.wake()
	return g.state(), nil
}

// DeleteGroup implements [broker.Groups].
func (m *InMemory) DeleteGroup(ctx context.Context, topicName, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, g, err := m.existing(topicName, name)
	if err != nil {
		return err
	}
	if err := m.writable(ctx); err != nil {
		return err
	}
	clear(g.leases) // so that nothing becomes a dead letter as the members leave
	for f := range t.feeds {
		if f.group == g {
			f.end(status.Errorf(status.NotFound, "group %q was deleted", name))
		}
	}
	g.stop()
	delete(t.groups, name)
	m.wake()
	return nil
}

// Group implements [broker.Groups].
func (m *InMemory) Group(_ context.Context, topicName, name string) (broker.Group, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, g, err := m.existing(topicName, name)
	if err != nil {
		return broker.Group{}, err
	}
	g.expire(time.Now())
	g.settle()
	return g.state(), nil
}

// ListGroups implements [broker.Groups].
func (m *InMemory) ListGroups(_ context.Context, topicName string) ([]broker.Group, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(topicName)
	if err != nil {
		return nil, err
	}
	all := make([]broker.Group, 0, len(t.groups))
	for _, g := range t.groups {
		all = append(all, g.state())
	}
	slices.SortFunc(all, func(a, b broker.Group) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
