package hermes

import (
	"context"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/hermes"
	"wirelab/hermes/client"
)

// streamer publishes over a stream with the Go client, which batches waiting messages, numbers them, and sends them
// again if their node fails.
type streamer struct {
	broker *Broker
	config broker.PublisherConfig
	client *client.Client // its own, or the broker's
	mode   hermes.Mode
	once   sync.Once
}

// Calls implements [broker.Publisher].
func (*streamer) Calls() bool { return false }

// Send implements [broker.Publisher].
func (s *streamer) Send(ctx context.Context, topic string, batch []broker.Message, done func(broker.Receipt, error)) {
	answer := broker.Together(len(batch), done)
	for i := range batch {
		s.one(ctx, topic, &batch[i], answer)
	}
}

func (s *streamer) one(ctx context.Context, topic string, m *broker.Message, answer func(broker.Receipt, error)) {
	var written time.Time
	if s.config.Shared {
		written = time.Now()
	}
	if s.config.Unconfirmed {
		err := s.client.Send(ctx, topic, s.mode, envelope(m), nil)
		answer(broker.Receipt{Written: written}, s.coded(ctx, err))
		return
	}
	err := s.client.Send(ctx, topic, s.mode, envelope(m), func(_ client.Receipt, err error) {
		r := broker.Receipt{Written: written}
		if err == nil && s.config.Shared {
			r.Confirmed = time.Now()
		}
		answer(r, s.coded(ctx, err))
	})
	if err != nil {
		answer(broker.Receipt{}, s.coded(ctx, err))
	}
}

// coded reports a topic that was deleted as Unavailable if the publisher had checked that it exists.
func (s *streamer) coded(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case s.config.Topic == "":
		return err
	case ctx.Err() == nil && wirelab.CodeOf(err) == wirelab.NotFound:
		return wirelab.Errorf(wirelab.Unavailable, "the message is taken by no queue: it is gone")
	}
	return s.broker.coded(ctx, err)
}

// Away implements [broker.Publisher]. A client that belongs to one publisher retries by itself.
func (s *streamer) Away() (<-chan struct{}, error) {
	up, closed, changed := s.broker.state()
	switch {
	case closed:
		return changed, broker.ErrClosed
	case s.config.Shared && !up:
		return changed, errAway
	}
	return changed, nil
}

// closeLimit is how long a publisher waits for answers when it is closed.
const closeLimit = 10 * time.Second

// Close implements [broker.Publisher]. A shared publisher first waits until unconfirmed messages are stored, within
// closeLimit.
func (s *streamer) Close() (err error) {
	s.once.Do(func() {
		limit := closeLimit
		if s.config.Shared {
			up, closed, _ := s.broker.state()
			if limit = requestLimit; !s.config.Unconfirmed || !up || closed {
				return
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_ = s.client.Flush(ctx) // Close answers the sends that are left
		if !s.config.Shared {
			err = s.client.Close()
		}
	})
	return err
}

// envelope converts a message for Hermes: its id becomes the key.
func envelope(m *broker.Message) *hermes.Message {
	e := &hermes.Message{Payload: m.Body}
	if m.ID != "" {
		e.Key = []byte(m.ID)
	}
	for name, value := range m.Headers {
		e.Headers = append(e.Headers, hermes.Header{Name: name, Value: []byte(value)})
	}
	return e
}
