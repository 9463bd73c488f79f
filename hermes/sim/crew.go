package sim

import (
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/delivery"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
)

const (
	workTimeout = 300 * time.Millisecond // in which a worker has to acknowledge
	// faultyTries are after how many tries of a message its worker is neither slow nor leaves: it is the message's
	// own fault by then, and these messages have none.
	faultyTries = 2
)

// crew is the members of a group that share the work on a topic. Some are slower than they may be, and some
// leave with messages in flight that they were not sent, or have not looked at. That is no fault of the
// messages: none may become a dead letter, and each is worked on.
type crew struct {
	world    *World
	topic    uint32
	group    uint64
	assigned *assignment
	done     map[uint64]bool // offsets that were worked on
}

// assignment is what members have in flight, as a leader keeps it while it leads.
type assignment struct {
	node       uint64
	life       int
	term, last uint64
	g          *delivery.Group
}

// worker is one member after the other.
type worker struct {
	crew     *crew
	assigned *assignment // in which it is a member; nil: it is none
	id       uint64
}

// at is the assignment to members of a leader.
func (c *crew) at(n *node) *assignment {
	if h := c.assigned; h != nil && h.node == n.id && h.life == n.life && h.term == n.term {
		return h
	}
	g, ok := n.replica.Machine().GroupByID(c.group)
	if !ok {
		return nil
	}
	c.assigned = &assignment{node: n.id, life: n.life, term: n.term, g: delivery.New(delivery.Options{
		AckTimeout: int64(workTimeout), MaxAttempts: hermes.MaxAttempts, Floor: g.Floor, Acked: g.Acked,
	})}
	return c.assigned
}

// later continues, after a while.
func (k *worker) later(d time.Duration) { k.crew.world.after(d, k.act) }

// lead does something at the leader; where there is none, it continues later.
func (k *worker) lead(do func(n *node, h *assignment)) {
	w, pause := k.crew.world, 20*time.Millisecond
	id, _ := w.Leader()
	if id == 0 {
		k.later(pause)
		return
	}
	n := w.nodes[id-1]
	life := n.life
	called := false
	n.happen(func() {
		called = true
		h := k.crew.at(n)
		if h == nil || n.leader != n.id {
			k.later(pause)
			return
		}
		k.crew.expire(h)
		do(n, h)
	})
	if !called { // it is paused, and may end before it continues
		w.after(2*time.Second+pause, func() {
			if !called && n.life != life {
				k.later(pause)
			}
		})
	}
}

// expire takes back late messages. Nothing may have been tried too often.
func (c *crew) expire(h *assignment) {
	dead, _ := h.g.Expire(int64(c.world.now))
	for _, d := range dead {
		c.world.fail("message %d of topic %d became a dead letter after %d attempts (%q), and nothing is wrong with it",
			d.Offset, c.topic, d.Attempts, d.Reason)
	}
}

// act asks for messages.
func (k *worker) act() {
	w := k.crew.world
	k.lead(func(n *node, h *assignment) {
		if k.assigned != h {
			h.last++
			k.assigned, k.id = h, h.last
			h.g.Join(k.id, 1+w.noise.IntN(16))
		}
		t, ok := n.replica.Machine().TopicByID(k.crew.topic)
		if !ok { // a new leader may not have applied it yet
			k.later(10 * time.Millisecond)
			return
		}
		l, ok := h.g.Next(k.id, t.Next, t.First, 1+w.noise.IntN(8), int64(w.now))
		if !ok {
			k.later(10 * time.Millisecond)
			return
		}
		last := l.Last
		if w.noise.IntN(3) == 0 { // there was room for a part of it
			last = l.First + w.noise.Uint64N(l.Last-l.First+1)
			if last < l.Last && w.options.Sabotage != Blame {
				h.g.Return(k.id, last+1, l.Last)
			}
		}
		h.g.Sent(k.id, l.First, last)
		k.work(h, l, l.First, last)
	})
}

// work works on a message, or does something else.
func (k *worker) work(h *assignment, l delivery.Lease, at, last uint64) {
	w := k.crew.world
	takes := time.Millisecond + time.Duration(w.noise.Int64N(int64(5*time.Millisecond)))
	few := 20
	if w.options.Sabotage == Blame {
		few = 3
	}
	if w.faulty && (l.Attempt <= faultyTries || w.options.Sabotage == Blame) {
		switch w.noise.IntN(few) {
		case 0:
			k.leave(h, l, at)
			return
		case 1:
			w.judge.report.Slow++
			takes += workTimeout + time.Duration(w.noise.Int64N(int64(workTimeout)))
		}
	}
	w.after(takes, func() {
		k.crew.done[at] = true
		k.lead(func(n *node, now *assignment) {
			if now != h {
				k.later(0) // another leads, and knows nothing of this member
				return
			}
			k.settle(n, h, at)
			if at < last {
				k.work(h, l, at+1, last)
				return
			}
			k.later(time.Millisecond)
		})
	})
}

// settle acknowledges a message.
func (k *worker) settle(n *node, h *assignment, at uint64) {
	w := k.crew.world
	acked, strange, ok := h.g.Ack(k.id, []broker.Range{{First: at, Last: at}}, int64(w.now))
	if !ok {
		w.fail("message %d of topic %d was sent to a member, whose acknowledgement is refused as one of a stranger",
			strange, k.crew.topic)
	}
	if len(acked.Taken) == 0 {
		return
	}
	generation := n.replica.Machine().Generation(k.crew.group)
	command := core.Ack(k.crew.group, generation, acked.Taken, 0)
	ticket := n.replica.Propose(record.AppendCommand(nil, command), 1, n.time(), false)
	n.asked[ticket] = func(v replica.Verdict) {
		if v.Err != nil || v.Outcomes[0].Err != nil {
			h.g.Refused(acked.Taken, int64(w.now))
			return
		}
		h.g.Acknowledged(acked.Taken)
	}
}

// leave ends a member with what it has in flight from an offset on.
func (k *worker) leave(h *assignment, l delivery.Lease, at uint64) {
	w := k.crew.world
	w.judge.report.Left++
	k.lead(func(_ *node, now *assignment) {
		if now == h {
			if w.options.Sabotage == Blame { // what was leased was tried, is what a broker said once
				h.g.Sent(k.id, at, l.Last)
				h.g.Nack(k.id, []broker.Range{{First: at, Last: l.Last}}, "the member went away", int64(w.now),
					int64(w.now))
			}
			h.g.Leave(k.id, int64(w.now))
			k.crew.expire(h)
		}
		k.assigned = nil
		k.later(5 * time.Millisecond)
	})
}

// idle reports whether a leader knows of nothing that is left to do.
func (c *crew) idle(n *node) bool {
	t, _ := n.replica.Machine().TopicByID(c.topic)
	g, ok := n.replica.Machine().GroupByID(c.group)
	return ok && g.Floor >= t.Next
}

// worked reports whether all messages have been worked on, as far as a leader knows.
func (w *World) worked() bool {
	id, _ := w.Leader()
	for _, c := range w.crews {
		if id == 0 || w.nodes[id-1].replica == nil || !c.idle(w.nodes[id-1]) {
			return false
		}
	}
	return true
}

// crews: each message that was not given up was worked on.
func (j *judge) crews(n *node) {
	for _, c := range j.world.crews {
		t, _ := n.replica.Machine().TopicByID(c.topic)
		for at := t.First; at < t.Next; at++ {
			if !c.done[at] {
				j.world.fail("message %d of topic %d is done by the group, and no member was given it", at, c.topic)
				return
			}
		}
		j.report.Worked += len(c.done)
	}
}
