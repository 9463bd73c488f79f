package core

import (
	"math/bits"
	"slices"
	"strings"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// How a topic keeps account of its bytes: a mark each step of them, and when there
// are too many, every second one goes and the step doubles. So it costs as much for
// a topic of any size.
const (
	marksLimit = 32
	markStep   = 64 << 10
)

// mark says how many bytes a topic had taken when it came to an offset.
type mark struct{ offset, bytes uint64 }

// topic is one ordered partition.
type topic struct {
	id      uint32
	name    string
	created int64

	retentionAge   int64
	retentionBytes uint64

	first, next uint64 // Invariant: first <= next.
	// total is all bytes ever stored, gone those of them before first, by the marks.
	// Invariant: gone <= total, and they are the same where first and next are.
	total, gone uint64
	// Invariant: rising; the first is at or before t.first. None where the topic is empty.
	marks []mark
	step  uint64 // bytes between marks; 0: markStep

	// restore is what brought the topic back, 0: it was never gone; restoring says that it is not done.
	restore   uint64
	restoring bool

	groups    []*group // by name
	sequences map[uint64]*sequence
}

func (t *topic) view() broker.Topic {
	return broker.Topic{
		Name: t.name, ID: t.id, First: t.first, Next: t.next, Bytes: t.total - t.gone, Created: t.created,
		RetentionAge: t.retentionAge, RetentionBytes: t.retentionBytes,
	}
}

// store takes count messages of together size bytes in and returns the first one's offset.
func (t *topic) store(count uint32, size int) uint64 {
	offset := t.next
	if n := len(t.marks); n == 0 || t.total-t.marks[n-1].bytes >= t.stride() {
		if n == marksLimit {
			t.thin()
		}
		t.marks = append(t.marks, mark{offset, t.total})
	}
	t.next += uint64(count)
	t.total += uint64(size)
	return offset
}

func (t *topic) stride() uint64 { return max(t.step, markStep) }

// thin takes every second mark away.
func (t *topic) thin() {
	kept := t.marks[:0]
	for i := 0; i < len(t.marks); i += 2 {
		kept = append(kept, t.marks[i])
	}
	t.marks, t.step = kept, 2*t.stride()
}

// trim gives up everything before an offset, which is at most next, and takes the groups along: messages that
// are gone for good are dealt with.
func (t *topic) trim(before uint64) {
	if before <= t.first {
		return
	}
	t.first = before
	if t.first == t.next {
		t.gone, t.marks, t.step = t.total, nil, 0
	} else {
		i := t.at(before)
		t.gone = max(t.gone, between(t.marks[i], t.end(i), before))
		t.marks = slices.Delete(t.marks, 0, i)
		for kept := t.total - t.gone; t.step > markStep && kept < t.step*marksLimit/4; {
			t.step /= 2
		}
	}
	for _, g := range t.groups {
		g.raise(t.first)
	}
}

// at is the last mark at or before an offset that is not before t.first.
func (t *topic) at(offset uint64) int {
	i, found := slices.BinarySearchFunc(t.marks, offset, func(m mark, offset uint64) int {
		switch {
		case m.offset < offset:
			return -1
		case m.offset > offset:
			return 1
		}
		return 0
	})
	if found {
		return i
	}
	return i - 1
}

// end is where the messages behind a mark end.
func (t *topic) end(i int) mark {
	if i+1 < len(t.marks) {
		return t.marks[i+1]
	}
	return mark{t.next, t.total}
}

// between estimates the bytes before an offset from the marks about it, as if all
// messages between them were of one size. Whole numbers: floating point need not
// come to the same on every machine.
func between(from, to mark, offset uint64) uint64 {
	high, low := bits.Mul64(to.bytes-from.bytes, offset-from.offset)
	part, _ := bits.Div64(high, low, to.offset-from.offset) // offset < to.offset, so it fits
	return from.bytes + part
}

// surplus is the greatest offset before which all may go with retentionBytes still kept.
func (t *topic) surplus() uint64 {
	before := t.first
	if t.retentionBytes == 0 {
		return before
	}
	for _, m := range t.marks {
		if t.total-m.bytes < t.retentionBytes {
			break
		}
		before = max(before, m.offset)
	}
	return before
}

// addTopic takes a topic in whose name and id are unused.
func (m *Machine) addTopic(t *topic) {
	t.sequences = map[uint64]*sequence{}
	m.topics[t.id] = t
	i, _ := m.named(t.name)
	m.names = slices.Insert(m.names, i, t)
}

// named is the place of a topic in m.names, or where it would be.
func (m *Machine) named(name string) (int, bool) {
	// Names that come in their order, as numbered ones do, are put at the end.
	if n := len(m.names); n > 0 && m.names[n-1].name < name {
		return n, false
	}
	return slices.BinarySearchFunc(m.names, name,
		func(t *topic, name string) int { return strings.Compare(t.name, name) })
}

// removeTopic takes a topic out, with its groups and what producers did on it.
func (m *Machine) removeTopic(t *topic) {
	delete(m.topics, t.id)
	if i, ok := m.named(t.name); ok {
		m.names = slices.Delete(m.names, i, i+1)
	}
	for _, g := range t.groups {
		m.dropGroup(g)
	}
	m.sequences -= len(t.sequences)
	for _, s := range t.sequences {
		delete(s.producer.sequences, t.id)
		s.producer.owner.sequences--
	}
}

// Topic is the topic of a name; Subscribers is the node's to say.
func (m *Machine) Topic(name string) (broker.Topic, bool) {
	i, ok := m.named(name)
	if !ok {
		return broker.Topic{}, false
	}
	return m.names[i].view(), true
}

// TopicByID is the topic of an id.
func (m *Machine) TopicByID(id uint32) (broker.Topic, bool) {
	t := m.topics[id]
	if t == nil {
		return broker.Topic{}, false
	}
	return t.view(), true
}

// Topics are those whose names begin with prefix and come behind after, by name, at
// most limit of them.
func (m *Machine) Topics(prefix, after string, limit int) []broker.Topic {
	i, found := m.named(max(prefix, after))
	if found && m.names[i].name == after {
		i++
	}
	var all []broker.Topic
	for ; i < len(m.names) && len(all) < limit && strings.HasPrefix(m.names[i].name, prefix); i++ {
		all = append(all, m.names[i].view())
	}
	return all
}

// Surplus tells before which offset a topic's messages may be trimmed so that its
// RetentionBytes are still kept; it is First when none may. So more than that is kept,
// by an eighth of it or so, and by 128 KiB where that is more. Of age it says nothing:
// the log knows the time of each message.
func (m *Machine) Surplus(topic uint32) (before uint64, err error) {
	t := m.topics[topic]
	if t == nil {
		return 0, noTopic(topic)
	}
	return t.surplus(), nil
}

// checkRetention refuses whatever is no retention.
func checkRetention(age int64) error {
	if age < 0 {
		return status.Errorf(status.InvalidArgument, "a retention of %d ns is negative; 0 is for ever", age)
	}
	return nil
}
