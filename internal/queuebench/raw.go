package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/pipeline/message"
	"wirelab/queue"
	"wirelab/workload/logging"
)

// rawSettings are what PerfTest's flags of these names set: --producers,
// --consumers, --confirm, --qos, --multi-ack-every.
type rawSettings struct {
	Producers int `json:"producers"`
	Consumers int `json:"consumers"`
	Confirm   int `json:"confirm"` // unconfirmed messages of a producer at most
	QoS       int `json:"qos"`     // unacknowledged messages of a consumer at most
	AckEvery  int `json:"multi_ack_every"`
}

func (s rawSettings) String() string {
	return fmt.Sprintf("producers %d, consumers %d, confirm %d, qos %d, multi-ack-every %d", s.Producers, s.Consumers, s.Confirm, s.QoS, s.AckEvery)
}

// candidates are tried for the best. More of each, up to 4 and 8,000, gave no
// more on two cores.
func candidates() []rawSettings {
	return []rawSettings{
		{1, 1, 500, 1000, 1},
		{1, 1, 500, 1000, 100},
		{1, 1, 2000, 1000, 100},
		{1, 1, 2000, 4000, 500},
		{2, 1, 1000, 2000, 100},
		{2, 2, 1000, 2000, 100},
		{4, 2, 500, 1000, 100},
	}
}

// trialLength is how long each candidate is tried.
const trialLength = 2 * time.Second

// find tries the candidates, each twice, and returns the best by its better half.
func (b *bench) find(ctx context.Context, kind string) (rawSettings, error) {
	best, most := candidates()[2], 0.0
	if !b.trial {
		return best, nil
	}
	for range 2 {
		for _, s := range candidates() {
			one, err := b.measureRaw(ctx, queue.Kind(kind), s, time.Second, trialLength)
			if err != nil {
				return best, err
			}
			fmt.Fprintf(b.progress, "trial of %s raw: %v: %.0f/s\n", kind, s, one.Rate)
			if one.Rate > most {
				best, most = s, one.Rate
			}
		}
	}
	return best, nil
}

// body is the message of all subjects.
func (b *bench) body(id string) ([]byte, error) {
	return message.Encode(logging.Entry{ID: id, Name: "event", Data: filler(b.data)})
}

// measureRaw drives a fresh queue with nothing but the library.
func (b *bench) measureRaw(ctx context.Context, kind queue.Kind, s rawSettings, warm, window time.Duration) (one outcome, err error) {
	o, remove, err := b.fresh(ctx, kind)
	if err != nil {
		return one, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	body, err := b.body(logging.NewID())
	if err != nil {
		return one, err
	}
	life, end := context.WithCancelCause(ctx)
	r := &raw{settings: s, queue: o.Name, body: body, meter: newMeter(b.bound), url: b.server.URL()}
	var running sync.WaitGroup
	defer running.Wait()
	defer end(nil)
	for range s.Consumers {
		running.Go(func() { end(r.consume(life)) })
	}
	for range s.Producers {
		running.Go(func() { end(r.produce(life)) })
	}
	cpu, err := b.costs(nil)
	if err != nil {
		return one, err
	}
	return source{cpu: cpu, count: func(context.Context) (int64, int64, error) {
		return r.meter.in.Load(), r.meter.out.Load(), nil
	}}.over(life, warm, window)
}

// raw is a driver like PerfTest. Each producer and consumer has a connection of
// its own with one channel.
type raw struct {
	settings rawSettings
	queue    string
	body     []byte
	meter    *meter
	url      string
}

// open makes a connection with a channel, which end with ctx.
func (r *raw) open(ctx context.Context) (*amqp.Channel, func(), error) {
	conn, err := amqp.Dial(r.url)
	if err != nil {
		return nil, nil, err
	}
	forget := context.AfterFunc(ctx, func() { _ = conn.CloseDeadline(time.Now().Add(time.Second)) })
	channel, err := conn.Channel()
	return channel, func() {
		forget()
		_ = conn.Close() // closed already, if ctx ended
	}, err
}

// produce publishes with no more than so many unconfirmed messages.
func (r *raw) produce(ctx context.Context) error {
	channel, hang, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer hang()
	if err := channel.Confirm(false); err != nil {
		return err
	}
	open := make(chan struct{}, r.settings.Confirm)
	confirms := channel.NotifyPublish(make(chan amqp.Confirmation, r.settings.Confirm))
	var listening sync.WaitGroup
	defer listening.Wait()
	defer hang()
	listening.Go(func() {
		for range confirms {
			r.meter.in.Add(1)
			<-open
		}
	})
	publishing := amqp.Publishing{MessageId: logging.NewID(), Body: r.body, DeliveryMode: amqp.Persistent}
	for r.meter.enter(ctx) {
		select {
		case open <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		if err := channel.PublishWithContext(ctx, "", r.queue, false, false, publishing); err != nil {
			return ended(ctx, err)
		}
	}
	return nil
}

// lastAck is how long a few messages that are too few for an acknowledgement of
// several wait for more.
const lastAck = 10 * time.Millisecond

// consume takes messages and acknowledges each so many at once.
func (r *raw) consume(ctx context.Context) error {
	channel, hang, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer hang()
	if err := channel.Qos(r.settings.QoS, 0, false); err != nil {
		return err
	}
	messages, err := channel.Consume(r.queue, "", false, false, false, false, nil)
	if err != nil {
		return err
	}
	few := time.NewTicker(lastAck)
	defer few.Stop()
	taken, last := 0, uint64(0)
	for {
		late := false
		select {
		case d, ok := <-messages:
			if !ok {
				return ended(ctx, errors.New("the server ended the consumer"))
			}
			taken++
			last = d.DeliveryTag
		case <-few.C:
			late = true
		}
		if taken == 0 || taken < r.settings.AckEvery && !late {
			continue
		}
		if err := channel.Ack(last, true); err != nil {
			return ended(ctx, err)
		}
		r.meter.leave(taken)
		taken = 0
	}
}

// ended is err, or nil where ctx had ended, which ends connections.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
