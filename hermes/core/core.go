// Package core is the state machine that every node runs over the same log, so that all nodes have the same topics,
// offsets, producers and groups. Commands go in, outcomes come out. It has no clock, no goroutine and no disk, and
// does not depend on map order. Time is the entry's. It is not safe for concurrent use, except that any number of
// callers may read while nothing is applied.
//
// # Producers
//
// Of each producer and topic the last hermes.ProducerRuns runs are remembered. A run
// whose Sequence is the next is stored; one that is remembered with the same Count is
// a duplicate, answered with the offset it has; all else is Conflict, which says what
// was expected. A producer's first run on a topic may have any sequence from 1 up. A
// producer that was never opened, or was forgotten, is NotFound. What all of them
// take is bounded: by hermes.ProducersLimit, and by 200,000 pairs of producer and
// topic of at most 1 KiB each.
//
// From level 1 on, each producer and each group has an owner. If the limit of producers is reached, the owner with
// the most producers loses the one that was silent for longest, so that no owner takes the share of another.
//
// # Levels
//
// A field that is added to a command changes the state, but a node of an earlier version would ignore it. So the
// field has no effect until the log has a Rise to its level, which a leader writes once every node has said that it
// knows the level. From there on, an earlier version refuses the log and its snapshots.
//
// # Bounds
//
// A limit that Apply uses is part of the meaning of the log: two versions with
// different limits would reach different states over the same log. To change a limit,
// add a field with its value to the command.
package core

