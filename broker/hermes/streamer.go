package hermes

import (
	"context"
	"time"

	"wirelab/broker"
	"wirelab/hermes"
	"wirelab/hermes/client"
)

// streamer publishes over a stream, by the Go client, which gathers what waits.
type streamer struct {
	client *client.Client
	mode   hermes.Mode
}

// Calls implements [broker.Publisher].
func (*streamer) Calls() bool { return false }

// Send implements [broker.Publisher].
func (s *streamer) Send(ctx context.Context, topic string, bodies [][]byte, done func(error)) {
	if len(bodies) == 1 {
		if err := s.client.Send(ctx, topic, s.mode, &hermes.Message{Payload: bodies[0]}, func(_ client.Receipt, err error) { done(err) }); err != nil {
			done(err)
		}
		return
	}
	answer := broker.Together(len(bodies), done)
	for _, body := range bodies {
		if err := s.client.Send(ctx, topic, s.mode, &hermes.Message{Payload: body}, func(_ client.Receipt, err error) { answer(err) }); err != nil {
			answer(err)
		}
	}
}

// closeLimit is how long a publisher waits for answers when it is closed.
const closeLimit = 10 * time.Second

// Close implements [broker.Publisher].
func (s *streamer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = s.client.Flush(ctx) // who was not answered is told so by Close
	return s.client.Close()
}
