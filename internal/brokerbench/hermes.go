package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
	"wirelab/hermes/record"
)

// hermesRival is Hermes, each node a process.
type hermesRival struct {
	directory string
	cluster   *local.Cluster
	made      atomic.Int64

	spread *hermesSpread // the last
	slow   int           // index of the node whose disk is slow; negative: none
	longer time.Duration
}

func (*hermesRival) Name() string    { return "hermes" }
func (*hermesRival) Version() string { return "Hermes of this tree" }
func (*hermesRival) Syncs() bool     { return true }

func (r *hermesRival) Topic(ctx context.Context) (topic, error) {
	c, err := client.New(client.Options{Addresses: r.cluster.GRPC()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	name := fmt.Sprintf("bench-%d", r.made.Add(1))
	_, err = c.CreateTopic(ctx, broker.Topic{Name: name})
	return &hermesTopic{rival: r, client: c, name: name}, err
}

type hermesTopic struct {
	rival  *hermesRival
	client *client.Client
	name   string
}

func (t *hermesTopic) Remove(ctx context.Context) error {
	defer func() { _ = t.client.Close() }() // nothing is under way
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.client.DeleteTopic(ctx, t.name)
}

type hermesStream struct {
	topic   *hermesTopic
	clients []*client.Client
	next    int
	pick    func() string // the topic of the next message; nil: topic
	room    chan struct{}
	acked   func(error)
}

func (t *hermesTopic) Stream(_ context.Context, s setting, acked func(error)) (publisher, error) {
	p := &hermesStream{topic: t, room: make(chan struct{}, s.Window), acked: acked}
	for range s.Connections {
		c, err := client.New(client.Options{Addresses: t.rival.cluster.GRPC()})
		if err != nil {
			p.Close()
			return nil, err
		}
		p.clients = append(p.clients, c)
	}
	return p, nil
}

func (p *hermesStream) answer(_ client.Receipt, err error) {
	<-p.room
	p.acked(err)
}

func (p *hermesStream) Publish(ctx context.Context, payload []byte) error {
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.next++
	name := p.topic.name
	if p.pick != nil {
		name = p.pick()
	}
	err := p.clients[p.next%len(p.clients)].Send(ctx, name, hermes.Consistent, &hermes.Message{Payload: payload}, p.answer)
	if err != nil {
		<-p.room
	}
	return err
}

func (p *hermesStream) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, c := range p.clients {
		_ = c.Flush(ctx) // who was not answered was told so
		_ = c.Close()
	}
}

// Callers ask the node that leads, which saves a hop, as those of NATS do.
func (t *hermesTopic) Callers(ctx context.Context, n int) ([]publisher, error) {
	status, err := t.client.Status(ctx)
	if err != nil {
		return nil, err
	}
	address := t.rival.cluster.Nodes[0].GRPC
	for _, m := range status.Members {
		if m.Leader {
			address = m.GRPC
		}
	}
	return unary(address, t.name, n)
}

func (t *hermesTopic) Deliver(ctx context.Context, got func([]byte)) (func(), error) {
	return t.subscribe(ctx, broker.FromTail, got)
}

// Replay implements replayer.
func (t *hermesTopic) Replay(ctx context.Context, got func([]byte)) (func(), error) {
	return t.subscribe(ctx, broker.FromOldest, got)
}

func (t *hermesTopic) subscribe(ctx context.Context, from broker.From, got func([]byte)) (func(), error) {
	s, err := t.client.Subscribe(ctx, broker.Start{Topic: t.name, From: from})
	if err != nil {
		return nil, err
	}
	reading, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for {
			batch, err := s.Batch(reading)
			if err != nil {
				return // stopped; what is missing is counted
			}
			for m := range record.Messages(batch.Messages) {
				var one hermes.Message
				if record.ReadMessage(m, &one) == nil {
					got(one.Payload)
				}
			}
		}
	})
	return func() {
		stop()
		done.Wait()
		_ = s.Close(context.WithoutCancel(ctx)) // no group: nothing to store
	}, nil
}
