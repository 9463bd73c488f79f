package hermes

import (
	"context"
	"errors"
	"sync"

	"wirelab"
	"wirelab/broker"
	"wirelab/hermes"
	api "wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/record"
)

// Subscribe implements [broker.Broker].
func (b *Broker) Subscribe(ctx context.Context, s broker.Subscription, handle func([]byte) bool) (broker.Subscriber, error) {
	// A group that is not there would be made.
	if _, err := b.client.Group(ctx, s.Topic, s.Group); err != nil {
		return nil, err
	}
	sub, err := b.client.Subscribe(ctx, api.Start{Topic: s.Topic, From: api.FromGroup, Group: s.Group, InFlight: s.Ahead()})
	if err != nil {
		return nil, err
	}
	r := &subscriber{sub: sub, handle: handle}
	r.reads, r.stop = context.WithCancel(context.Background())
	r.reading.Go(r.read)
	return r, nil
}

// subscriber reads a group.
type subscriber struct {
	sub     *client.Subscription
	handle  func([]byte) bool
	reads   context.Context //nolint:containedctx // the life of its goroutine
	stop    context.CancelFunc
	reading sync.WaitGroup

	mu  sync.Mutex // guards err
	err error
}

// read handles batches until it is stopped, and acknowledges what it handled.
func (r *subscriber) read() {
	for {
		batch, err := r.sub.Batch(r.reads)
		if err != nil {
			r.ended(err)
			return
		}
		handled, err := r.deal(&batch)
		if handled > 0 {
			// It waits for room only, and the subscription ends with it.
			err = errors.Join(err, r.sub.Ack(context.WithoutCancel(r.reads), api.Range{First: batch.Offset, Last: batch.Offset + uint64(handled) - 1}))
		}
		if err != nil {
			r.ended(err)
			return
		}
	}
}

// deal handles the messages of a batch, until it is stopped.
func (r *subscriber) deal(batch *api.Batch) (handled int, err error) {
	var m hermes.Message
	for message := range record.Messages(batch.Messages) {
		if r.reads.Err() != nil {
			return handled, nil
		}
		if err := record.ReadMessage(message, &m); err != nil {
			return handled, err
		}
		if !r.handle(m.Payload) {
			r.stop() // nothing more
			break
		}
		handled++
	}
	if batch.Attempt == 0 {
		return 0, nil // mode performance: nothing is to be acknowledged
	}
	return handled, nil
}

func (r *subscriber) ended(err error) {
	if r.reads.Err() != nil {
		return // Close did it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Close implements [broker.Subscriber].
func (r *subscriber) Close(ctx context.Context) error {
	r.stop()
	stopped := make(chan struct{})
	go func() { // ends with the handler, whose owner ends it
		r.reading.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		// It may have ended before, and Failed says why; or a node went away with what
		// it was told, and its messages come again, as they may.
		if err := r.sub.Close(ctx); err != nil && r.Failed() == nil && wirelab.CodeOf(err) != wirelab.Unavailable {
			return err
		}
		return nil
	case <-ctx.Done():
		return broker.ErrStuck()
	}
}

// Failed implements [broker.Subscriber].
func (r *subscriber) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
