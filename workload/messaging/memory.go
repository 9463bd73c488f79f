package messaging

import (
	"bytes"
	"context"
	"iter"
	"sync"

	"wirelab"
)

// New returns a broker in memory: the reference.
func New() Service { return &memory{topics: map[string]*topic{}} }

type memory struct {
	mu     sync.Mutex // guards all below it
	topics map[string]*topic
}

// topic is all that was published under a name, and how far each group has come.
type topic struct {
	messages [][]byte
	groups   map[string]int
	more     chan struct{} // closed, and made anew, when there are more messages
}

// find returns a topic; m.mu is held.
func (m *memory) find(name string) *topic {
	t := m.topics[name]
	if t == nil {
		t = &topic{groups: map[string]int{}, more: make(chan struct{})}
		m.topics[name] = t
	}
	return t
}

// Publish implements [Service].
func (m *memory) Publish(ctx context.Context, message Message) (Published, error) {
	return m.PublishBatch(ctx, Batch{Topic: message.Topic, Bodies: [][]byte{message.Body}})
}

// PublishBatch implements [Service].
func (m *memory) PublishBatch(_ context.Context, b Batch) (Published, error) {
	if err := b.Validate(); err != nil {
		return Published{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.find(b.Topic)
	for _, body := range b.Bodies {
		t.messages = append(t.messages, bytes.Clone(body))
	}
	close(t.more)
	t.more = make(chan struct{})
	return Published{Count: len(b.Bodies)}, nil
}

// Deliver implements [Service].
func (m *memory) Deliver(ctx context.Context, r Reading) iter.Seq2[Delivered, error] {
	return func(yield func(Delivered, error) bool) {
		if err := r.Validate(); err != nil {
			yield(Delivered{}, err)
			return
		}
		for range r.Count {
			body, err := m.next(ctx, r)
			if !yield(Delivered{Body: body}, err) || err != nil {
				return
			}
		}
	}
}

// next waits for a group's next message, and takes it as dealt with.
func (m *memory) next(ctx context.Context, r Reading) ([]byte, error) {
	for {
		m.mu.Lock()
		t := m.find(r.Topic)
		if at := t.groups[r.Group]; at < len(t.messages) {
			t.groups[r.Group] = at + 1
			m.mu.Unlock()
			return t.messages[at], nil
		}
		more := t.more
		m.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return nil, wirelab.Public(ctx.Err())
		}
	}
}
