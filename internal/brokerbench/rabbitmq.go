package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/system/rabbitmq"
)

// rabbitRival is RabbitMQ with quorum queues of three copies, and confirms.
type rabbitRival struct {
	cluster *rabbitmq.Cluster
	made    atomic.Int64
}

func startRabbitMQ(ctx context.Context) (*rabbitRival, error) {
	c, err := rabbitmq.StartCluster(ctx, rabbitmq.Options{}, nodes)
	return &rabbitRival{cluster: c}, err
}

func (*rabbitRival) Name() string      { return "rabbitmq" }
func (r *rabbitRival) Version() string { return "RabbitMQ " + r.cluster.Nodes()[0].Version() }
func (*rabbitRival) Syncs() bool       { return true }

// PIDs implements [rival].
func (r *rabbitRival) PIDs() []int {
	var all []int
	for _, n := range r.cluster.Nodes() {
		all = append(all, n.PID())
	}
	return all
}

func (r *rabbitRival) Stop(ctx context.Context) error { return r.cluster.Stop(ctx) }

// dial connects to the first server, where a queue that is declared there is led.
func (r *rabbitRival) dial() (*amqp.Connection, *amqp.Channel, error) {
	conn, err := amqp.Dial(r.cluster.Nodes()[0].URL())
	if err != nil {
		return nil, nil, err
	}
	channel, err := conn.Channel()
	if err != nil {
		_ = conn.Close() // the channel's error says it
		return nil, nil, err
	}
	return conn, channel, nil
}

func (r *rabbitRival) Topic(context.Context) (topic, error) {
	conn, channel, err := r.dial()
	if err != nil {
		return nil, err
	}
	t := &rabbitTopic{rival: r, conn: conn, channel: channel, name: fmt.Sprintf("bench-%d", r.made.Add(1))}
	if _, err := channel.QueueDeclare(t.name, true, false, false, false, amqp.Table{"x-queue-type": "quorum"}); err != nil {
		_ = conn.Close() // the declaration's error says it
		return nil, err
	}
	return t, nil
}

type rabbitTopic struct {
	rival   *rabbitRival
	conn    *amqp.Connection
	channel *amqp.Channel
	name    string
}

func (t *rabbitTopic) Remove(context.Context) error {
	defer func() { _ = t.conn.Close() }()
	_, err := t.channel.QueueDelete(t.name, false, false, false)
	return err
}

// rabbitLink is a connection of a stream.
type rabbitLink struct {
	conn    *amqp.Connection
	channel *amqp.Channel
}

type rabbitStream struct {
	topic     *rabbitTopic
	links     []rabbitLink
	next      int
	room      chan struct{}
	listening sync.WaitGroup
}

func (t *rabbitTopic) Stream(_ context.Context, s setting, acked func(error)) (publisher, error) {
	p := &rabbitStream{topic: t, room: make(chan struct{}, s.Window)}
	for range s.Connections {
		conn, channel, err := t.rival.dial()
		if err == nil {
			p.links = append(p.links, rabbitLink{conn, channel})
			err = channel.Confirm(false)
		}
		if err != nil {
			p.Close()
			return nil, err
		}
		confirms := channel.NotifyPublish(make(chan amqp.Confirmation, s.Window))
		p.listening.Go(func() {
			for c := range confirms {
				<-p.room
				if c.Ack {
					acked(nil)
				} else {
					acked(errRefused)
				}
			}
		})
	}
	return p, nil
}

func (p *rabbitStream) Publish(ctx context.Context, payload []byte) error {
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.next++
	return p.links[p.next%len(p.links)].channel.PublishWithContext(ctx, "", p.topic.name, false, false,
		amqp.Publishing{Body: payload, DeliveryMode: amqp.Persistent})
}

func (p *rabbitStream) Close() {
	for _, l := range p.links {
		_ = l.conn.Close() // nothing is asked of it any more
	}
	p.listening.Wait()
}

// rabbitCaller waits on a channel of its own; callers share a connection.
type rabbitCaller struct {
	topic   *rabbitTopic
	channel *amqp.Channel
	conn    *amqp.Connection // nil: another closes it
}

func (t *rabbitTopic) Callers(_ context.Context, n int) ([]publisher, error) {
	conn, _, err := t.rival.dial()
	if err != nil {
		return nil, err
	}
	var all []publisher
	for range n {
		channel, err := conn.Channel()
		if err == nil {
			err = channel.Confirm(false)
		}
		if err != nil {
			_ = conn.Close() // its error says it
			return nil, err
		}
		all = append(all, &rabbitCaller{topic: t, channel: channel})
	}
	all[0].(*rabbitCaller).conn = conn
	return all, nil
}

func (c *rabbitCaller) Publish(ctx context.Context, payload []byte) error {
	confirmed, err := c.channel.PublishWithDeferredConfirmWithContext(ctx, "", c.topic.name, false, false,
		amqp.Publishing{Body: payload, DeliveryMode: amqp.Persistent})
	if err != nil {
		return err
	}
	ok, err := confirmed.WaitContext(ctx)
	if err == nil && !ok {
		err = errRefused
	}
	return err
}

func (c *rabbitCaller) Close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is asked of it any more
	}
}

func (t *rabbitTopic) Deliver(_ context.Context, got func([]byte)) (func(), error) {
	conn, channel, err := t.rival.dial()
	if err != nil {
		return nil, err
	}
	messages, err := channel.Consume(t.name, "", true, false, false, false, nil)
	if err != nil {
		_ = conn.Close() // its error says it
		return nil, err
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for m := range messages {
			got(m.Body)
		}
	})
	return func() {
		_ = conn.Close() // nothing is asked of it any more
		reading.Wait()
	}, nil
}
