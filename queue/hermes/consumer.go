package hermes

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"wirelab"
	hm "wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/queue"
)

const (
	buryLimit   = 5 * time.Second // for a dead letter to be taken
	rangesAtOne = 1000            // acknowledged by one frame, at a consumer's end
)

// consumer is one run of Consume: a member of the queue's group.
type consumer struct {
	broker  *Broker
	options queue.Options
	handle  func(context.Context, queue.Delivery) error
	sub     *client.Subscription

	mu sync.Mutex // guards both
	// What handlers said after the consumer was told to end. It is passed on when
	// all have said it: any room that the leader saw before, it would fill with
	// messages that another consumer could have.
	done, undone []broker.Range
}

// Consume implements [queue.Broker]. Of more than hermes.GroupRanges messages at
// once it is given that many.
func (b *Broker) Consume(ctx context.Context, o queue.Options, handle func(context.Context, queue.Delivery) error) error {
	o, err := check(o)
	if err != nil {
		return err
	}
	err = b.consume(ctx, o, handle)
	if ctx.Err() != nil {
		err = nil // it ended as it was told to
	}
	return b.coded(ctx, err)
}

func (b *Broker) consume(ctx context.Context, o queue.Options, handle func(context.Context, queue.Delivery) error) error {
	topic := topicPrefix + o.Name
	if _, err := b.group(ctx, topic, consumers); err != nil {
		return err // or the subscription would make a group of its own
	}
	sub, err := b.client.Subscribe(ctx, broker.Start{
		Topic: topic, From: broker.FromGroup, Group: consumers, InFlight: min(o.Prefetch, hm.GroupRanges),
	})
	if err != nil {
		return err
	}
	b.join(o.Name, sub)
	c := &consumer{broker: b, options: o, handle: handle, sub: sub}
	var handlers sync.WaitGroup
	err = c.run(ctx, &handlers)
	handlers.Wait()
	b.leave(o.Name, sub)
	c.end(ctx)
	return err
}

// run takes messages until ctx or the subscription ends. No more handlers run than
// may: under a new leader what they have comes again, beside what is new.
func (c *consumer) run(ctx context.Context, handlers *sync.WaitGroup) error {
	places := make(chan struct{}, c.options.Prefetch)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		d, err := c.sub.Next(ctx)
		if err != nil {
			return err
		}
		handlers.Go(func() {
			defer func() { <-places }()
			c.work(ctx, d)
		})
	}
}

// end passes on what handlers said late, and leaves the group: the rest is given to
// others at once. Where an answer does not arrive, messages come again.
func (c *consumer) end(ctx context.Context) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestLimit)
	defer cancel()
	if up, _, _ := c.broker.state(); !up || !c.sub.Attached() {
		cancel()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for some := range slices.Chunk(tidy(c.done), rangesAtOne) {
		_ = c.sub.Ack(ending, some...)
	}
	for some := range slices.Chunk(tidy(c.undone), rangesAtOne) {
		_ = c.sub.Nack(ending, "its consumer ended", 0, some...)
	}
	_ = c.sub.Close(ending)
}

// tidy makes one range of neighbours.
func tidy(ranges []broker.Range) []broker.Range {
	slices.SortFunc(ranges, func(a, b broker.Range) int { return cmp.Compare(a.First, b.First) })
	var joined []broker.Range
	for _, r := range ranges {
		if n := len(joined); n > 0 && r.First <= joined[n-1].Last+1 {
			joined[n-1].Last = max(joined[n-1].Last, r.Last)
			continue
		}
		joined = append(joined, r)
	}
	return joined
}

// work handles one message.
func (c *consumer) work(ctx context.Context, m hm.Delivered) {
	d := queue.Delivery{
		Message: queue.Message{ID: string(m.Key), Body: m.Payload},
		Attempt: int(m.Attempt), Redelivered: m.Attempt > 1,
	}
	failed := c.try(ctx, d)
	at := broker.Range{First: m.Offset, Last: m.Offset}
	switch {
	case ctx.Err() != nil:
		c.late(at, failed == nil)
	case failed == nil:
		_ = c.sub.Ack(ctx, at) // where it does not arrive, the message comes again
	case c.again(d, failed) || c.bury(ctx, d.Message) != nil:
		_ = c.sub.Nack(ctx, wirelab.Public(failed).Message, c.options.Retry, at)
	default:
		_ = c.sub.Ack(ctx, at)
	}
}

// late notes what a handler said after the consumer was told to end.
func (c *consumer) late(at broker.Range, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done {
		c.done = append(c.done, at)
	} else {
		c.undone = append(c.undone, at)
	}
}

// try calls the handler. One that panics has failed: the others go on.
func (c *consumer) try(ctx context.Context, d queue.Delivery) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = wirelab.Errorf(wirelab.Internal, "the handler of message %q panicked: %v", d.ID, fault)
		}
	}()
	return c.handle(ctx, d)
}

// again reports whether a message that failed is to be tried once more.
func (c *consumer) again(d queue.Delivery, failed error) bool {
	code := wirelab.CodeOf(failed)
	hopeless := code == wirelab.InvalidArgument || code == wirelab.Conflict
	return !hopeless && d.Attempt < c.options.Attempts
}

// bury puts a message into the dead letters. Where that fails it is not lost: it is
// tried, and put aside, again.
func (c *consumer) bury(ctx context.Context, m queue.Message) error {
	burying, cancel := context.WithTimeout(context.WithoutCancel(ctx), buryLimit)
	defer cancel()
	_, err := c.broker.client.Publish(burying, deadPrefix+c.options.Name, hm.Consistent, envelope(m))
	return err
}

// join and leave note the members of a queue's group.
func (b *Broker) join(name string, s *client.Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.members[name] == nil {
		b.members[name] = map[*client.Subscription]struct{}{}
	}
	b.members[name][s] = struct{}{}
}

func (b *Broker) leave(name string, s *client.Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.members[name], s)
	if len(b.members[name]) == 0 {
		delete(b.members, name)
	}
}

// Consuming implements [queue.Broker].
func (b *Broker) Consuming(o queue.Options) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.members[o.Name] {
		if s.Attached() {
			return true
		}
	}
	return false
}