import (
	"math"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// deadLetters is the id of topic [hermes.DeadLetters], which is there from the start.
const deadLetters = 1

// offsetsLimit is the greatest offset, sequence and time, so that all of them fit
// whatever integer a client has.
const offsetsLimit = math.MaxInt64

// idBits are how many bits of an id say which of an entry's it is.
const idBits = 12

// limits are the bounds of the state. Tests take smaller ones.
type limits struct {
	topics, groups int
	producers      int
	sequences      int // producer and topic, each pair with up to runs of 16 bytes
	runs           int // of a sequence
	// ranges a group may have. Delivery stops at hermes.GroupRanges; what members had in flight by then may still
	// be acknowledged, or it would come again, and in the end as a dead letter, though it was dealt with.
	ranges int
	// How many ranges of tries a group may have, and all groups together.
	tries, triesAll int
}

var bounds = limits{
	topics: hermes.TopicsLimit, groups: hermes.GroupsLimit, producers: hermes.ProducersLimit,
	// Twice, since one producer alone may have a sequence on every topic.
	sequences: 2 * max(hermes.ProducersLimit, hermes.TopicsLimit),
	runs:      hermes.ProducerRuns, ranges: 2 * hermes.GroupRanges,
	tries: hermes.GroupRanges, triesAll: 100 * hermes.GroupRanges,
}

// Machine is the state after an entry.
type Machine struct {
	index  uint64
	time   int64
	given  uint64 // ids given by the entry that is being applied
	lastID uint32 // of topics

	topics map[uint32]*topic
	names  []*topic // the same by name: lists are read in that order

	groups map[uint64]*group

	producers map[uint64]*producer
	silent    producer // the ring of all: silent.newer is silent for longest
	sequences int

	level  uint32
	owners map[string]*owner
	tries  int // of all groups

	limits limits
}

// New is the state before the first entry: topic hermes.dlq (id 1) and nothing else.
func New() *Machine {
	m := empty()
	m.addTopic(&topic{name: hermes.DeadLetters, id: deadLetters})
	m.lastID = deadLetters
	return m
}

func empty() *Machine {
	m := &Machine{
		topics: map[uint32]*topic{}, groups: map[uint64]*group{}, producers: map[uint64]*producer{},
		owners: map[string]*owner{}, limits: bounds,
	}
	m.silent.older, m.silent.newer = &m.silent, &m.silent
	return m
}

// Outcome is what became of an item.
type Outcome struct {
	Topic     uint32 // of a run, or the topic a command made or changed
	Offset    uint64 // run: of its first message
	Duplicate bool   // run: it is stored elsewhere, at Offset; this one's bytes are no message
	Group     uint64 // the group a command made or changed
	Producer  uint64 // opened
	Err       error  // coded; the item changed nothing
}

// Apply applies the entry at an index, which must be the next. It appends an
// outcome for each item. The time of the entry's messages is [Machine.Time] after
// it, which is the entry's own unless an earlier entry's was greater. An error means
// that the log is broken, and the node must stop. An entry without data (a new
// leader's, and what a change of members is applied as) has no items.
func (m *Machine) Apply(index uint64, data []byte, outcomes []Outcome) ([]Outcome, error) {
	// A machine that took an entry twice would store its messages twice (hb-D12).
	if index != m.index+1 {
		return outcomes, status.Errorf(status.Internal, "entry %d came to be applied after entry %d", index, m.index)
	}
	time, items, err := record.Parse(data)
	if err != nil {
		return outcomes, err
	}
	m.index, m.time, m.given = index, max(m.time, time), 0
	for item, err := range items {
		if err != nil {
			return outcomes, err
		}
		var o Outcome
		if item.Command == nil {
			o = m.store(&item.Run)
		} else if o, err = m.command(item.Command); err != nil {
			return outcomes, err
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// store gives a run its offsets.
func (m *Machine) store(r *record.Run) Outcome {
	o := Outcome{Topic: r.Topic}
	t := m.topics[r.Topic]
	switch {
	case t == nil:
		o.Err = noTopic(r.Topic)
		return o
	case r.Old:
		o.Offset, o.Duplicate, o.Err = m.storeOld(t, r)
		return o
	case t.restoring && t.id != deadLetters:
		o.Err = beingRestored(t)
		return o
	case uint64(r.Count) > offsetsLimit-t.next:
		o.Err = status.Errorf(status.ResourceExhausted, "topic %s has used its offsets up", t.name)
		return o
	case r.Producer == 0:
		t.interrupt()
		o.Offset = t.store(r.Count, r.Size)
		return o
	}
	s, err := m.sequence(t, r)
	if err != nil {
		o.Err = err
		return o
	}
	if o.Offset, o.Duplicate, o.Err = s.find(r); o.Err != nil {
		return o
	}
	m.spoke(s.producer)
	if !o.Duplicate {
		t.interrupt()
		o.Offset = t.store(r.Count, r.Size)
		s.remember(stored{o.Offset, r.Count}, m.limits.runs)
	}
	return o
}

func noTopic(id uint32) error {
	return status.Errorf(status.NotFound, "topic %d is not there, or no longer", id)
}

// newID gives an id that nothing else ever has: hb-D13 took the clock's, and one in twenty was another's too.
func (m *Machine) newID() (uint64, error) {
	if m.given == 1<<idBits {
		return 0, status.Errorf(status.ResourceExhausted,
			"one entry of the log makes at most %d groups and producers: try again", 1<<idBits)
	}
	m.given++
	return m.index<<idBits | (m.given - 1), nil
}

// Applied is the index of the last entry applied; Time the greatest time so far, in
// Unix nanoseconds.
func (m *Machine) Applied() uint64 { return m.index }

// Time is the time of the messages that the last entry applied brought.
func (m *Machine) Time() int64 { return m.time }

// view is a group as others see it; what the leader alone knows of it is not here.
func (g *group) view() broker.Group {
	v := broker.Group{
		Topic: g.topic.name, Name: g.name, AckTimeout: g.ackTimeout, MaxAttempts: g.maxAttempts,
		Floor: g.floor, Acked: append([]broker.Range(nil), g.acked...), Dead: g.dead, Trimmed: g.trimmed,
		Lag: g.topic.next - g.floor,
	}
	for _, r := range g.acked {
		v.Lag -= r.Last - r.First + 1
	}
	return v
}
