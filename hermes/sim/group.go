package sim

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

// member acknowledges messages of a group's topic, out of order and more than once, as members do of which each
// has some in hand; sometimes what it was handed before a member set the group to another offset. That it does
// as well, and it reads where the group is.
type member struct {
	world *World
	topic uint32
	group uint64
	// generation is the group's when the member was handed messages last.
	generation uint64
	asked      []*intent
	reads      []porcupine.Operation
}

// intent is what a member wants done to its group: an acknowledgement or a seek.
type intent struct {
	group      uint64
	generation uint64
	acked      broker.Range
	seek       bool
	floor      uint64
	bytes      string // of its command; two alike want the same
	begun      time.Duration
	ended      time.Duration // math.MaxInt64: never answered
	index      uint64        // of its entry, once answered
	at         place         // in the log; known in the end
	conflict   bool
}

// place is an item's in the log.
type place struct {
	index uint64
	nth   int // of its entry
}

// cursor is a group as simply as can be: the settled messages, by offset, as one byte each.
type cursor struct {
	generation uint64
	past       string // '1' or '0'; ends with '1', so that two alike are equal
}

func (c cursor) is(offset uint64) bool { return offset < uint64(len(c.past)) && c.past[offset] == '1' }

// after is the cursor that an intent makes of this one.
func (c cursor) after(i *intent) cursor {
	switch {
	case i.seek:
		return cursor{c.generation + 1, strings.Repeat("1", int(i.floor))}
	case i.generation != c.generation:
		return c
	}
	past := []byte(c.past)
	for uint64(len(past)) <= i.acked.Last {
		past = append(past, '0')
	}
	for offset := i.acked.First; offset <= i.acked.Last; offset++ {
		past[offset] = '1'
	}
	return cursor{c.generation, string(past)}
}

// standing is what a node says of a group, of the offsets from first to before next.
type standing struct {
	generation, first, next, floor uint64
	acked                          []broker.Range
}

func (s standing) is(c cursor) bool {
	if s.generation != c.generation {
		return false
	}
	for offset := s.first; offset < s.next; offset++ {
		past := offset < s.floor
		for _, r := range s.acked {
			past = past || r.First <= offset && offset <= r.Last
		}
		if past != c.is(offset) {
			return false
		}
	}
	return true
}

func (m *member) standing(machine *core.Machine) (standing, bool) {
	g, ok := machine.GroupByID(m.group)
	t, found := machine.TopicByID(m.topic)
	return standing{machine.Generation(m.group), t.First, t.Next, g.Floor, g.Acked}, ok && found
}

// groupItems make a group on each topic, and one for workers if there are any.
func (w *World) groupItems() (items []byte, count int) {
	names := []string{"group", "workers"}
	if w.options.Workers == 0 {
		names = names[:1]
	}
	for _, name := range names {
		for _, topic := range w.judge.topics {
			items = record.AppendCommand(items, core.CreateGroup(topic, broker.Group{
				Name: name, AckTimeout: int64(hermes.AckTimeout), MaxAttempts: hermes.MaxAttempts,
			}, 0, core.Owner{}))
		}
	}
	return items, len(names) * len(w.judge.topics)
}

func (m *member) later() {
	m.world.after(m.world.between(5*time.Millisecond, 60*time.Millisecond), m.act)
}

func (m *member) act() {
	w := m.world
	if !w.faulty {
		return
	}
	m.later()
	if w.chance(0.2) {
		m.read()
		return
	}
	id, _ := w.Leader()
	if id == 0 {
		return
	}
	n := w.nodes[id-1]
	n.happen(func() {
		is, ok := m.standing(n.replica.Machine())
		if !ok || is.next == is.first {
			return
		}
		if m.generation == 0 || w.chance(0.7) {
			m.generation = is.generation
		}
		if w.chance(0.1) {
			m.fail(n, is)
		}
		i := &intent{group: m.group, generation: m.generation, begun: w.now, ended: math.MaxInt64}
		var command []byte
		if i.seek = w.chance(0.05); i.seek {
			i.floor = is.first + w.random.Uint64N(is.next-is.first+1)
			command = core.SeekGroup(m.group, i.floor)
		} else if is.floor < is.next {
			i.acked, command = m.pick(is)
		} else {
			return
		}
		m.propose(n, i, command)
	})
}

// fail notes that some messages were handed out in vain. It changes nothing of where the group is, and no
// caller waits for it.
func (m *member) fail(n *node, is standing) {
	w := m.world
	first := is.first + w.random.Uint64N(is.next-is.first)
	n.replica.Propose(record.AppendCommand(nil, core.Failed(m.group, m.generation, []core.Tried{{
		Range:    broker.Range{First: first, Last: min(first+w.random.Uint64N(8), is.next-1)},
		Attempts: 1 + uint32(w.random.IntN(3)), Due: int64(w.random.IntN(2)) * n.time(),
	}})), 1, n.time(), false)
}

// pick draws what to acknowledge: from the floor, as often as not, else nothing would
// ever move it.
func (m *member) pick(is standing) (broker.Range, []byte) {
	w := m.world
	first := is.floor
	if w.chance(0.5) {
		first += w.random.Uint64N(is.next - first)
	}
	r := broker.Range{First: first, Last: min(first+w.random.Uint64N(8), is.next-1)}
	says, generation := r, m.generation
	switch w.options.Sabotage {
	case Count:
		says = broker.Range{First: is.floor, Last: is.floor + r.Last - r.First}
	case StaleAck:
		generation = 0 // any
	}
	return r, core.Ack(m.group, generation, []broker.Range{says}, 0)
}

