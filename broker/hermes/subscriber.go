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

// rangesAtOne is how many ranges are acknowledged by one frame, at a subscriber's end.
const rangesAtOne = 1000

// Subscribe implements [broker.Broker]. One of several handlers is given at most
// [hermes.GroupRanges] messages at once.
func (b *Broker) Subscribe(
	ctx context.Context, s broker.Subscription, handle broker.Handler,
) (broker.Subscriber, error) {
	// A group that is not there would be made.
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

// subscriber reads a group: it is one of its members.
type subscriber struct {
	*broker.Reading
	broker *Broker
	sub    *client.Subscription
	of     broker.Subscription
	handle broker.Handler
	once   sync.Once // of the end

	mu sync.Mutex // guards all below
	// What handlers said after the subscriber was told to end. It is passed on when
	// all have said it: any room that the leader saw before, it would fill with
	// messages that another one could have.
	dealt, undealt []api.Range
}

// read handles batches, one message after the other, until it is stopped, and
// acknowledges what it handled.
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

// deal handles the messages of a batch, until it is stopped.
func (r *subscriber) deal(batch *api.Batch) error {
	var m hermes.Message
	first, at := batch.Offset, batch.Offset // of those that are to be acknowledged
	// What is told waits for room only, and the subscription ends with it.
	telling := context.WithoutCancel(r.Life())
	ack := func() error {
		if at == first || batch.Attempt == 0 { // mode performance: nothing is to be acknowledged
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
			r.Stop() // nothing more
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

// spread handles messages by several handlers at once, until it is stopped. No more run
// than may: under a new leader what they have comes again, with what is new.
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

// work handles one message. What the broker is not told comes again.
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

// late notes what a handler said after the subscriber was told to end.
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

// end passes on what handlers said late, and leaves the group: the rest is given to
// others at once. Where an answer does not arrive, messages come again.
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
	// It may have ended before, and Err says why; or a node went away with what
	// it was told, and its messages come again, as they may.
	if err == nil || r.Err() != nil || ctx.Err() != nil || wirelab.CodeOf(err) == wirelab.Unavailable {
		return nil
	}
	return err
}

// tidy makes one range of neighbours.
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
