package hermes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/client"
)

// streamer publishes over a stream, by the Go client, which gathers what waits.
type streamer struct {
	client *client.Client
	mode   hermes.Mode
}

// Calls implements [brokers.Publisher].
func (*streamer) Calls() bool { return false }

// Send implements [brokers.Publisher].
func (s *streamer) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	if len(bodies) == 1 {
		if err := s.client.Send(ctx, topic, s.mode, &hermes.Message{Payload: bodies[0]}, func(_ client.Receipt, err error) { done(err) }); err != nil {
			done(err)
		}
		return
	}
	g := &gathered{done: done}
	g.left.Store(int64(len(bodies)))
	for _, body := range bodies {
		if err := s.client.Send(ctx, topic, s.mode, &hermes.Message{Payload: body}, func(_ client.Receipt, err error) { g.answer(err) }); err != nil {
			g.answer(err)
		}
	}
}

// closeLimit is how long a publisher waits for answers when it is closed.
const closeLimit = 10 * time.Second

// Close implements [brokers.Publisher].
func (s *streamer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = s.client.Flush(ctx) // who was not answered is told so by Close
	return s.client.Close()
}

// gathered is a send of several messages, each of which is answered by itself.
type gathered struct {
	left atomic.Int64
	mu   sync.Mutex // guards err
	err  error
	done func(error)
}

func (g *gathered) answer(err error) {
	if err != nil {
		g.mu.Lock()
		g.err = err
		g.mu.Unlock()
	}
	if g.left.Add(-1) == 0 {
		g.mu.Lock()
		err = g.err
		g.mu.Unlock()
		g.done(err)
	}
}
