package sim

import (
	"slices"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
)

// member acknowledges messages of a group's topic, out of order and more than once,
// as members do of which each has some in hand.
type member struct {
	world *World
	topic uint32
	group uint64
	asked []broker.Range // acknowledged, or perhaps so
	sure  []broker.Range // said to be
}

// groupItems make a group on each topic.
func (w *World) groupItems() (items []byte) {
	for _, topic := range w.judge.topics {
		items = record.AppendCommand(items, core.CreateGroup(topic, broker.Group{
			Name: "group", AckTimeout: int64(hermes.AckTimeout), MaxAttempts: hermes.MaxAttempts,
		}, 0))
	}
	return items
}

func (m *member) later() {
	m.world.after(m.world.between(5*time.Millisecond, 60*time.Millisecond), m.ack)
}

func (m *member) ack() {
	w := m.world
	if !w.faulty {
		return
	}
	m.later()
	id, _ := w.Leader()
	if id == 0 {
		return
	}
	n := w.nodes[id-1]
	n.happen(func() {
		state, ok := n.replica.Machine().GroupByID(m.group)
		topic, found := n.replica.Machine().TopicByID(m.topic)
		if !ok || !found || state.Floor == topic.Next {
			return
		}
		// From the floor, as often as not: else nothing would ever move it.
		first := state.Floor
		if w.chance(0.5) {
			first += w.random.Uint64N(topic.Next - first)
		}
		r := broker.Range{First: first, Last: min(first+w.random.Uint64N(8), topic.Next-1)}
		m.asked = append(m.asked, r)
		if w.options.Sabotage == Count {
			r = broker.Range{First: state.Floor, Last: state.Floor + r.Last - r.First}
		}
		ticket := n.replica.Propose(record.AppendCommand(nil, core.Ack(m.group, n.replica.Machine().Generation(m.group), []broker.Range{r}, 0)), 1, n.time(), false)
		n.asked[ticket] = func(v replica.Verdict) {
			if v.Err == nil && v.Outcomes[0].Err == nil {
				m.sure = append(m.sure, r)
				w.judge.report.Acks++
			}
		}
	})
}

func within(ranges []broker.Range, offset uint64) bool {
	return slices.ContainsFunc(ranges, func(r broker.Range) bool { return r.First <= offset && offset <= r.Last })
}

// groups: a group is past what was acknowledged, and past nothing else that is there.
// (hb-D01: a count of acknowledgements stood for an offset, so gaps were skipped.)
func (j *judge) groups(n *node) {
	for _, m := range j.world.acking {
		g, ok := n.replica.Machine().GroupByID(m.group)
		topic, found := n.replica.Machine().TopicByID(m.topic)
		if !ok || !found {
			j.world.fail("node %d has no group %d", n.id, m.group)
			return
		}
		for offset := topic.First; offset < topic.Next; offset++ {
			past := offset < g.Floor || within(g.Acked, offset)
			if past && !within(m.asked, offset) {
				j.world.fail("node %d: the group of topic %d is past offset %d, which nobody acknowledged", n.id, m.topic, offset)
			}
			if !past && within(m.sure, offset) {
				j.world.fail("node %d: the group of topic %d is not past offset %d, whose acknowledgement was confirmed", n.id, m.topic, offset)
			}
		}
	}
}
