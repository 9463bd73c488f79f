// Package jetstream is package broker's Broker with NATS JetStream: a topic is a stream
// in files with one subject, a group a durable consumer that acknowledges each message and
// that all who read the group share. It knows the servers by their addresses.
//
// # What differs from other brokers
//
//   - What an acknowledgement promises is the servers' sync policy, which no client can
//     choose: with sync_interval "always" a quorum has the message on disk, by default
//     in its memory.
//   - A reader that died is noticed by its silence: what it had comes again after
//     [Settings.AckWait], and not at once as where a connection is the sign. Handlers
//     that run at the same time as others may take longer: the server is told so.
//   - Transient is the topic's property, so that topics made with and without it are two
//     kinds, and CreateTopic of one as the other is Conflict. A transient topic confirms
//     messages before it has written them to its file.
//   - Deliveries are counted by the server, so that one whose consumer died or
//     ended is an attempt, too.
//   - The server writes down what was acknowledged ten times a second: a killed one
//     gives what it had not written down again. There is no fsync for several
//     messages at once either, as databases have: each confirmation costs one.
//   - Nats-Msg-Id is left off, but for [broker.Message.Once]: by it the server drops an id
//     that it has seen in the last two minutes. That would hide here what other brokers
//     double, for two minutes; cost it the memory of every id; and lose the second of two
//     messages that only share an id.
//   - Unconfirmed, the server drops what comes faster than it can store, above
//     100,000 messages or 128 MiB that it has read, and tells no client.
//   - What waits for its next attempt is remembered by the server one by one; with more
//     than 100,000 a work queue stands still until some are due.
//   - What a work queue's consumers acknowledged they trim from its stream, so that it
//     does not stay on the disk.
package jetstream

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/broker"
)

// Settings are what this broker alone has. Zero values mean what is said here.
type Settings struct {
	// AckWait is how long the server waits for a word about a message before it
	// gives it to another consumer; 0: 5 s. NATS's own default is 30 s, for which a
	// killed consumer's messages would be away. The last CreateTopic counts.
	AckWait time.Duration
	// InFlight is how many messages of one publisher may be unconfirmed; 0: 4096. Twice as
	// many were no faster, and a server that is behind drops none of these.
	InFlight int
}

const (
	defaultAckWait  = 5 * time.Second
	defaultInFlight = 4096
)

// Broker is a connection to a NATS server, or a cluster.
type Broker struct {
	config   broker.Config
	settings Settings
	*link
	name string

	children sync.Map // *link, of what has a connection of its own
}

var _ broker.Broker = (*Broker)(nil)

// Check returns what is wrong with a variant, if anything.
func Check(c broker.Config) error {
	if c.Variant != "" && c.Variant != string(broker.Stream) {
		return wirelab.Errorf(wirelab.Unimplemented, "NATS JetStream keeps streams, and no %s; leave queue= out",
			c.Variant)
	}
	return nil
}

// Open connects to servers, each host:port or nats://user:password@host:port.
func Open(ctx context.Context, c broker.Config) (*Broker, error) { return OpenWith(ctx, c, Settings{}) }

// OpenWith is Open with settings.
func OpenWith(ctx context.Context, c broker.Config, s Settings) (*Broker, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	if err := Check(c); err != nil {
		return nil, err
	}
	if s.AckWait == 0 {
		s.AckWait = defaultAckWait
	}
	if s.InFlight == 0 {
		s.InFlight = defaultInFlight
	}
	if s.AckWait < time.Millisecond || s.InFlight < 1 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "settings %+v", s)
	}
	b := &Broker{config: c, settings: s}
	if b.link, err = b.dial(ctx); err != nil {
		return nil, err
	}
	if _, err := b.js.AccountInfo(ctx); err != nil {
		ended := ctx.Err()
		b.close()
		if ended != nil {
			return nil, wirelab.Public(ended)
		}
		return nil, wirelab.Errorf(wirelab.Unavailable,
			"the server answers, but JetStream does not: start it with JetStream enabled: %v", err)
	}
	b.name = "NATS JetStream " + b.conn.ConnectedServerVersion()
	return b, nil
}

// Name names the server as it was when the connection was made.
func (b *Broker) Name() string { return b.name }

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.children.Range(func(child, _ any) bool {
		child.(*link).close()
		return true
	})
	b.close()
	return nil
}

// own opens a connection for one publisher or subscriber, which drop closes.
func (b *Broker) own(ctx context.Context) (*link, error) {
	if _, closed, _ := b.state(); closed {
		return nil, broker.ErrClosed
	}
	l, err := b.dial(ctx)
	if err != nil {
		return nil, err
	}
	b.children.Store(l, nil)
	if _, closed, _ := b.state(); closed { // it was closed during the dial
		l.close()
	}
	return l, nil
}

func (b *Broker) drop(l *link) {
	b.children.Delete(l)
	l.close()
}

