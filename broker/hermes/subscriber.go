package hermes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"wirelab"
	"wirelab/broker"
	"wirelab/hermes"
	api "wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/record"
)

// rangesAtOne is how many ranges one frame acknowledges when a subscriber ends.
const rangesAtOne = 1000

// Subscribe implements [broker.Broker]. A subscriber with several handlers gets at most [hermes.GroupRanges]
// messages at once.
func (b *Broker) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	// Joining would create a missing group, so check first.
	if _, err := b.client.Group(ctx, s.Topic, s.Group); err != nil {
		return nil, b.coded(ctx, err)
	}
	start := api.Start{Topic: s.Topic, From: api.FromGroup, Group: s.Group, InFlight: s.Ahead()}
	if s.Handlers() > 1 {
		start.InFlight = min(start.InFlight, hermes.GroupRanges)
	}
	sub, err := b.client.Subscribe(ctx, start)
	if err != nil {
		return nil, b.coded(ctx, err)
	}
	r := &subscriber{
		Reading: broker.NewReading(ctx), broker: b, sub: sub, of: s, handle: handle,
	}
	go func() { // Close waits for it
		defer r.Over()
		if s.Handlers() > 1 {
			r.spread()
		} else {
			r.read()
		}
	}()
	return r, nil
}

// subscriber is a member of a group.
type subscriber struct {
	*broker.Reading
	broker *Broker
	sub    *client.Subscription
	of     broker.Subscription
	handle broker.Handler
	once   sync.Once // guards the end

	mu sync.Mutex // guards all below
	// Results of handlers that came after the subscriber was told to end. They are passed on when all handlers have
	// returned: if the leader saw free capacity earlier, it would fill it with messages that another member could
	// have.
	dealt, undealt []api.Range
}

// read handles batches, one message after the other, until it is stopped, and acknowledges the handled messages.
func (r *subscriber) read() {
	for {
		batch, err := r.sub.Batch(r.Life())
		if err == nil {
			err = r.deal(&batch)
		}
		if err != nil {
			r.Fail(r.broker.coded(r.Life(), err))
			return
		}
	}
}

// deal handles the messages of a batch until it is stopped.
func (r *subscriber) deal(batch *api.Batch) error {
	var m hermes.Message
	first, at := batch.Offset, batch.Offset // of the messages to acknowledge
	// An acknowledgement only waits for buffer space, and ends with the subscription.
	telling := context.WithoutCancel(r.Life())
	ack := func() error {
		if at == first || batch.Attempt == 0 { // mode performance needs no acknowledgement
			return nil
		}
		return r.sub.Ack(telling, api.Range{First: first, Last: at - 1})
	}
	for message := range record.Messages(batch.Messages) {
		if r.Stopped() {
			break
		}
		if err := record.ReadMessage(message, &m); err != nil {
			return errors.Join(err, ack())
		}
		said := r.handle(r.Life(), delivery(string(m.Key), m.Payload, batch.Attempt, at))
		if said.Do == broker.StopReading {
			r.Stop() // take no more messages
			break
		}
		if said.Do == broker.RetryLater && batch.Attempt != 0 {
			err := errors.Join(ack(), r.sub.Nack(telling, said.Why, said.After, api.Range{First: at, Last: at}))
			if err != nil {
				return err
			}
			first = at + 1
		}
		at++
	}
	return ack()
}

func delivery(id string, body []byte, attempt uint32, offset uint64) broker.Delivery {
	return broker.Delivery{
		Message: broker.Message{ID: id, Body: body}, Attempt: int(attempt), Redelivered: attempt > 1,
		Failures: max(int(attempt)-1, 0), Place: offset + 1,
	}
}

// spread runs several handlers at once until it is stopped. It limits their number itself: after a change of
// leader, messages in handlers are delivered again in addition to new ones.
func (r *subscriber) spread() {
	var handlers sync.WaitGroup
	defer handlers.Wait()
	places := make(chan struct{}, r.of.Handlers())
	for {
		select {
		case places <- struct{}{}:
		case <-r.Life().Done():
			return
		}
		d, err := r.sub.Next(r.Life())
		if err != nil {
			r.Fail(r.broker.coded(r.Life(), err))
			return
		}
		handlers.Go(func() {
			defer func() { <-places }()
			r.work(d)
		})
	}
}

// work handles one message. If its acknowledgement is lost, the message is delivered again.
func (r *subscriber) work(m hermes.Delivered) {
	said := r.handle(r.Life(), delivery(string(m.Key), m.Payload, m.Attempt, m.Offset))
	at := api.Range{First: m.Offset, Last: m.Offset}
	if said.Do == broker.StopReading {
		r.Stop()
	}
	switch {
	case r.Stopped():
		r.late(at, said.Do == broker.Acknowledge)
	case said.Do == broker.RetryLater:
		_ = r.sub.Nack(r.Life(), said.Why, said.After, at)
	default:
		_ = r.sub.Ack(r.Life(), at)
	}
}

// late records a result that a handler returned after the subscriber was told to end.
func (r *subscriber) late(at api.Range, dealt bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if dealt {
		r.dealt = append(r.dealt, at)
	} else {
		r.undealt = append(r.undealt, at)
	}
}

// Close implements [broker.Subscriber].
func (r *subscriber) Close(ctx context.Context) (err error) {
	if err := r.Reading.Close(ctx); err != nil {
		return err
	}
	r.once.Do(func() { err = r.end(ctx) })
	return err
}

// end passes on the late results and leaves the group, so that the other members get the rest at once. If an
// acknowledgement is lost, its messages are delivered again.
func (r *subscriber) end(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestLimit)
		defer cancel()
		if up, _, _ := r.broker.state(); !up || !r.sub.Attached() {
			cancel()
		}
	}
	r.mu.Lock()
	dealt, undealt := r.dealt, r.undealt
	r.mu.Unlock()
	for some := range slices.Chunk(tidy(dealt), rangesAtOne) {
		_ = r.sub.Ack(ctx, some...)
	}
	for some := range slices.Chunk(tidy(undealt), rangesAtOne) {
		_ = r.sub.Nack(ctx, "its consumer ended", 0, some...)
	}
	err := r.sub.Close(ctx)
	// The subscription may have ended before, and Err has the reason; or a node failed with acknowledgements in
	// flight, whose messages are delivered again, as the contract allows.
	if err == nil || r.Err() != nil || ctx.Err() != nil || wirelab.CodeOf(err) == wirelab.Unavailable {
		return nil
	}
	return err
}

// tidy merges adjacent ranges.
func tidy(ranges []api.Range) []api.Range {
	slices.SortFunc(ranges, func(a, b api.Range) int { return cmp.Compare(a.First, b.First) })
	var joined []api.Range
	for _, r := range ranges {
		if n := len(joined); n > 0 && r.First <= joined[n-1].Last+1 {
			joined[n-1].Last = max(joined[n-1].Last, r.Last)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// Ready implements [broker.Subscriber].
func (r *subscriber) Ready() bool { return !r.Stopped() && r.sub.Attached() }
