package bind

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/workload/messaging"
)

// Brokers carry messaging over each way to a broker.
func Brokers() []wirelab.Binding[messaging.Service] {
	var all []wirelab.Binding[messaging.Service]
	for _, w := range drivers.All() {
		all = append(all, brokerBinding(w))
	}
	return all
}

func brokerBinding(w drivers.Driver) wirelab.Binding[messaging.Service] {
	return wirelab.Binding[messaging.Service]{
		Protocol: w.Protocol, Style: wirelab.Idiomatic,
		Servers: []wirelab.Server[messaging.Service]{{
			Library: w.Kind,
			Serve: func(context.Context, wirelab.Endpoint, messaging.Service) error {
				return wirelab.Errorf(wirelab.Unimplemented,
					"%s is spoken by a cluster of several processes; wirelab up messaging --broker %s runs one",
					w.Protocol.Name, w.Kind)
			},
		}},
		Clients: []wirelab.Dialer[messaging.Service]{{
			Library: w.Client,
			Dial: func(ctx context.Context, to wirelab.Dialing) (messaging.Service, io.Closer, error) {
				b, err := w.Open(ctx, broker.Config{Addresses: strings.Split(to.Address, ","), Connect: to.Connect})
				if err != nil {
					return nil, nil, err
				}
				s := &stub{broker: b, known: map[string]bool{}}
				return s, s, nil
			},
		}},
	}
}

// stub makes calls of a broker.
type stub struct {
	broker broker.Broker

	mu        sync.Mutex // guards all below
	publisher broker.Publisher
	known     map[string]bool // topics that are there
}

var _ messaging.Service = (*stub)(nil)

// readers is the group of topics that a publisher makes. A broker of queues keeps a
// message only for those groups that it knows.
const readers = "readers"

// makes makes a topic with its groups unless it is there.
func (s *stub) makes(ctx context.Context, topic, group string) error {
	s.mu.Lock()
	known := s.known[topic]
	s.mu.Unlock()
	if known {
		return nil
	}
	err := s.broker.CreateTopic(ctx, broker.Topic{Name: topic, Groups: slices.Compact([]string{readers, group})})
	if err != nil && wirelab.CodeOf(err) != wirelab.Conflict {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[topic] = true
	return nil
}

// Publish implements [messaging.Service].
func (s *stub) Publish(ctx context.Context, m messaging.Message) (messaging.Published, error) {
	return s.PublishBatch(ctx, messaging.Batch{Topic: m.Topic, Bodies: [][]byte{m.Body}})
}

// PublishBatch implements [messaging.Service].
func (s *stub) PublishBatch(ctx context.Context, b messaging.Batch) (messaging.Published, error) {
	if err := b.Validate(); err != nil {
		return messaging.Published{}, err
	}
	if err := s.makes(ctx, b.Topic, readers); err != nil {
		return messaging.Published{}, err
	}
	answered := make(chan error, 1)
	if err := s.send(ctx, b, answered); err != nil {
		return messaging.Published{}, err
	}
	select {
	case err := <-answered:
		if err != nil {
			return messaging.Published{}, err
		}
		return messaging.Published{Count: len(b.Bodies)}, nil
	case <-ctx.Done():
		return messaging.Published{}, wirelab.Public(ctx.Err())
	}
}

// send sends a batch by the one publisher, one at a time.
func (s *stub) send(ctx context.Context, b messaging.Batch, answered chan<- error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publisher == nil {
		if s.publisher, err = s.broker.Publisher(ctx, broker.PublisherConfig{}); err != nil {
			return err
		}
	}
	s.publisher.Send(ctx, b.Topic, broker.Messages(b.Bodies...), func(_ broker.Receipt, err error) { answered <- err })
	return nil
}

// closeLimit is how long a reader may take to end.
const closeLimit = 10 * time.Second

// Deliver implements [messaging.Service].
func (s *stub) Deliver(ctx context.Context, r messaging.Reading) iter.Seq2[messaging.Delivered, error] {
	return func(yield func(messaging.Delivered, error) bool) {
		if err := r.Validate(); err != nil {
			yield(messaging.Delivered{}, err)
			return
		}
		if err := s.makes(ctx, r.Topic, r.Group); err != nil {
			yield(messaging.Delivered{}, err)
			return
		}
		if err := s.read(ctx, r, yield); err != nil {
			yield(messaging.Delivered{}, err)
		}
	}
}

// read hands messages on one by one. What the subscriber is given beyond them it
// holds back until it is closed, and has not dealt with. An error was not yielded.
func (s *stub) read(ctx context.Context, r messaging.Reading, yield func(messaging.Delivered, error) bool) (err error) {
	next, over := make(chan []byte), make(chan struct{})
	sub, err := s.broker.Subscribe(ctx, broker.Subscription{Topic: r.Topic, Group: r.Group, Prefetch: 1},
		func(_ context.Context, d broker.Delivery) broker.Disposition {
			select {
			case next <- append([]byte(nil), d.Body...):
				return broker.Ack()
			case <-over:
				return broker.Stop()
			}
		})
	if err != nil {
		return err
	}
	defer func() {
		close(over)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		_ = sub.Close(ending) // what it had comes again
	}()
	for range r.Count {
		select {
		case body := <-next:
			if !yield(messaging.Delivered{Body: body}, nil) {
				return nil
			}
		case <-ctx.Done():
			return wirelab.Public(ctx.Err())
		}
	}
	return nil
}

// Close closes the connections.
func (s *stub) Close() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.publisher != nil {
		err = s.publisher.Close()
	}
	return errors.Join(err, s.broker.Close())
}
