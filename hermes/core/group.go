package core

import (
	"slices"
	"strings"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// group is a cursor on a topic: a floor, before which all is dealt with, and ranges
// above it that are. A gap is so never skipped (hb-D01: a group's offset was the
// count of its acknowledgements).
type group struct {
	id          uint64
	topic       *topic
	name        string
	ackTimeout  int64
	maxAttempts uint32
	// Invariant: topic.first <= floor <= topic.next.
	floor uint64
	// Invariant: rising, with a gap before each, the first behind the floor; all before topic.next.
	acked []broker.Range
	dead  uint64
	// seeks is one less than the generation: what was handed out before a seek
	// must not be acknowledged after it.
	seeks uint64

	// From level 1 on.
	owner   *owner
	trimmed uint64 // messages that retention took before they were dealt with
	// The first and the last of these since the group last acknowledged any, the last one's successor; 0: none.
	// Invariant: lostFrom < lostTo <= floor, or both are 0.
	lostFrom, lostTo uint64
	tries            []tried // rising, apart, between floor and topic.next
}

// ack adds ranges that lie before topic.next.
func (g *group) ack(ranges []broker.Range) {
	for _, r := range ranges {
		if r.Last >= g.floor {
			g.insert(max(r.First, g.floor), r.Last)
		}
	}
}

// insert adds one range at or behind the floor.
func (g *group) insert(first, last uint64) {
	// The first range that overlaps or touches, and the first behind it that does not.
	i, _ := slices.BinarySearchFunc(g.acked, first, func(r broker.Range, first uint64) int {
		if r.Last+1 < first {
			return -1
		}
		return 1
	})
	j := i
	for j < len(g.acked) && g.acked[j].First <= last+1 {
		first, last = min(first, g.acked[j].First), max(last, g.acked[j].Last)
		j++
	}
	if first > g.floor {
		g.acked = slices.Replace(g.acked, i, j, broker.Range{First: first, Last: last})
		return
	}
	// Behind the floor there is a gap before each range, so the floor moves once.
	g.floor = last + 1
	g.acked = slices.Delete(g.acked, i, j)
}

// raise moves the floor to an offset at least.
func (g *group) raise(to uint64) {
	if to > g.floor {
		g.insert(g.floor, to-1)
	}
}

// seek sets the floor and forgets the ranges.
func (g *group) seek(floor uint64) {
	g.floor, g.acked = floor, nil
	g.lostFrom, g.lostTo = 0, 0
	g.seeks++
}

// forgetTries forgets all tries of a group.
func (m *Machine) forgetTries(g *group) {
	m.tries -= len(g.tries)
	g.tries = nil
}

// admit refuses ranges that ack cannot take. Nothing has been changed then.
func (g *group) admit(ranges []broker.Range, limit int) error {
	for _, r := range ranges {
		if r.First > r.Last || r.Last >= g.topic.next {
			return status.Errorf(status.InvalidArgument,
				"group %s of topic %s acknowledges %d to %d, where the offsets end "+
					"before %d", g.name, g.topic.name, r.First, r.Last, g.topic.next)
		}
	}
	if len(g.acked)+len(ranges) <= limit {
		return nil
	}
	// They may yet join those there are: only doing it tells.
	tried := group{floor: g.floor, acked: slices.Clone(g.acked)}
	tried.ack(ranges)
	if len(tried.acked) > limit && len(tried.acked) > len(g.acked) {
		return status.Errorf(status.ResourceExhausted,
			"group %s of topic %s has %d separate ranges acknowledged above "+
				"offset %d, which is not: deal with that one first", g.name, g.topic.name, len(g.acked), g.floor)
	}
	return nil
}

// group is the place of a group in t.groups, or where it would be.
func (t *topic) group(name string) (int, bool) {
	return slices.BinarySearchFunc(t.groups, name, func(g *group, name string) int {
		return strings.Compare(g.name, name)
	})
}

// addGroup takes in a group whose name and id are unused.
func (m *Machine) addGroup(g *group) {
	i, _ := g.topic.group(g.name)
	g.topic.groups = slices.Insert(g.topic.groups, i, g)
	m.groups[g.id] = g
	if g.owner == nil {
		g.owner = m.owned("")
	}
	g.owner.groups++
}

func (m *Machine) removeGroup(g *group) {
	if i, ok := g.topic.group(g.name); ok {
		g.topic.groups = slices.Delete(g.topic.groups, i, i+1)
	}
	m.dropGroup(g)
}

// dropGroup gives back what a group has of the machine.
func (m *Machine) dropGroup(g *group) {
	delete(m.groups, g.id)
	m.tries -= len(g.tries)
	g.owner.groups--
	m.leave(g.owner)
}

// Group is a topic's group of a name. Members, InFlight and Redelivered are the
// leader's to say.
func (m *Machine) Group(topic, name string) (id uint64, g broker.Group, ok bool) {
	i, ok := m.named(topic)
	if !ok {
		return 0, broker.Group{}, false
	}
	t := m.names[i]
	if i, ok = t.group(name); !ok {
		return 0, broker.Group{}, false
	}
	return t.groups[i].id, t.groups[i].view(), true
}

// GroupByID is the group of an id.
func (m *Machine) GroupByID(id uint64) (broker.Group, bool) {
	g := m.groups[id]
	if g == nil {
		return broker.Group{}, false
	}
	return g.view(), true
}

// Generation counts, from 1, how often a group was begun anew: by making it and by
// each SeekGroup. 0: the group is not there.
func (m *Machine) Generation(id uint64) uint64 {
	g := m.groups[id]
	if g == nil {
		return 0
	}
	return g.seeks + 1
}

// Groups are those of a topic, by name.
func (m *Machine) Groups(topic string) []broker.Group {
	i, ok := m.named(topic)
	if !ok {
		return nil
	}
	var all []broker.Group
	for _, g := range m.names[i].groups {
		all = append(all, g.view())
	}
	return all
}
