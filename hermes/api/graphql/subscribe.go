package graphql

import (
	"context"
	"iter"
	"sync"

	"wirelab/hermes"
	"wirelab/hermes/api/graphql/gen"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/graphql"
	"wirelab/wire/status"
)

// batchLimit is how many bytes of messages are asked of a feed at once, and so
// about what a subscriber has in memory.
const batchLimit = 256 << 10

// Messages implements [gen.SubscriptionResolver].
func (r subscription) Messages(ctx context.Context, topic string, from, group *string, inFlight int32, create,
	autoAck bool,
) (<-chan *gen.Delivery, error) {
	start := broker.Start{Topic: topic, InFlight: int(inFlight), Create: create}
	if err := names(topic); err != nil {
		return nil, err
	}
	switch {
	case inFlight < 0 || inFlight > hermes.GroupRanges:
		return nil, status.Errorf(status.InvalidArgument, "inFlight is %d; want 0 to %d", inFlight, hermes.GroupRanges)
	case group != nil && from != nil:
		return nil, status.Errorf(status.InvalidArgument,
			"from and group are both given: a group continues where it is; seek it, or create it from elsewhere")
	case group != nil:
		if err := hermes.CheckGroup(*group); err != nil {
			return nil, err
		}
		start.From, start.Group = broker.FromGroup, *group
	case inFlight != 0 || autoAck:
		return nil, status.Errorf(status.InvalidArgument, "inFlight and autoAck are for groups")
	case from != nil:
		if err := spelling.From(*from, &start); err != nil {
			return nil, err
		}
	}
	return follow(ctx, r.api, start, autoAck, func(id string, b *broker.Batch, offset uint64,
		m *hermes.Message,
	) gen.Delivery {
		return *delivery(id, topic, b, offset, m)
	})
}

// follow subscribes, and returns the messages as gqlgen wants them, each made by show. The subscription lasts
// as long as ctx, or the API.
func follow[Shown any](
	ctx context.Context, d *api, start broker.Start, autoAck bool,
	show func(id string, b *broker.Batch, offset uint64, m *hermes.Message) Shown,
) (<-chan *Shown, error) {
	if err := d.open.Reserve(); err != nil {
		return nil, err
	}
	feed, err := d.broker.Subscribe(ctx, start)
	if err != nil {
		d.open.Release()
		return nil, told(err)
	}
	f := &following{api: d, feed: feed, group: start.Group != "", acks: acks{on: autoAck, wake: make(chan struct{}, 1)}}
	items, err := graphql.StreamThen(ctx, items(ctx, f, show), f.acks.wrote)
	if err != nil {
		f.close()
		return nil, err
	}
	return items, nil
}

// following is one subscription.
type following struct {
	*api
	feed  broker.Feed
	group bool
	acks  acks
}

// close ends it.
func (f *following) close() {
	f.feed.Close()
	f.open.Release()
}

// items yields messages until the subscriber leaves, the feed ends, or the API does. Nothing of it outlives
// that (hb-D30).
func items[Shown any](
	ctx context.Context, f *following, show func(id string, b *broker.Batch, offset uint64, m *hermes.Message) Shown,
) iter.Seq2[Shown, error] {
	return func(yield func(Shown, error) bool) {
		defer f.close()
		var node uint64
		if status, err := f.broker.Status(ctx); err == nil {
			node = status.Node
		}
		id := f.open.Add(node, f.feed, f.group)
		defer f.open.Remove(id)
		ctx, cancel := context.WithCancel(ctx)
		var settling sync.WaitGroup
		defer settling.Wait()
		defer cancel()
		stop := context.AfterFunc(f.ending, cancel)
		defer stop()
		if f.acks.on {
			settling.Go(func() { f.acks.settle(ctx, cancel, f.feed) })
		}
		var m hermes.Message // used again for each: show keeps nothing of it
		for {
			b, err := f.feed.Next(ctx, broker.Room{Bytes: batchLimit})
			if err != nil {
				var none Shown
				yield(none, f.told(err))
				return
			}
			offset := b.Offset
			for text := range record.Messages(b.Messages) {
				if err := record.ReadMessage(text, &m); err != nil {
					f.feed.Return(left(&b, offset))
					var none Shown
					yield(none, graphql.Told(err))
					return
				}
				f.acks.hand(b.Attempt > 0, offset)
				if !yield(show(id, &b, offset, &m), nil) {
					f.feed.Return(left(&b, offset))
					return
				}
				offset++
			}
		}
	}
}

// left is how many messages of a batch no one was sent, from an offset on.
func left(b *broker.Batch, offset uint64) int { return b.Count - int(offset-b.Offset) }

// told is why a subscription ended.
func (f *following) told(err error) error {
	if f.ending.Err() != nil {
		return status.Errorf(status.Unavailable, "the node is stopping: subscribe again, at another")
	}
	if failed := f.acks.failed(); failed != nil {
		err = failed
	}
	return graphql.Told(err)
}

// acks acknowledges what was written, many messages at once while an
// acknowledgement is on its way.
type acks struct {
	on   bool          // assigned once
	wake chan struct{} // of one place: there is something to acknowledge

	mu      sync.Mutex // guards all below
	handed  []handed   // to be written, in order: two at most, since nothing between has a queue
	written []broker.Range
	err     error
}

// handed is a message on its way to the connection.
type handed struct {
	stored bool // has an offset
	offset uint64
}

// hand notes a message before it goes to be written.
func (a *acks) hand(stored bool, offset uint64) {
	if !a.on {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handed = append(a.handed, handed{stored, offset})
}

// wrote notes that the message that was handed first was written.
func (a *acks) wrote() {
	if !a.on {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.handed) == 0 {
		return // it was of another field
	}
	first := a.handed[0]
	a.handed = a.handed[1:]
	if !first.stored {
		return
	}
	if last := len(a.written) - 1; last >= 0 && a.written[last].Last+1 == first.offset {
		a.written[last].Last++
	} else {
		a.written = append(a.written, broker.Range{First: first.offset, Last: first.offset})
	}
	select {
	case a.wake <- struct{}{}:
	default: // it is awake
	}
}

// settle acknowledges until ctx ends, or an acknowledgement fails, which ends the
// subscription.
func (a *acks) settle(ctx context.Context, cancel context.CancelFunc, feed broker.Feed) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		a.mu.Lock()
		ranges := a.written
		a.written = nil
		a.mu.Unlock()
		limited, done := context.WithTimeout(ctx, callTime)
		_, err := broker.Late(feed.Ack(limited, ranges)) // late ends nothing: the message comes to another member too
		done()
		if err != nil && ctx.Err() == nil {
			a.mu.Lock()
			a.err = err
			a.mu.Unlock()
			cancel()
			return
		}
	}
}

func (a *acks) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}
