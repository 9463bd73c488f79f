package workqueue

import (
	"context"
	"errors"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
)

// queues are the work queues of a broker.
type queues struct {
	broker broker.Broker
	kept   bool        // whether the broker keeps dead letters
	lost   func(error) // called for each dropped message if no dead letters are kept; may be nil

	mu     sync.Mutex // guards below
	taking map[string]map[broker.Subscriber]struct{}
}

var _ Queues = (*queues)(nil)

// New returns the work queues of a broker. Their Close closes the broker.
func New(b broker.Broker) Queues {
	return &queues{broker: b, kept: true, taking: map[string]map[broker.Subscriber]struct{}{}}
}

// Letterless returns the work queues of a broker that keeps no dead letters, whatever the options say: a message
// that is given up is dropped, and lost is called with the reason, if it is not nil.
func Letterless(b broker.Broker, lost func(error)) Queues {
	return &queues{broker: b, lost: lost, taking: map[string]map[broker.Subscriber]struct{}{}}
}

// topicOf and lettersOf return the topics of a queue.
func topicOf(o Options) string   { return broker.QueuePrefix + o.Name }
func lettersOf(o Options) string { return broker.DeadPrefix + o.Name }

// prepared completes and checks options.
func prepared(o Options) (Options, error) {
	o = o.Complete()
	return o, o.Validate()
}

// Name implements [Queues].
func (q *queues) Name() string { return q.broker.Name() }

// Close implements [Queues].
func (q *queues) Close() error { return q.broker.Close() }

// topics returns the dead letters and the queue, in the order of their creation: a queue that exists has dead
// letters.
func (q *queues) topics(o Options) []broker.Topic {
	queue := broker.Topic{
		Name: topicOf(o), Groups: []string{broker.Consumers}, Kind: o.Kind, Transient: !o.Persistent, IfAbsent: true,
	}
	if !q.kept {
		return []broker.Topic{queue}
	}
	letters := broker.Topic{Name: lettersOf(o), Groups: []string{broker.Takers}, IfAbsent: true}
	return []broker.Topic{letters, queue}
}

// Declare implements [Queues].
func (q *queues) Declare(ctx context.Context, o Options) error {
	o, err := prepared(o)
	if err != nil {
		return err
	}
	for _, t := range q.topics(o) {
		if err := q.broker.CreateTopic(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements [Queues]. The queue is deleted first, so that nothing is added to the dead letters afterwards.
func (q *queues) Delete(ctx context.Context, o Options) error {
	o, err := prepared(o)
	if err != nil {
		return err
	}
	all := q.topics(o)
	for i := range all {
		if err := q.broker.DeleteTopic(ctx, all[len(all)-1-i]); err != nil {
			return err
		}
	}
	return nil
}

// Depth implements [Queues].
func (q *queues) Depth(ctx context.Context, o Options) (waiting, dead int, err error) {
	if o, err = prepared(o); err != nil {
		return 0, 0, err
	}
	if waiting, err = q.broker.Depth(ctx, topicOf(o), broker.Consumers); err != nil || !q.kept {
		return waiting, 0, err
	}
	if dead, err = q.broker.Depth(ctx, lettersOf(o), broker.Takers); err != nil {
		return 0, 0, err
	}
	return waiting, dead, nil
}

// takeLimit is how long Dead waits for letters that another caller holds.
const takeLimit = 2 * time.Second

// Dead implements [Queues]. Letters are acknowledged as they come: as many as there were when it was called, and no
// more than limit.
func (q *queues) Dead(ctx context.Context, o Options, limit int) ([]Message, error) {
	o, err := prepared(o)
	if err != nil || !q.kept {
		return nil, err
	}
	there, err := q.broker.Depth(ctx, lettersOf(o), broker.Takers)
	want := min(there, limit)
	if err != nil || want <= 0 {
		return nil, err
	}
	var letters []Message // used by the handler until it is done
	enough := make(chan struct{})
	sub, err := q.broker.Subscribe(ctx, broker.Subscription{
		Topic: lettersOf(o), Group: broker.Takers, Prefetch: want,
	}, func(_ context.Context, d Delivery) broker.Disposition {
		if len(letters) == want {
			return broker.Stop()
		}
		d.Body = append([]byte(nil), d.Body...)
		if letters = append(letters, d.Message); len(letters) == want {
			close(enough)
		}
		return broker.Ack()
	})
	if err != nil {
		return nil, err
	}
	wait := time.NewTimer(takeLimit)
	defer wait.Stop()
	select {
	case <-enough:
	case <-wait.C: // other callers hold them
	case <-sub.Done():
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeLimit)
	defer cancel()
	if err := errors.Join(sub.Err(), sub.Close(ending)); err != nil {
		return nil, err
	}
	return letters, nil
}

// The pauses before an unavailable broker is asked for messages again.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// Consume implements [Queues].
func (q *queues) Consume(ctx context.Context, o Options, handle Handler) error {
	o, err := prepared(o)
	if err != nil || ctx.Err() != nil {
		return err
	}
	c := &consumer{queues: q, options: o, handle: handle}
	defer c.close()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		sub, err := q.broker.Subscribe(ctx, broker.Subscription{
			Topic: topicOf(o), Group: broker.Consumers, Prefetch: o.Prefetch, Concurrency: o.Prefetch, Retry: o.Retry,
		}, c.deal)
		if err == nil {
			return q.consume(ctx, o, sub)
		}
		if ctx.Err() != nil {
			return nil // the consumer was told to end
		}
		if final(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// consume waits for the end of a subscription, or of ctx.
func (q *queues) consume(ctx context.Context, o Options, sub broker.Subscriber) error {
	q.note(o.Name, sub, true)
	defer q.note(o.Name, sub, false)
	select {
	case <-ctx.Done():
	case <-sub.Done():
	}
	err := sub.Err()
	closed := sub.Close(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		return closed // the consumer was told to end
	}
	return err
}

// final reports whether an error is permanent: it concerns the queue or the user, or this end was closed, rather
// than an unavailable broker.
func final(err error) bool {
	switch wirelab.CodeOf(err) {
	case wirelab.Unavailable:
		return errors.Is(err, broker.ErrClosed)
	case wirelab.DeadlineExceeded, wirelab.Canceled, wirelab.ResourceExhausted, wirelab.Internal:
		return false
	}
	return true
}

// note records that a queue has a consumer, or no longer has it.
func (q *queues) note(name string, sub broker.Subscriber, is bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !is {
		delete(q.taking[name], sub)
		return
	}
	if q.taking[name] == nil {
		q.taking[name] = map[broker.Subscriber]struct{}{}
	}
	q.taking[name][sub] = struct{}{}
}

// Consuming implements [Queues].
func (q *queues) Consuming(o Options) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for sub := range q.taking[o.Name] {
		if sub.Ready() {
			return true
		}
	}
	return false
}