const (
	// duplicates is the shortest window that a server has for ids that it has seen; no
	// message of a topic has one.
	duplicates = 100 * time.Millisecond
	// forgetting is how long the server remembers the ids of dead letters.
	forgetting = 2 * time.Minute
	// pendingLimit is how many messages of a work queue may be with consumers, or wait for
	// their next attempt: the server remembers each. It cannot be the prefetch, since
	// those that wait count, too, and would hold up the others.
	pendingLimit = 100_000
)

// subjectOf is a topic's subject.
func subjectOf(topic string) string {
	if name, ok := strings.CutPrefix(topic, broker.QueuePrefix); ok {
		return "wirelab.queue." + name
	}
	if name, ok := strings.CutPrefix(topic, broker.DeadPrefix); ok {
		return "wirelab.dead." + name
	}
	return topic
}

// stream is what a topic's stream is made of.
func (b *Broker) streamOf(t broker.Topic) jetstream.StreamConfig {
	s := jetstream.StreamConfig{
		Name: t.Name, Subjects: []string{subjectOf(t.Name)}, Storage: jetstream.FileStorage,
		Replicas:  b.config.Replicas,
		Retention: jetstream.LimitsPolicy, // see trim
	}
	switch {
	case strings.HasPrefix(t.Name, broker.DeadPrefix):
		s.Duplicates = forgetting
	case !broker.IsQueue(t.Name):
		s.Duplicates = duplicates
	case t.Transient:
		s.PersistMode = jetstream.AsyncPersistMode
	}
	return s
}

// CreateTopic implements [broker.Broker].
func (b *Broker) CreateTopic(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if t.Kind != "" && t.Kind != broker.Stream {
		return wirelab.Errorf(wirelab.Unimplemented, "NATS has no %s queues, only %s", t.Kind, broker.Stream)
	}
	if !t.IfAbsent {
		_, err := b.stream(ctx, t.Name)
		if err == nil {
			return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
		}
		if wirelab.CodeOf(err) != wirelab.NotFound {
			return err
		}
	}
	config := b.streamOf(t)
	if err := b.ask(ctx, func(ctx context.Context) error {
		_, err := b.js.CreateStream(ctx, config)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return wirelab.Errorf(wirelab.Conflict, "the queue %q is there, and was declared otherwise", t.Name)
		}
		return err
	}); err != nil {
		return err
	}
	for _, group := range t.Groups {
		consumer := jetstream.ConsumerConfig{
			Durable: group, AckPolicy: jetstream.AckExplicitPolicy, AckWait: b.settings.AckWait,
			DeliverPolicy: jetstream.DeliverAllPolicy, MaxDeliver: -1, MaxAckPending: 2 * broker.PrefetchUsual,
		}
		if broker.IsQueue(t.Name) {
			consumer.MaxAckPending = pendingLimit
		} else {
			consumer.Replicas = b.config.Replicas
		}
		if err := b.ask(ctx, func(ctx context.Context) error {
			_, err := b.js.CreateOrUpdateConsumer(ctx, t.Name, consumer)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// DeleteTopic implements [broker.Broker].
func (b *Broker) DeleteTopic(ctx context.Context, t broker.Topic) error {
	return b.ask(ctx, func(ctx context.Context) error {
		err := b.js.DeleteStream(ctx, t.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		return err
	})
}

// Depth asks what the consumer has not acknowledged. The server counts while it answers
// others: what was confirmed or acknowledged just now may not be counted yet.
func (b *Broker) Depth(ctx context.Context, topic, group string) (int, error) {
	about, err := b.consumer(ctx, topic, group)
	if err != nil {
		return 0, err
	}
	return int(min(about.NumPending, math.MaxInt32)) + about.NumAckPending, nil
}

// stream returns a stream with its state as it is now.
func (l *link) stream(ctx context.Context, name string) (stream jetstream.Stream, err error) {
	err = l.ask(ctx, func(ctx context.Context) (err error) {
		stream, err = l.js.Stream(ctx, name)
		return err
	})
	return stream, err
}

// consumer returns the state of a group's durable consumer as it is now.
func (l *link) consumer(ctx context.Context, topic, group string) (about *jetstream.ConsumerInfo, err error) {
	err = l.ask(ctx, func(ctx context.Context) error {
		c, err := l.js.Consumer(ctx, topic, group)
		if err == nil {
			about = c.CachedInfo()
		}
		return err
	})
	return about, err
}

// trim removes from a work queue's stream what all its consumers have acknowledged, up to
// the first message that they have not. A work queue of NATS's own would remove each
// message by itself as it is acknowledged, and with that bring its disk up to date
// each time: acknowledgements then cost as much as confirmations, fall behind
// where much is published, and messages come again that were acknowledged long ago.
func (l *link) trim(ctx context.Context, topic, group string, trimmed uint64) (uint64, error) {
	about, err := l.consumer(ctx, topic, group)
	if err != nil || about.AckFloor.Stream <= trimmed {
		return trimmed, err
	}
	stream, err := l.stream(ctx, topic)
	if err != nil {
		return trimmed, err
	}
	floor := about.AckFloor.Stream
	return floor, l.ask(ctx, func(ctx context.Context) error {
		return stream.Purge(ctx, jetstream.WithPurgeSequence(floor+1))
	})
}
