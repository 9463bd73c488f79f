package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"wirelab"
	"wirelab/broker"
)

// Subscribe implements [broker.Broker]. It returns once the group has assigned the topic to the reader.
func (b *Broker) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	if err := b.exists(ctx, s.Topic); err != nil {
		return nil, err
	}
	assigned := make(chan struct{})
	var once sync.Once
	client, err := b.dial(
		kgo.ConsumerGroup(groupOf(s.Topic, s.Group)), kgo.ConsumeTopics(s.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.SessionTimeout(silence),
		kgo.HeartbeatInterval(silence/3),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {
			once.Do(func() { close(assigned) })
		}),
	)
	if err != nil {
		return nil, err
	}
	r := &subscriber{Reading: broker.NewReading(ctx), client: client, handle: handle, of: s}
	go r.read() // ends with Close, which waits for it
	select {
	case <-assigned:
		return r, nil
	case <-ctx.Done():
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerLimit)
		defer cancel()
		_ = r.Close(ending) // the error returned is the one that ended it
		return nil, wirelab.Public(ctx.Err())
	}
}

// subscriber reads a group with its own client.
type subscriber struct {
	*broker.Reading
	client *kgo.Client
	handle broker.Handler
	of     broker.Subscription
}

// read handles messages until it is stopped, and commits those it handled.
func (r *subscriber) read() {
	defer r.Over()
	for !r.Stopped() {
		fetched := r.client.PollRecords(r.Life(), min(r.of.Ahead(), pollLimit))
		if fetched.IsClientClosed() {
			return
		}
		fetched.EachError(func(_ string, _ int32, err error) {
			if code := wirelab.CodeOf(coded(err)); code == wirelab.NotFound {
				r.fail(coded(err))
			}
		})
		r.deal(fetched.Records())
		r.client.AllowRebalance()
	}
}

// fail records why no more messages are delivered.
func (r *subscriber) fail(err error) {
	r.Fail(err)
	r.Stop()
}

// deal handles messages, and commits the handled ones up to the first that was not.
func (r *subscriber) deal(records []*kgo.Record) {
	dealt := make([]bool, len(records))
	if r.of.Handlers() == 1 {
		for i := range records {
			if dealt[i] = r.one(records[i]); !dealt[i] {
				break
			}
		}
	} else {
		places := make(chan struct{}, r.of.Handlers())
		var handlers sync.WaitGroup
		for i := range records {
			places <- struct{}{} // handlers end
			handlers.Go(func() {
				defer func() { <-places }()
				dealt[i] = r.one(records[i])
			})
		}
		handlers.Wait()
	}
	n := 0
	for n < len(dealt) && dealt[n] {
		n++
	}
	if n == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Life()), answerLimit)
	defer cancel()
	_ = r.client.CommitRecords(ctx, records[:n]...) // messages whose commit fails are delivered again
}

// one handles a message until it is dealt with, or the reader is stopped.
func (r *subscriber) one(record *kgo.Record) bool {
	d := broker.Delivery{
		Message: broker.Message{ID: string(record.Key), Body: record.Value}, Place: uint64(record.Offset) + 1,
	}
	for !r.Stopped() {
		said := r.handle(r.Life(), d)
		switch said.Do {
		case broker.Acknowledge:
			return true
		case broker.StopReading:
			r.Stop()
			return false
		}
		d.Failures++
		pause := time.NewTimer(said.After)
		select {
		case <-pause.C:
		case <-r.Life().Done():
			pause.Stop()
		}
	}
	return false
}

// Close implements [broker.Subscriber].
func (r *subscriber) Close(ctx context.Context) error {
	if err := r.Reading.Close(ctx); err != nil {
		return err
	}
	r.client.CloseAllowingRebalance() // leaves the group
	return nil
}

// Ready implements [broker.Subscriber]: the group has assigned the topic. The library does not report an
// unavailable cluster.
func (r *subscriber) Ready() bool { return !r.Stopped() }
