package core

import (
	"iter"
	"math"
	"slices"

	"wirelab/hermes/broker"
	"wirelab/hermes/gen/command"
	"wirelab/wire/status"
)

// Level is up to which level this program knows what commands mean. From level 1 on a group has a count of what
// retention took from it unread, and of tries, and producers and groups have an owner.
const Level = 1

// Rise has commands mean all that they mean at a level, from its entry on. It may be written only once every node
// knows that level; one that is reached already is no error.
func Rise(level uint32) []byte {
	return write(&command.Command{Does: &command.Command_Rise{Rise: &command.Rise{Level: level}}})
}

// Level is the level that was reached; 0 before the first.
func (m *Machine) Level() uint32 { return m.level }

func (m *Machine) rise(c *command.Rise) error {
	if c.GetLevel() > Level {
		return status.Errorf(status.Unimplemented,
			"entry %d raises the cluster to level %d and this program knows levels up to %d: run the version that "+
				"wrote it, "+
				"or a later one", m.index, c.GetLevel(), Level)
	}
	m.level = max(m.level, c.GetLevel())
	return nil
}

// Owner is whose something is, and how many he may have of its kind; 0: as many as there are places.
type Owner struct {
	Name string
	Most uint32
}

// owner is what one has of the pools.
type owner struct {
	name      string
	producers int
	sequences int
	groups    int
	silent    producer // the ring of his own: silent.after is silent for longest
}

// owned is the owner of a name; he is made where he has nothing yet.
func (m *Machine) owned(name string) *owner {
	o := m.owners[name]
	if o == nil {
		o = &owner{name: name}
		o.silent.before, o.silent.after = &o.silent, &o.silent
		m.owners[name] = o
	}
	return o
}

// leave forgets an owner who has nothing any more.
func (m *Machine) leave(o *owner) {
	if o.producers == 0 && o.groups == 0 {
		delete(m.owners, o.name)
	}
}

// greatest is the owner who has most by a measure, and of those who have as much the first by name, so that every
// node finds the same.
func (m *Machine) greatest(of func(*owner) int) *owner {
	var most *owner
	for _, o := range m.owners {
		if most == nil || of(o) > of(most) || of(o) == of(most) && o.name < most.name {
			most = o
		}
	}
	return most
}

// quietest is who goes when there are too many producers: the one silent for longest, from level 1 on of the owner
// who has most of them. So one who opens any number of them only ever takes his own places.
func (m *Machine) quietest() *producer {
	if m.level == 0 {
		return m.silent.newer
	}
	return m.greatest(func(o *owner) int { return o.producers }).silent.after
}

// burdened is who goes when there are too many sequences and p begins another; p itself: none does.
func (m *Machine) burdened(p *producer) *producer {
	if m.level == 0 {
		return m.silent.newer
	}
	o := m.greatest(func(o *owner) int { return o.sequences })
	if q := o.silent.after; q != p {
		return q
	}
	return o.silent.after.after.own(p)
}

// own is the producer at a place of a ring, or another where that is no producer's.
func (p *producer) own(other *producer) *producer {
	if p.owner == nil {
		return other
	}
	return p
}

// tried is how often messages were handed out in vain.
type tried struct {
	broker.Range
	attempts, lost uint32
	due            int64 // Unix nanoseconds; 0: at once
}

// Tried is how often messages of a group were handed out in vain, and when they are to come again.
type Tried struct {
	broker.Range
	Attempts uint32 // 1 and up
	Lost     uint32 // of them those that do not count
	Due      int64  // Unix nanoseconds; 0: at once
}

// try notes tries. What there is no room for is passed over: such a message is taken for one that was not tried.
func (m *Machine) try(g *group, all []*command.Tried) {
	for _, c := range all {
		t := tried{
			broker.Range{First: max(c.GetFirst(), g.floor), Last: c.GetLast()},
			c.GetAttempts(), c.GetLost(),
			c.GetNotBefore(),
		}
		if t.First > t.Last || t.Last >= g.topic.next || t.attempts == 0 || t.lost > t.attempts || t.due < 0 {
			continue
		}
		// Two places: one may be needed for the end of what it is taken out of.
		if len(g.tries)+2 > m.limits.tries || m.tries+2 > m.limits.triesAll {
			continue
		}
		m.untry(g, t.Range)
		i := g.triedFrom(t.First)
		g.tries = slices.Insert(g.tries, i, t)
		m.tries++
		// A member may have dealt with a part of it before its time was over, and the log have that first.
		j, _ := slices.BinarySearchFunc(g.acked, t.First, func(r broker.Range, first uint64) int {
			if r.Last < first {
				return -1
			}
			return 1
		})
		for ; j < len(g.acked) && g.acked[j].First <= t.Last; j++ {
			m.untry(g, g.acked[j])
		}
	}
}

