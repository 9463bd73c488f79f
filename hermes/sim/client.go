package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
)

// producer publishes runs on one topic, some at a time, and repeats each until it is
// answered.
type producer struct {
	world  *World
	id     uint64 // in the payloads
	number uint64 // in the log; 0: not idempotent, and then nothing is repeated
	topic  uint32
	window int
	next   uint64 // of the next message, from 1
	made   int    // runs
	open   []*publish
	target uint64 // the node it talks to
	round  int    // counts the repetitions of all that is open
	backed bool   // a repetition is planned
	ever   bool   // something was answered
}

// publish is a run on its way.
type publish struct {
	first    uint64
	nth      int // of its producer's
	count    int
	topic    uint32
	client   uint64
	items    []byte
	eventual bool
	sent     int // the round in which it was sent last
	begun    time.Duration
	ended    time.Duration // math.MaxInt64: never answered
	offset   uint64
	acked    bool
	told     bool // provisionally
}

// payload names a message so that any run can be recognised wherever it turns up.
func payload(client, number uint64, filler int) []byte {
	b := binary.BigEndian.AppendUint64(nil, client)
	b = binary.BigEndian.AppendUint64(b, number)
	for i := range filler {
		b = append(b, byte(client)+byte(number)+byte(i))
	}
	return b
}

func (p *producer) make() *publish {
	w := p.world
	run := record.Run{Topic: p.topic, Producer: p.number, Sequence: p.next, Count: uint32(1 + w.random.IntN(4))}
	for i := range uint64(run.Count) {
		run.Messages = record.AppendMessage(run.Messages,
			&hermes.Message{Payload: payload(p.id, p.next+i, w.random.IntN(100))})
	}
	p.made++
	one := &publish{
		nth: p.made, first: p.next, count: int(run.Count), topic: p.topic, client: p.id, begun: w.now,
		ended: math.MaxInt64,
		items: record.AppendRun(nil, run), sent: -1, eventual: p.number == 0 && w.options.Sabotage != NoDedup &&
			w.chance(0.5),
	}
	p.next += uint64(run.Count)
	w.judge.published = append(w.judge.published, one)
	w.judge.starts[name{one.client, one.first}] = w.now
	return one
}

// push sends what may be sent.
func (p *producer) push() {
	window := p.window
	if !p.ever {
		// Until one is answered there is one: the first run on a topic may have any
		// sequence, so a second that overtook it would make it a stranger.
		window = 1
	}
	// A run whose answer was lost must be repeated before too many others came after it: no
	// more than that many are known again.
	for p.world.faulty && len(p.open) < window && !p.backed &&
		(len(p.open) == 0 || p.made-p.open[0].nth < hermes.ProducerRuns-1) {
		p.open = append(p.open, p.make())
	}
	if p.backed {
		return
	}
	for _, one := range p.open {
		if one.sent != p.round {
			p.send(one)
		}
	}
}

func (p *producer) send(one *publish) {
	w := p.world
	one.sent = p.round
	round, n := p.round, w.nodes[p.target-1]
	reply := func(v replica.Verdict) {
		w.after(w.between(50*time.Microsecond, 400*time.Microsecond), func() { p.reply(one, round, v) })
	}
	if w.faulty && w.chance(w.options.Loss/2) {
		reply = func(replica.Verdict) {} // the answer is lost
	}
	w.after(w.between(50*time.Microsecond, 400*time.Microsecond), func() { n.publish(one, reply) })
	w.after(w.between(300*time.Millisecond, 1500*time.Millisecond), func() {
		if !one.acked && one.sent == round && p.round == round && slices.Contains(p.open, one) {
			p.again()
		}
	})
}

// publish is the node's API.
func (n *node) publish(one *publish, reply func(replica.Verdict)) {
	if n.replica == nil {
		reply(replica.Verdict{Err: errRefused})
		return
	}
	n.happen(func() {
		if n.world.options.Sabotage == EarlyAck {
			reply(replica.Verdict{Outcomes: guess(n, one)})
		}
		ticket := n.replica.Propose(one.items, 1, n.time(), one.eventual)
		n.asked[ticket] = reply
	})
}

func (p *producer) reply(one *publish, round int, v replica.Verdict) {
	w := p.world
	switch {
	case one.acked:
	case v.Provisional:
		one.told = true
		w.judge.report.Provisional++
	case v.Err == nil && v.Outcomes[0].Err == nil:
		one.acked, one.ended, one.offset = true, w.now, v.Outcomes[0].Offset
		p.ever = true
		w.judge.acknowledged(one, v)
		p.drop(one)
		p.later()
	case p.number == 0 && w.options.Sabotage != NoDedup:
		p.drop(one) // the outcome is unknown, and it must not be repeated
		p.turn()
		p.later()
	case round == p.round:
		p.again()
	}
}

func (p *producer) drop(one *publish) {
	for i, other := range p.open {
		if other == one {
			p.open = append(p.open[:i:i], p.open[i+1:]...)
			return
		}
	}
}

// later continues, after a while.
func (p *producer) later() {
	w := p.world
	w.after(w.between(time.Millisecond, 60*time.Millisecond), p.push)
}

// again sends all that is open once more, in order, elsewhere.
func (p *producer) again() {
	if p.number == 0 && p.world.options.Sabotage != NoDedup {
		p.open = nil
		p.turn()
		p.later()
		return
	}
	if p.backed {
		return
	}
	p.backed = true
	p.world.after(p.world.between(5*time.Millisecond, 60*time.Millisecond), func() {
		p.backed = false
		p.round++
		p.turn()
		p.push()
	})
}

// turn goes to the node that the present one says leads, or to any.
func (p *producer) turn() {
	n := p.world.nodes[p.target-1]
	if n.replica != nil && n.leader != 0 && n.leader != n.id && p.world.chance(0.7) {
		p.target = n.leader
		return
	}
	p.target = 1 + p.world.random.Uint64N(uint64(len(p.world.nodes)))
}

func (p *producer) describe() string {
	return fmt.Sprintf("producer %d: next %d, open %d, at node %d, round %d, backed %v", p.id, p.next, len(p.open),
		p.target, p.round, p.backed)
}

// reader reads how long a topic is.
type reader struct{ world *World }

func (r *reader) read() {
	w := r.world
	if !w.faulty {
		return
	}
	w.after(w.between(10*time.Millisecond, 150*time.Millisecond), r.read)
	n := w.nodes[w.random.IntN(len(w.nodes))]
	topic := w.judge.topics[w.random.IntN(len(w.judge.topics))]
	begun := w.now
	answer := func() {
		state, ok := n.replica.Machine().TopicByID(topic)
		if !ok {
			return
		}
		w.after(w.between(50*time.Microsecond, 400*time.Microsecond), func() { w.judge.read(topic, state.Next, begun) })
	}
	w.after(w.between(50*time.Microsecond, 400*time.Microsecond), func() {
		n.happen(func() {
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
	})
}

// answered reports whether no producer waits.
func (w *World) answered() bool {
	for _, p := range w.clients {
		if len(p.open) > 0 {
			return false
		}
	}
	return true
}
