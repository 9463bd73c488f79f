package rest

import (
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
)

// Traffic is what went through all APIs of a node since it began, in messages.
type Traffic interface {
	Topic(name string) (in, out uint64)
	Total() (in, out, failed uint64)
}

// tally is what went through this API, for the origin's /status. What the topics hold is the broker's to say:
// these numbers are this API's own, since it began. With Config.Traffic they are not told.
type tally struct {
	began time.Time // assigned once

	stored, delivered, failed atomic.Uint64 // messages

	mu     sync.Mutex // guards all below
	topics map[string]*through
}

// through is what went through for one topic.
type through struct{ stored, delivered uint64 }

// of returns a topic's. At most hermes.TopicsLimit are kept: those who were
// deleted are counted in the totals alone once there are so many.
func (t *tally) of(topic string) *through {
	one := t.topics[topic]
	if one == nil {
		if t.topics == nil || len(t.topics) >= hermes.TopicsLimit {
			t.topics = map[string]*through{}
		}
		one = new(through)
		t.topics[topic] = one
	}
	return one
}

func (t *tally) consumed(topic string, n int) {
	t.delivered.Add(uint64(n))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(topic).delivered += uint64(n)
}

// count adds up what became of runs. A failure of a topic that is not there must
// not make it one here.
func (c *call) count(runs []broker.Run, verdicts []broker.Verdict) {
	t := &c.tally
	for i, v := range verdicts {
		n := uint64(runs[i].Count)
		if v.Err != nil {
			t.failed.Add(n)
			continue
		}
		t.stored.Add(n)
		t.mu.Lock()
		t.of(runs[i].Topic).stored += n
		t.mu.Unlock()
	}
}

// total is what went through.
func (d *API) total() (stored, delivered, failed uint64) {
	if d.config.Traffic != nil {
		return d.config.Traffic.Total()
	}
	return d.tally.stored.Load(), d.tally.delivered.Load(), d.tally.failed.Load()
}

// through is what went through for a topic.
func (d *API) through(topic string) through {
	if d.config.Traffic != nil {
		in, out := d.config.Traffic.Topic(topic)
		return through{in, out}
	}
	return d.tally.topic(topic)
}

// topic is what went through for a topic.
func (t *tally) topic(name string) through {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.topics[name]; one != nil {
		return *one
	}
	return through{}
}
