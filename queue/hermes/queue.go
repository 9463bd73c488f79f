package hermes

import (
	"context"
	"math"
	"time"

	"wirelab"
	hm "wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/queue"
)

// The names of what a queue is made of. Neither topic's can be another queue's,
// whatever that is called.
const (
	topicPrefix = "wirelab-queue-"
	deadPrefix  = "wirelab-dead-"
	consumers   = "consumers" // the group of a queue
	takers      = "takers"    // that of its dead letters
)

// ackTimeout is when a message comes again that a member holds. A handler may take
// as long as it likes, and whether its process lives tells the connection.
const ackTimeout = 24 * time.Hour

// check completes and validates options.
func check(o queue.Options) (queue.Options, error) {
	o = o.Complete()
	if o.Kind == "" {
		o.Kind = queue.Quorum
	}
	if err := o.Validate(); err != nil {
		return o, err
	}
	if o.Kind != queue.Quorum {
		return o, wirelab.Errorf(wirelab.Unimplemented, "Hermes has no %s queues, only %s", o.Kind, queue.Quorum)
	}
	return o, nil
}

// Declare makes the two topics and their groups.
func (b *Broker) Declare(ctx context.Context, o queue.Options) error {
	o, err := check(o)
	if err != nil {
		return err
	}
	for _, part := range []struct{ topic, group string }{{deadPrefix + o.Name, takers}, {topicPrefix + o.Name, consumers}} {
		_, err := b.client.CreateTopic(ctx, broker.Topic{Name: part.topic})
		if err != nil && wirelab.CodeOf(err) == wirelab.Conflict {
			_, err = b.client.Topic(ctx, part.topic, true) // somebody gave it a retention, which is his to decide
		}
		if err == nil {
			_, err = b.client.CreateGroup(ctx, broker.Group{
				Topic: part.topic, Name: part.group, AckTimeout: int64(ackTimeout), MaxAttempts: math.MaxUint32,
			}, broker.Start{From: broker.FromOldest})
		}
		if err != nil {
			return b.coded(ctx, err)
		}
	}
	return nil
}

// group reads the state of a topic's group as it is now.
func (b *Broker) group(ctx context.Context, topic, name string) (broker.Group, error) {
	g, err := b.client.Group(ctx, topic, name)
	return g, b.coded(ctx, err)
}

// Depth asks what the groups have not acknowledged.
func (b *Broker) Depth(ctx context.Context, o queue.Options) (waiting, dead int, err error) {
	if o, err = check(o); err != nil {
		return 0, 0, err
	}
	entries, err := b.group(ctx, topicPrefix+o.Name, consumers)
	if err != nil {
		return 0, 0, err
	}
	letters, err := b.group(ctx, deadPrefix+o.Name, takers)
	if err != nil {
		return 0, 0, err
	}
	return int(entries.Lag), int(letters.Lag), nil
}

// deadAtOnce is how many dead letters are taken by one subscription.
const deadAtOnce = 1000

// Dead takes dead letters away, oldest first. They are acknowledged together, once
// all are here. What another caller has in hand is waited for, and not for long.
func (b *Broker) Dead(ctx context.Context, o queue.Options, limit int) ([]queue.Message, error) {
	o, err := check(o)
	if err != nil {
		return nil, err
	}
	var letters []queue.Message
	for {
		state, err := b.group(ctx, deadPrefix+o.Name, takers)
		if err != nil {
			return letters, err
		}
		want := min(limit-len(letters), deadAtOnce, int(min(state.Lag, math.MaxInt32)))
		if want <= 0 {
			return letters, nil
		}
		some, err := b.take(ctx, deadPrefix+o.Name, want)
		if err != nil {
			return letters, b.coded(ctx, err)
		}
		letters = append(letters, some...)
		if len(some) < want {
			return letters, nil
		}
	}
}

// take takes up to so many dead letters away.
func (b *Broker) take(ctx context.Context, topic string, want int) (letters []queue.Message, err error) {
	sub, err := b.client.Subscribe(ctx, broker.Start{Topic: topic, From: broker.FromGroup, Group: takers, InFlight: want})
	if err != nil {
		return nil, err
	}
	defer func() { // what was not acknowledged is given back
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
		defer cancel()
		if failed := sub.Close(ending); err == nil && failed != nil {
			letters, err = nil, failed
		}
	}()
	waiting, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	var all []broker.Range
	for len(letters) < want {
		d, err := sub.Next(waiting)
		if err != nil && waiting.Err() != nil && ctx.Err() == nil {
			break // others have them
		}
		if err != nil {
			return nil, err
		}
		letters = append(letters, queue.Message{ID: string(d.Key), Body: d.Payload})
		all = append(all, broker.Range{First: d.Offset, Last: d.Offset})
	}
	return letters, sub.Ack(ctx, all...)
}

// Delete removes both topics; what is not there is no error.
func (b *Broker) Delete(ctx context.Context, o queue.Options) error {
	o, err := check(o)
	if err != nil {
		return err
	}
	for _, name := range []string{topicPrefix + o.Name, deadPrefix + o.Name} {
		err := b.client.DeleteTopic(ctx, name)
		if err != nil && (ctx.Err() != nil || wirelab.CodeOf(err) != wirelab.NotFound) {
			return b.coded(ctx, err)
		}
	}
	return nil
}

// envelope returns a message as it is published: its id is the key.
func envelope(m queue.Message) *hm.Message {
	return &hm.Message{Key: []byte(m.ID), Payload: m.Body}
}
