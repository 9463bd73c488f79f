package sim

import (
	"fmt"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

var errRefused = status.Errorf(status.Unavailable, "connection refused")

// Prepare waits for the first leader and makes the topics and the producers' ids,
// before anything goes wrong.
func (w *World) Prepare() error {
	led := func() bool {
		id, _ := w.Leader()
		return id != 0
	}
	if err := w.until(10*time.Second, "a first leader", led); err != nil {
		return err
	}
	var items []byte
	for i := range w.options.Topics {
		items = record.AppendCommand(items, core.CreateTopic(broker.Topic{Name: fmt.Sprintf("topic-%d", i)}))
	}
	for range w.options.Producers {
		items = record.AppendCommand(items, core.OpenProducer(core.Owner{}))
	}
	items = record.AppendCommand(items, core.Rise(core.Level))
	outcomes, err := w.propose(items, w.options.Topics+w.options.Producers+1)
	if err != nil {
		return err
	}
	for i, o := range outcomes[:max(0, len(outcomes)-1)] {
		if i < w.options.Topics {
			w.judge.topics = append(w.judge.topics, o.Topic)
			continue
		}
		w.clients = append(w.clients, w.newProducer(i-w.options.Topics, o.Producer))
	}
	outcomes, err = w.propose(w.groupItems())
	for i, o := range outcomes {
		if i >= w.options.Topics {
			w.crews = append(w.crews, &crew{
				world: w, topic: w.judge.topics[i-w.options.Topics], group: o.Group,
				done: map[uint64]bool{},
			})
			continue
		}
		w.acking = append(w.acking, &member{world: w, topic: w.judge.topics[i], group: o.Group})
	}
	return err
}

// propose puts items into the log of a world in which nothing goes wrong yet.
func (w *World) propose(items []byte, count int) ([]core.Outcome, error) {
	var made *replica.Verdict
	id, _ := w.Leader()
	leader := w.nodes[id-1]
	leader.happen(func() {
		ticket := leader.replica.Propose(items, count, leader.time(), false)
		leader.asked[ticket] = func(v replica.Verdict) { made = &v }
	})
	if err := w.until(10*time.Second, "the topics are made", func() bool { return made != nil }); err != nil {
		return nil, err
	}
	if made.Err != nil {
		w.fail("what the clients need was not made: %v", made.Err)
	}
	return made.Outcomes, w.failure
}

func (w *World) newProducer(i int, number uint64) *producer {
	p := &producer{
		world: w, id: uint64(i + 1), number: number, topic: w.judge.topics[i%len(w.judge.topics)],
		window: 1 + w.random.IntN(4), next: 1, target: 1 + w.random.Uint64N(uint64(w.options.Nodes)),
	}
	if i == w.options.Producers-1 || w.options.Sabotage == NoDedup {
		p.number = 0
	}
	return p
}

// Work starts the clients.
func (w *World) Work() {
	for _, p := range w.clients {
		p.later()
	}
	for _, m := range w.acking {
		m.later()
	}
	for _, c := range w.crews {
		for range w.options.Workers {
			(&worker{crew: c}).later(time.Duration(w.noise.Int64N(int64(100 * time.Millisecond))))
		}
	}
	for range w.options.Readers {
		r := &reader{w}
		w.readers = append(w.readers, r)
		r.read()
	}
}

// guess is what a liar answers.
func guess(n *node, one *publish) []core.Outcome {
	state, _ := n.replica.Machine().TopicByID(one.topic)
	return []core.Outcome{{Topic: one.topic, Offset: state.Next}}
}
