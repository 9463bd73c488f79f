package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/delivery"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

// redeliveryTick is how late a message may be taken back that was not acknowledged in time.
const redeliveryTick = 20 * time.Millisecond

// groups are the groups that have had members since this node leads. The log has what they acknowledged, and
// what was handed out in vain; messages in flight with members are here, and begin anew with each leader.
type groups struct {
	n    *Node
	wake chan struct{} // the redelivery loop has dead letters to make
	next atomic.Int64  // before this time nothing is due; 0: nothing is

	mu  sync.Mutex // guards all; taken before a hand's mu
	all map[uint64]*group
}

// group is one group's.
type group struct {
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
	gap        *broker.Range // what retention took, to be told with the next batch
	told       uint64        // all before it was told
}

// past is what a group brings along from the leaders before this one.
type past struct {
	tried []delivery.Tried
	gap   *broker.Range
}

// pastOf is a group's.
func pastOf(m *core.Machine, id uint64) (p past) {
	for _, t := range m.Tries(id) {
		p.tried = append(p.tried, delivery.Tried{Range: t.Range, Attempts: t.Attempts, Lost: t.Lost, Due: t.Due})
	}
	if gap, ok := m.Gap(id); ok {
		p.gap = &gap
	}
	return p
}

func newGroups(n *Node) *groups {
	return &groups{n: n, wake: make(chan struct{}, 1), all: map[uint64]*group{}}
}

// join makes a member. On the loop.
func (s *groups) join(ctx context.Context, t *topic, id, generation uint64, g broker.Group, inFlight int,
	p past,
) *member {
	s.mu.Lock()
	h := s.all[id]
	if h == nil {
		h = &group{
			n: s.n, id: id, topic: t, name: g.Name, generation: generation, members: map[uint64]*member{},
			gap: p.gap,
			g: delivery.New(delivery.Options{
				AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts, Floor: g.Floor, Acked: g.Acked, Tried: p.tried,
			}),
		}
		s.all[id] = h
	}
	s.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	f := &member{group: h, id: h.last, wake: make(chan struct{}, 1), inFlight: inFlight}
	h.members[f.id] = f
	h.g.Join(f.id, inFlight)
	f.unwatch = t.watch(f)
	f.detach = context.AfterFunc(ctx, func() { h.leave(f, status.Public(ctx.Err())) })
	return f
}

func (s *groups) find(id uint64) *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id]
}

// counted adds what only the leader knows of a group.
func (s *groups) counted(id uint64, g broker.Group) broker.Group {
	if h := s.find(id); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		c := h.g.Counts()
		g.Members, g.InFlight, g.Redelivered = c.Members, c.InFlight, c.Redelivered
	}
	return g
}

// seek forgets messages in flight with members, and begins another generation. On the loop.
func (s *groups) seek(id, floor, generation uint64) {
	if h := s.find(id); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.g.Seek(floor)
		h.generation = generation
		h.dead, h.gap = nil, nil
		for _, f := range h.members {
			f.ahead = nil
		}
		h.settle()
	}
}

// end ends all groups' members: this node leads no longer.
func (s *groups) end(err error) { s.endSome(err, func(*group) bool { return true }) }

func (s *groups) endTopic(topic uint32, err error) {
	s.endSome(err, func(h *group) bool { return h.topic.id == topic })
}

func (s *groups) endGroup(id uint64, err error) {
	s.endSome(err, func(h *group) bool { return h.id == id })
}

func (s *groups) endSome(err error, which func(*group) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.all {
		if which(h) {
			delete(s.all, id)
			h.end(err)
		}
	}
}

func (h *group) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	for _, f := range h.members {
		f.end(err)
	}
}

// run is the redelivery loop.
func (s *groups) run() {
	tick := time.NewTicker(redeliveryTick)
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
			failed := h.failed()
			h.mu.Unlock()
			h.keep(failed, generation)
			for _, d := range dead {
				h.deadLetter(d, generation)
			}
		}
	}
}

// due are the groups that have something due. It looks at all there are, but only when
// the earliest time that any of them told has come.
func (s *groups) due(now int64) []*group {
	if next := s.next.Load(); next == 0 || next > now {
		return nil
	}
	s.next.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*group
	for _, h := range s.all {
		h.mu.Lock()
		if h.due != 0 && h.due <= now || len(h.dead) > 0 || h.g.HasFailed() {
			all = append(all, h)
		} else {
			s.expect(h.due)
		}
		h.mu.Unlock()
	}
	return all
}

// expect notes that something is due at a time.
func (s *groups) expect(at int64) {
	for {
		next := s.next.Load()
		if at == 0 || next != 0 && next <= at || s.next.CompareAndSwap(next, at) {
			return
		}
	}
}

