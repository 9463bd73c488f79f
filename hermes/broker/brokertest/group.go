package brokertest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"wirelab"
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
)

// group is a group's cursor and hand-outs; its broker's lock guards it.
type group struct {
	m     *InMemory
	t     *topic
	s     broker.Group // Floor is kept right; Acked, Lag and the counts are made in state
	acked map[uint64]struct{}
	hands map[uint64]*hand // messages above the floor that were handed out, and not acknowledged
	alarm *time.Timer      // nil: nothing expires
}

// hand is a message that was handed out.
type hand struct {
	with     *feed     // nil: nobody has it now
	until    time.Time // with somebody: when it is taken back
	again    time.Time // with nobody: not before
	attempts uint32
	reason   string
}

func (t *topic) addGroup(m *InMemory, s broker.Group, floor uint64) *group {
	s.AckTimeout = cmp.Or(s.AckTimeout, int64(hermes.AckTimeout))
	s.MaxAttempts = cmp.Or(s.MaxAttempts, hermes.MaxAttempts)
	s = broker.Group{Topic: s.Topic, Name: s.Name, AckTimeout: s.AckTimeout, MaxAttempts: s.MaxAttempts, Floor: floor}
	g := &group{m: m, t: t, s: s, acked: map[uint64]struct{}{}, hands: map[uint64]*hand{}}
	t.groups[s.Name] = g
	return g
}

// lease hands messages of one attempt that follow one another to a member.
func (g *group) lease(f *feed, limit int, now time.Time) (broker.Batch, bool) {
	g.expire(now)
	room := f.inFlight
	for _, h := range g.hands {
		if h.with == f {
			room--
		}
	}
	free := func(o uint64) (attempt uint32, ok bool) {
		if _, done := g.acked[o]; done || o >= g.t.Next {
			return 0, false
		}
		h := g.hands[o]
		if h == nil {
			return 1, true
		}
		return h.attempts + 1, h.with == nil && !now.Before(h.again)
	}
	for o := max(g.s.Floor, g.t.First); o < g.t.Next && room > 0; o++ {
		attempt, ok := free(o)
		if !ok {
			continue
		}
		b, _ := g.t.read(o, limit)
		n := 1
		for n < min(b.Count, room) {
			if a, ok := free(o + uint64(n)); !ok || a != attempt {
				break
			}
			n++
		}
		b.Messages = b.Messages[:len(b.Messages)-len(record.Skip(b.Messages, n))]
		b.Count, b.Attempt = n, attempt
		for i := range uint64(n) {
			h := g.hands[o+i]
			if h == nil {
				h = &hand{}
				g.hands[o+i] = h
			}
			h.with, h.until, h.attempts = f, now.Add(time.Duration(g.s.AckTimeout)), attempt
		}
		if attempt > 1 {
			g.s.Redelivered += uint64(n)
		}
		g.settle()
		return b, true
	}
	return broker.Batch{}, false
}

// held is those offsets of the ranges that the member has.
func (g *group) held(f *feed, ranges []broker.Range) []uint64 {
	var all []uint64
	for o, h := range g.hands {
		if h.with == f && slices.ContainsFunc(ranges, func(r broker.Range) bool { return r.First <= o && o <= r.Last }) {
			all = append(all, o)
		}
	}
	slices.Sort(all)
	return all
}

func (g *group) acknowledge(o uint64) {
	delete(g.hands, o)
	g.acked[o] = struct{}{}
}

// back takes a message from its member, who had it in vain.
func (g *group) back(o uint64, again time.Time, reason string) {
	h := g.hands[o]
	h.with, h.again, h.reason = nil, again, reason
	if h.attempts < g.s.MaxAttempts {
		return
	}
	if g.s.Topic != hermes.DeadLetters { // a topic that fed itself would never end
		g.bury(o, h, reason)
	}
	g.s.Dead++
	g.acknowledge(o)
}

// bury stores a message as a dead letter.
func (g *group) bury(o uint64, h *hand, reason string) {
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
	for _, o := range g.held(f, []broker.Range{{First: 0, Last: ^uint64(0)}}) {
		g.back(o, time.Time{}, "its member left")
	}
	g.settle()
}

// expire takes back what was not acknowledged in time.
func (g *group) expire(now time.Time) {
	for _, o := range g.offsets() {
		if h := g.hands[o]; h.with != nil && !now.Before(h.until) {
			g.back(o, now, "")
		}
	}
}

func (g *group) offsets() []uint64 {
	all := make([]uint64, 0, len(g.hands))
	for o := range g.hands {
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
	for _, h := range g.hands {
		at := h.again
		if h.with != nil {
			at = h.until
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

// state is what is shown.
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
	for _, h := range g.hands {
		if h.with != nil {
			s.InFlight++
		}
	}
	return s
}

// CreateGroup implements [broker.Groups].
func (m *InMemory) CreateGroup(ctx context.Context, want broker.Group, start broker.Start) (broker.Group, error) {
	if want.AckTimeout < 0 {
		return broker.Group{}, wirelab.Errorf(wirelab.InvalidArgument, "ack timeout %d is negative", want.AckTimeout)
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
		return t.addGroup(m, want, t.at(start)).state(), nil
	}
	if g.s.AckTimeout != cmp.Or(want.AckTimeout, int64(hermes.AckTimeout)) || g.s.MaxAttempts != cmp.Or(want.MaxAttempts, hermes.MaxAttempts) {
		return broker.Group{}, wirelab.Errorf(wirelab.Conflict, "group %q of topic %q is there with other settings; delete it first", want.Name, want.Topic)
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
		err = wirelab.Errorf(wirelab.NotFound, "topic %q has no group %q", topicName, name)
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
	clear(g.acked)
	clear(g.hands)
	g.s.Floor = t.at(to)
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
	clear(g.hands) // so that nothing becomes a dead letter as the members leave
	for f := range t.feeds {
		if f.group == g {
			f.end(wirelab.Errorf(wirelab.NotFound, "group %q was deleted", name))
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