// triedFrom is the place of the first tries that end at an offset or behind it.
func (g *group) triedFrom(offset uint64) int {
	i, _ := slices.BinarySearchFunc(g.tries, offset, func(t tried, offset uint64) int {
		if t.Last < offset {
			return -1
		}
		return 1
	})
	return i
}

// untry forgets the tries of offsets.
func (m *Machine) untry(g *group, r broker.Range) {
	if len(g.tries) == 0 {
		return
	}
	was := len(g.tries)
	i := g.triedFrom(r.First)
	j := i
	var kept [2]tried
	rest := kept[:0]
	for ; j < len(g.tries) && g.tries[j].First <= r.Last; j++ {
		t := g.tries[j]
		if t.First < r.First {
			head := t
			head.Last = r.First - 1
			rest = append(rest, head)
		}
		if t.Last > r.Last {
			t.First = r.Last + 1
			rest = append(rest, t)
		}
	}
	g.tries = slices.Replace(g.tries, i, j, rest...)
	m.tries += len(g.tries) - was
}

// settled forgets the tries of what a group is past, or has acknowledged.
func (m *Machine) settled(g *group, ranges []broker.Range) {
	for _, r := range ranges {
		m.untry(g, r)
	}
	if len(g.tries) > 0 && g.floor > 0 {
		m.untry(g, broker.Range{First: 0, Last: g.floor - 1})
	}
}

// Tries are what of a group was handed out in vain, by offset.
func (m *Machine) Tries(group uint64) []Tried {
	g := m.groups[group]
	if g == nil || len(g.tries) == 0 {
		return nil
	}
	all := make([]Tried, len(g.tries))
	for i, t := range g.tries {
		all[i] = Tried{t.Range, t.attempts, t.lost, t.due}
	}
	return all
}

// Failed says how often a group's messages were handed out in vain. generation is as for Ack. Before level 1 it
// changes nothing.
func Failed(group, generation uint64, all []Tried) []byte {
	c := &command.Ack{Group: group, Generation: generation}
	for _, t := range all {
		c.Tried = append(c.Tried, &command.Tried{
			First: t.First, Last: t.Last, Attempts: t.Attempts, Lost: t.Lost,
			NotBefore: t.Due,
		})
	}
	return write(&command.Command{Does: &command.Command_Ack{Ack: c}})
}

// lose counts what a group has not dealt with before an offset, which retention takes now.
func (g *group) lose(before uint64) {
	if before <= g.floor {
		return
	}
	lost, last := before-g.floor, before-1
	for _, r := range g.acked { // the floor is none of them, and there is a gap before each
		if r.First >= before {
			break
		}
		lost -= min(r.Last, before-1) - r.First + 1
		if r.Last >= before-1 {
			last = r.First - 1
		}
	}
	g.trimmed = min(g.trimmed+lost, math.MaxInt64)
	if g.lostTo == 0 {
		g.lostFrom = g.floor
	}
	g.lostTo = last + 1
}

// Gaps are those of a topic's groups, by the group's id.
func (m *Machine) Gaps(topic uint32) iter.Seq2[uint64, broker.Range] {
	return func(yield func(uint64, broker.Range) bool) {
		t := m.topics[topic]
		if t == nil {
			return
		}
		for _, g := range t.groups {
			if g.lostTo > 0 && !yield(g.id, broker.Range{First: g.lostFrom, Last: g.lostTo - 1}) {
				return
			}
		}
	}
}

// Gap is what retention took of a group's unread messages since it last acknowledged any, from the first of them
// to the last.
func (m *Machine) Gap(group uint64) (gap broker.Range, ok bool) {
	g := m.groups[group]
	if g == nil || g.lostTo == 0 {
		return gap, false
	}
	return broker.Range{First: g.lostFrom, Last: g.lostTo - 1}, true
}