func (m *member) propose(n *node, i *intent, command []byte) {
	w := m.world
	i.bytes = string(command)
	m.asked = append(m.asked, i)
	w.judge.wants(i)
	ticket := n.replica.Propose(record.AppendCommand(nil, command), 1, n.time(), false)
	n.asked[ticket] = func(v replica.Verdict) {
		if v.Err != nil {
			return
		}
		i.ended, i.index = w.now, v.Index
		i.conflict = v.Outcomes[0].Err != nil && status.CodeOf(v.Outcomes[0].Err) == status.Conflict
		w.judge.report.Acks++
	}
}

// read asks any node where the group is.
func (m *member) read() {
	w := m.world
	n := w.nodes[w.random.IntN(len(w.nodes))]
	begun := w.now
	n.happen(func() {
		answer := func() {
			if is, ok := m.standing(n.replica.Machine()); ok {
				m.reads = append(m.reads, porcupine.Operation{
					Input: change{}, Output: is, Call: int64(begun),
					Return: int64(w.now),
				})
			}
		}
		if w.options.Sabotage == LocalRead {
			answer()
			return
		}
		n.asked[n.replica.ReadIndex()] = func(v replica.Verdict) {
			if v.Err == nil {
				answer()
			}
		}
	})
}

// wants notes what a command is for, to know it again in the log.
func (j *judge) wants(i *intent) {
	if j.intents[i.bytes] == nil {
		j.intents[i.bytes] = i
	}
}

// moved keeps account of the groups, by the log.
func (j *judge) moved(at place, command []byte, o core.Outcome) {
	i := j.intents[string(command)]
	if i == nil {
		return
	}
	conflict := o.Err != nil && status.CodeOf(o.Err) == status.Conflict
	was := j.cursors[i.group]
	if was.generation == 0 {
		was.generation = 1
	}
	switch {
	case conflict != (!i.seek && i.generation != was.generation):
		j.world.fail("entry %d: of generation %d, where the group's is %d, came to: %v", at.index, i.generation,
			was.generation, o.Err)
	case o.Err != nil && !conflict:
		j.world.fail("entry %d was refused: %v", at.index, o.Err)
	}
	j.cursors[i.group] = was.after(i)
	j.landed[i.bytes] = append(j.landed[i.bytes], at)
}

// groups: a group is past what was acknowledged since it was set to an offset, and past
// nothing else that is there.
// (hb-D01: a count of acknowledgements stood for an offset, so gaps were skipped.)
func (j *judge) groups(n *node) {
	for _, m := range j.world.acking {
		is, ok := m.standing(n.replica.Machine())
		c := j.cursors[m.group]
		c.generation = max(c.generation, 1)
		if !ok || !is.is(c) {
			j.world.fail("node %d: the group of topic %d is at %+v (there: %v), by the log at %+v", n.id, m.topic, is,
				ok, c)
		}
	}
}

// placed is a cursor and how many of the group's changes have made it. Their order is the
// log's; without it the search for one takes a hundred times as long.
type placed struct {
	cursor
	changes int
}

// change is an intent that was done.
type change struct {
	*intent
	nth int // of its group's, from 1, by the log
}

// cursorModel is a group as one caller alone would see it.
var cursorModel = porcupine.Model{
	Init: func() any { return placed{cursor{generation: 1}, 0} },
	Step: func(state, input, output any) (bool, any) {
		p, c := state.(placed), input.(change)
		if c.intent == nil {
			return output.(standing).is(p.cursor), p
		}
		conflict := !c.seek && c.generation != p.generation
		ok := c.nth == p.changes+1 && (c.ended == math.MaxInt64 || conflict == c.conflict)
		return ok, placed{p.after(c.intent), c.nth}
	},
}

// seen: each acknowledgement, seek and read of a group took effect at one moment between
// its call and its answer. Which took place without an answer is read from the log.
func (j *judge) seen() {
	for _, m := range j.world.acking {
		history := m.reads
		for nth, i := range j.changes(m) {
			history = append(history, porcupine.Operation{
				Input: change{i, nth + 1}, Call: int64(i.begun),
				Return: int64(i.ended),
			})
		}
		j.report.Seen += len(history)
		if porcupine.CheckOperationsTimeout(cursorModel, history, patience) == porcupine.Illegal {
			j.world.fail("the history of acknowledgements, seeks and reads of the group of topic %d is not "+
				"linearizable (%d "+
				"operations)", m.topic, len(history))
		}
	}
}

// changes are a member's intents that were done, in the log's order.
func (j *judge) changes(m *member) (done []*intent) {
	for _, i := range m.asked { // an answered one knows its entry
		if i.index == 0 {
			continue
		}
		at := slices.IndexFunc(j.landed[i.bytes], func(p place) bool { return p.index == i.index })
		if at < 0 {
			j.world.fail("entry %d was answered for a group and does not have the command", i.index)
			return nil
		}
		i.at = j.landed[i.bytes][at]
		j.landed[i.bytes] = slices.Delete(j.landed[i.bytes], at, at+1)
		done = append(done, i)
	}
	for _, i := range m.asked { // of those that are not and want the same, the first is as good as any
		if left := j.landed[i.bytes]; i.index == 0 && len(left) > 0 {
			i.at, j.landed[i.bytes] = left[0], left[1:]
			done = append(done, i)
		}
	}
	slices.SortFunc(done, func(a, b *intent) int {
		return cmp.Or(cmp.Compare(a.at.index, b.at.index), cmp.Compare(a.at.nth, b.at.nth))
	})
	return done
}
