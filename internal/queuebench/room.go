package main

import (
	"context"
	"errors"
	"strings"
	"sync"

	"wirelab/queue"
	"wirelab/queue/amqp"
	"wirelab/workload/logging"
)

func filler(n int) string { return strings.Repeat("x", n) }

// measureRoom drives a fresh queue through package queue/amqp, publisher and
// consumer with a broker each, as gateway and listener have them.
func (b *bench) measureRoom(ctx context.Context, kind queue.Kind) (one outcome, err error) {
	o, remove, err := b.fresh(ctx, kind)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	var brokers []*amqp.Broker
	defer func() {
		for _, broker := range brokers {
			err = errors.Join(err, broker.Close())
		}
	}()
	for range 2 {
		broker, err := amqp.Open(ctx, b.server.URL())
		if err != nil {
			return one, err
		}
		brokers = append(brokers, broker)
	}
	publisher, err := brokers[0].Publisher(ctx, o)
	if err != nil {
		return one, err
	}
	body, err := b.body(logging.NewID())
	if err != nil {
		return one, err
	}
	life, end := context.WithCancelCause(ctx)
	m := newMeter(b.bound)
	var running sync.WaitGroup
	defer running.Wait()
	defer end(nil)
	running.Go(func() {
		end(brokers[1].Consume(life, o, func(context.Context, queue.Delivery) error {
			m.leave(1)
			return nil
		}))
	})
	for range b.room {
		running.Go(func() {
			for m.enter(life) {
				if _, err := publisher.Publish(life, queue.Message{ID: logging.NewID(), Body: body}); err != nil {
					end(ended(life, err))
					return
				}
				m.in.Add(1)
			}
		})
	}
	cpu, err := b.costs(nil)
	if err != nil {
		return one, err
	}
	return source{cpu: cpu, count: func(context.Context) (int64, int64, error) {
		return m.in.Load(), m.out.Load(), nil
	}}.over(life, b.warm, b.window)
}
