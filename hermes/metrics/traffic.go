package metrics

import (
	"context"
	"sync"
	"sync/atomic"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// through is what went through for one topic.
type through struct{ in, inBytes, out, outBytes atomic.Uint64 }

func (t *through) add(o *through) {
	t.in.Add(o.in.Load())
	t.inBytes.Add(o.inBytes.Load())
	t.out.Add(o.out.Load())
	t.outBytes.Add(o.outBytes.Load())
}

// codes is room for wirelab's codes.
const codes = 16

// traffic counts what goes through a broker.
type traffic struct {
	refused [codes]atomic.Uint64 // messages by code

	mu     sync.RWMutex // guards the map, not its values
	topics map[string]*through
	gone   through // of topics that are counted no more
	total  through
}

// of is a topic's. It is called for topics that are there, of which there are no more than
// hermes.TopicsLimit; those that were deleted since the last scrape are bounded as well.
func (t *traffic) of(topic string) *through {
	t.mu.RLock()
	one := t.topics[topic]
	t.mu.RUnlock()
	if one != nil {
		return one
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if one = t.topics[topic]; one != nil {
		return one
	}
	if len(t.topics) >= 2*hermes.TopicsLimit {
		return &t.gone
	}
	one = new(through)
	t.topics[topic] = one
	return one
}

func (t *traffic) find(topic string) *through {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.topics[topic]
}

// forget lets go of topics that are not there any more. A count for one at this very moment may be lost to the
// sum.
func (t *traffic) forget(there map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, one := range t.topics {
		if !there[name] {
			t.gone.add(one)
			delete(t.topics, name)
		}
	}
}

func (t *traffic) published(topic string, count, bytes int) {
	for _, one := range []*through{&t.total, t.of(topic)} {
		one.in.Add(uint64(count))
		one.inBytes.Add(uint64(bytes))
	}
}

func (t *traffic) delivered(topic string, count, bytes int) {
	for _, one := range []*through{&t.total, t.of(topic)} {
		one.out.Add(uint64(count))
		one.outBytes.Add(uint64(bytes))
	}
}

func (t *traffic) refuse(err error, count int) {
	if code := int(status.CodeOf(err)); code < codes {
		t.refused[code].Add(uint64(count))
	}
}

// Topic is how many messages went in and out for a topic since the node began.
func (m *Metrics) Topic(name string) (in, out uint64) {
	if one := m.traffic.find(name); one != nil {
		return one.in.Load(), one.out.Load()
	}
	return 0, 0
}

// Total is how many messages went in and out, and how many were refused or have an unknown outcome.
func (m *Metrics) Total() (in, out, failed uint64) {
	for i := range m.traffic.refused {
		failed += m.traffic.refused[i].Load()
	}
	return m.traffic.total.in.Load(), m.traffic.total.out.Load(), failed
}

// Wrap counts what goes through a broker. Messages count as in once, when they are acknowledged, duplicates
// too, since they went over the wire; as out whenever they are handed to an API.
func (m *Metrics) Wrap(b broker.Broker) broker.Broker { return &counted{b, &m.traffic} }

// counted is a broker whose traffic is counted.
type counted struct {
	broker.Broker
	traffic *traffic
}

// Publish implements [broker.Broker].
func (b *counted) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	topic, count, bytes := run.Topic, run.Count, len(run.Messages)
	b.Broker.Publish(ctx, run, func(v broker.Verdict) {
		if v.Err == nil {
			b.traffic.published(topic, count, bytes)
		} else {
			b.traffic.refuse(v.Err, count)
		}
		done(v)
	})
}

// Subscribe implements [broker.Broker].
func (b *counted) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	f, err := b.Broker.Subscribe(ctx, start)
	if err != nil {
		return nil, err
	}
	return &feed{f, start.Topic, b.traffic}, nil
}

// feed is a subscription whose messages are counted.
type feed struct {
	broker.Feed
	topic   string
	traffic *traffic
}

// Next implements [broker.Feed].
func (f *feed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	b, err := f.Feed.Next(ctx, room)
	if err == nil {
		f.traffic.delivered(f.topic, b.Count, len(b.Messages))
	}
	return b, err
}
