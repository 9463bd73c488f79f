package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/queue"
)

// The names of what a queue is made of. Neither stream's can be another
// queue's, whatever that is called.
const (
	streamPrefix  = "wirelab-queue-"
	deadPrefix    = "wirelab-dead-"
	subjectPrefix = "wirelab.queue."
	buriedPrefix  = "wirelab.dead."
	durable       = "consumers"
	idHeader      = "Wirelab-Id"
)

// pendingLimit is how many messages may be with consumers, or wait for their
// next attempt: the server remembers each. It cannot be the prefetch, since
// those that wait count, too, and would hold up the others.
const pendingLimit = 100_000

// forgetting is how long the server remembers the ids of dead letters.
const forgetting = 2 * time.Minute

// check completes and validates options.
func check(o queue.Options) (queue.Options, error) {
	o = o.Complete()
	if o.Kind == "" {
		o.Kind = queue.Stream
	}
	if err := o.Validate(); err != nil {
		return o, err
	}
	if o.Kind != queue.Stream {
		return o, wirelab.Errorf(wirelab.Unimplemented, "NATS has no %s queues, only %s", o.Kind, queue.Stream)
	}
	return o, nil
}

// Declare makes the two streams and the consumer.
func (b *Broker) Declare(ctx context.Context, o queue.Options) error {
	o, err := check(o)
	if err != nil {
		return err
	}
	entries := jetstream.StreamConfig{
		Name: streamPrefix + o.Name, Subjects: []string{subjectPrefix + o.Name},
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, // see trim
		PersistMode: jetstream.DefaultPersistMode,
	}
	if !o.Persistent {
		entries.PersistMode = jetstream.AsyncPersistMode
	}
	letters := jetstream.StreamConfig{
		Name: deadPrefix + o.Name, Subjects: []string{buriedPrefix + o.Name},
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Duplicates: forgetting,
	}
	for _, config := range []jetstream.StreamConfig{letters, entries} {
		if err := b.ask(ctx, func(ctx context.Context) error {
			_, err := b.js.CreateStream(ctx, config)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				return wirelab.Errorf(wirelab.Conflict, "the queue %q is there, and was declared otherwise", o.Name)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return b.ask(ctx, func(ctx context.Context) error {
		_, err := b.js.CreateOrUpdateConsumer(ctx, streamPrefix+o.Name, jetstream.ConsumerConfig{
			Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: b.settings.AckWait,
			MaxDeliver: -1, MaxAckPending: pendingLimit,
		})
		return err
	})
}

// Depth asks what the consumer has not acknowledged, and how many dead letters
// there are. The server counts beside answering: what was confirmed or
// acknowledged just now may not be counted yet.
func (b *Broker) Depth(ctx context.Context, o queue.Options) (waiting, dead int, err error) {
	if o, err = check(o); err != nil {
		return 0, 0, err
	}
	about, err := b.consumers(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	letters, err := b.stream(ctx, deadPrefix+o.Name)
	if err != nil {
		return 0, 0, err
	}
	return int(about.NumPending) + about.NumAckPending, int(letters.CachedInfo().State.Msgs), nil
}

// stream returns a stream with its state as it is now.
func (b *Broker) stream(ctx context.Context, name string) (stream jetstream.Stream, err error) {
	err = b.ask(ctx, func(ctx context.Context) (err error) {
		stream, err = b.js.Stream(ctx, name)
		return err
	})
	return stream, err
}

// consumers returns the state of the queue's durable consumer as it is now.
func (b *Broker) consumers(ctx context.Context, o queue.Options) (about *jetstream.ConsumerInfo, err error) {
	err = b.ask(ctx, func(ctx context.Context) error {
		c, err := b.js.Consumer(ctx, streamPrefix+o.Name, durable)
		if err == nil {
			about = c.CachedInfo()
		}
		return err
	})
	return about, err
}

// trim removes from the stream what all consumers have acknowledged, up to the
// first message that they have not. A work queue of NATS's own would remove each
// message by itself as it is acknowledged, and with that bring its disk up to date
// each time: acknowledgements then cost as much as confirmations, fall behind
// where much is published, and messages come again that were acknowledged long ago.
func (b *Broker) trim(ctx context.Context, o queue.Options, trimmed uint64) (uint64, error) {
	about, err := b.consumers(ctx, o)
	if err != nil || about.AckFloor.Stream <= trimmed {
		return trimmed, err
	}
	stream, err := b.stream(ctx, streamPrefix+o.Name)
	if err != nil {
		return trimmed, err
	}
	floor := about.AckFloor.Stream
	return floor, b.ask(ctx, func(ctx context.Context) error {
		return stream.Purge(ctx, jetstream.WithPurgeSequence(floor+1))
	})
}

// Dead takes dead letters away, oldest first. One that two callers see at once
// is given to the one that could remove it.
func (b *Broker) Dead(ctx context.Context, o queue.Options, limit int) ([]queue.Message, error) {
	o, err := check(o)
	if err != nil {
		return nil, err
	}
	stream, err := b.stream(ctx, deadPrefix+o.Name)
	if err != nil {
		return nil, err
	}
	var letters []queue.Message
	for next := stream.CachedInfo().State.FirstSeq; len(letters) < limit; {
		var letter *jetstream.RawStreamMsg
		err := b.ask(ctx, func(ctx context.Context) (err error) {
			letter, err = stream.GetMsg(ctx, max(next, 1), jetstream.WithGetMsgSubject(buriedPrefix+o.Name))
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				letter, err = nil, nil
			}
			return err
		})
		if err != nil {
			return letters, err
		}
		if letter == nil {
			break
		}
		next = letter.Sequence + 1
		taken := true
		if err := b.ask(ctx, func(ctx context.Context) error {
			err := stream.DeleteMsg(ctx, letter.Sequence)
			var api *jetstream.APIError
			if errors.As(err, &api) && api.ErrorCode == sequenceNotFound {
				taken, err = false, nil // by another; or by us, unanswered, and then it is lost to us
			}
			return err
		}); err != nil {
			return letters, err
		}
		if taken {
			letters = append(letters, queue.Message{ID: letter.Header.Get(idHeader), Body: letter.Data})
		}
	}
	return letters, nil
}

// sequenceNotFound is the server's code for a place in a stream that is empty.
const sequenceNotFound = 10043

// Delete removes both streams; what is not there is no error.
func (b *Broker) Delete(ctx context.Context, o queue.Options) error {
	o, err := check(o)
	if err != nil {
		return err
	}
	for _, name := range []string{streamPrefix + o.Name, deadPrefix + o.Name} {
		if err := b.ask(ctx, func(ctx context.Context) error {
			err := b.js.DeleteStream(ctx, name)
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return nil
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// envelope returns a message as it is sent.
func envelope(subject string, m queue.Message) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: m.Body, Header: nats.Header{idHeader: []string{m.ID}}}
}