// settle takes back due messages and tells all members to ask again. With mu.
func (h *group) settle() {
	h.expire()
	for _, f := range h.members {
		f.tell()
	}
}

// expire takes back due messages and notes when that is to be done next. With mu.
func (h *group) expire() {
	dead, wake := h.g.Expire(h.n.clock.now())
	h.due = wake
	h.n.groups.expect(wake)
	if len(dead) == 0 && !h.g.HasFailed() {
		return
	}
	h.dead = append(h.dead, dead...)
	h.n.groups.expect(1)
	select {
	case h.n.groups.wake <- struct{}{}:
	default:
	}
}

// skip notes what retention took of a topic's groups. On the loop.
func (s *groups) skip(m *core.Machine, topic uint32) {
	for id, gap := range m.Gaps(topic) {
		if h := s.find(id); h != nil {
			h.mu.Lock()
			if gap.First = max(gap.First, h.told); gap.First <= gap.Last {
				h.gap = &gap
			}
			h.mu.Unlock()
		}
	}
}

// triedMost is how many ranges of tries go into one command.
const triedMost = 1000

// failed takes what was handed out in vain, where the log is to have it. With mu.
func (h *group) failed() [][]core.Tried {
	all := h.g.Failed()
	if h.n.level.reached.Load() == 0 {
		return nil
	}
	var parts [][]core.Tried
	for len(all) > 0 {
		part := make([]core.Tried, min(len(all), triedMost))
		for i := range part {
			part[i] = core.Tried{Range: all[i].Range, Attempts: all[i].Attempts, Lost: all[i].Lost, Due: all[i].Due}
		}
		parts, all = append(parts, part), all[len(part):]
	}
	return parts
}

// keep puts tries into the log, so that a leader after this one continues from there. It is not waited for:
// without it messages come once more.
func (h *group) keep(parts [][]core.Tried, generation uint64) {
	for _, part := range parts {
		h.n.loop.propose(&proposal{
			items: commands(core.Failed(h.id, generation, part)), count: 1, ctx: context.Background(),
			answer: func(replica.Verdict) {},
		})
	}
}

// keepSurely is keep, and waits until the log has it.
func (h *group) keepSurely(ctx context.Context, parts [][]core.Tried, generation uint64) error {
	if len(parts) == 0 {
		return nil
	}
	var items []byte
	for _, part := range parts {
		items = append(items, commands(core.Failed(h.id, generation, part))...)
	}
	back := make(chan answer[struct{}], 1)
	h.n.loop.propose(&proposal{
		items: items, count: len(parts), ctx: context.WithoutCancel(ctx),
		answer: func(v replica.Verdict) {
			back <- answer[struct{}]{err: failure(v)}
		},
	})
	_, err := await(ctx, back)
	if err != nil && status.CodeOf(err) == status.Conflict {
		return nil // the group was set elsewhere: all is forgotten
	}
	return err
}

// deadLetter passes a message over, and stores it as a dead letter in the same entry. (hb-D19)
func (h *group) deadLetter(d delivery.Dead, generation uint64) {
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
func (h *group) letter(d delivery.Dead, generation uint64, only []broker.Range) (items []byte, count int, err error) {
	ack := func(dead uint32) []byte { return core.Ack(h.id, generation, only, dead) }
	if h.topic.name == hermes.DeadLetters {
		// It stays where it is, and counts. A letter about it would come to this same group, whose
		// letter about that would come too: a topic that feeds itself fills the disk.
		h.n.logger.Warn("a dead letter was passed over: its group could not handle it either",
			"group", h.name, "offset", d.Offset, "attempts", d.Attempts, "reason", d.Reason)
		return commands(ack(1)), 1, nil
	}
	got, err := h.n.recent.Fetch(nil, h.topic.id, d.Offset, d.Offset+1, 1)
	if err != nil {
		return nil, 0, err
	}
	if len(got) == 0 { // trimmed in the meantime: there is nothing to keep
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
func (h *group) logged(generation uint64, ranges []broker.Range, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if generation != h.generation {
		return // the group was set elsewhere: these may be with another leader now
	}
	if err == nil {
		h.g.Acknowledged(ranges)
	} else {
		h.g.Refused(ranges, h.n.clock.now())
	}
	h.settle()
}

// leave ends a member's feed. What it was never given goes back untried.
func (h *group) leave(f *member, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.err != nil {
		return
	}
	f.end(err)
	f.giveBack()
	delete(h.members, f.id)
	h.g.Leave(f.id, h.n.clock.now())
	h.settle()
}
