// Package jetstream implements package broker's Broker with NATS JetStream. A topic is a
// stream in files with one subject. A group is a durable consumer with explicit
// acknowledgement, which all readers of the group share. The package knows the servers by
// their addresses.
//
// # Differences from other brokers
//
//   - What an acknowledgement promises depends on the servers' sync policy, which no
//     client can choose: with sync_interval "always" a quorum has the message on disk, by
//     default in its memory.
//   - A dead reader is detected by its silence: its messages are delivered again after
//     [Settings.AckWait], and not at once as with brokers that rely on the connection. The
//     handlers of a subscriber may take longer, because the subscriber tells the server
//     that they are in progress.
//   - Transient is a property of the topic, so topics with and without it are two kinds,
//     and CreateTopic of one as the other is Conflict. A transient topic confirms messages
//     before it has written them to its file.
//   - The server counts deliveries, so a delivery whose consumer died or ended is an
//     attempt, too.
//   - The server persists acknowledgements ten times a second: a killed server delivers
//     messages again whose acknowledgement was not persisted. It has no group commit
//     as databases have: each confirmation costs one fsync.
//   - Nats-Msg-Id is not set, except for [broker.Message.Once]. With it the server would
//     drop an id that it has seen in the last two minutes. Here that would hide for two
//     minutes the duplicates that other brokers show; it would cost the server memory for
//     every id; and it would lose the second of two messages that share only an id.
//   - Without confirms, the server drops messages that arrive faster than it can store
//     them, beyond 100,000 messages or 128 MiB that it has read, and tells no client.
//   - The server remembers each message that waits for its next attempt; with more than
//     100,000 of them a work queue stops until some are due.
//   - Consumers of a work queue trim acknowledged messages from its stream, so that these
//     do not stay on disk.
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

// Settings are options of this broker only. Zero values mean the defaults below.
type Settings struct {
	// AckWait is how long the server waits for an acknowledgement or a sign of progress before it delivers a
	// message to another consumer; 0: 5 s. With NATS's own default of 30 s, a killed consumer's messages would be
	// unavailable that long. The last CreateTopic determines it.
	AckWait time.Duration
	// InFlight is how many messages of one publisher may be unconfirmed; 0: 4096. Twice as many were no faster, and
	// a server that is behind drops none of this many.
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

	children sync.Map // *link, of publishers and subscribers with their own connection
}

var _ broker.Broker = (*Broker)(nil)

// Check validates a variant.
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

// Name names the server with the version it had when the connection was made.
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

// own opens a connection for one publisher or subscriber; drop closes it.
func (b *Broker) own(ctx context.Context) (*link, error) {
	if _, closed, _ := b.state(); closed {
		return nil, broker.ErrClosed
	}
	l, err := b.dial(ctx)
	if err != nil {
		return nil, err
	}
	b.children.Store(l, nil)
	if _, closed, _ := b.state(); closed { // closed during the dial
		l.close()
	}
	return l, nil
}

func (b *Broker) drop(l *link) {
	b.children.Delete(l)
	l.close()
}

const (
	// duplicates is the shortest deduplication window that a server accepts; messages of topics have no id for it.
	duplicates = 100 * time.Millisecond
	// forgetting is how long the server remembers the ids of dead letters.
	forgetting = 2 * time.Minute
	// pendingLimit is how many messages of a work queue may be with consumers or wait for their next attempt; the
	// server remembers each. It cannot equal the prefetch, since waiting messages count too and would block the
	// others.
	pendingLimit = 100_000
)

// subjectOf returns the subject of a topic.
func subjectOf(topic string) string {
	if name, ok := strings.CutPrefix(topic, broker.QueuePrefix); ok {
		return "wirelab.queue." + name
	}
	if name, ok := strings.CutPrefix(topic, broker.DeadPrefix); ok {
		return "wirelab.dead." + name
	}
	return topic
}

// streamOf returns the configuration of a topic's stream.
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

// Depth returns how many messages the consumer has not acknowledged. The server updates its counts asynchronously:
// very recent confirmations and acknowledgements may not be included yet.
func (b *Broker) Depth(ctx context.Context, topic, group string) (int, error) {
	about, err := b.consumer(ctx, topic, group)
	if err != nil {
		return 0, err
	}
	return int(min(about.NumPending, math.MaxInt32)) + about.NumAckPending, nil
}

// stream returns a stream with its current state.
func (l *link) stream(ctx context.Context, name string) (stream jetstream.Stream, err error) {
	err = l.ask(ctx, func(ctx context.Context) (err error) {
		stream, err = l.js.Stream(ctx, name)
		return err
	})
	return stream, err
}

// consumer returns the current state of a group's durable consumer.
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

// trim removes messages from a work queue's stream up to the first one that a consumer has not acknowledged. NATS's
// own work queue policy would remove each message when it is acknowledged, and update its files each time.
// Acknowledgements then cost as much as confirmations, they fall behind under load, and messages come again that
// were acknowledged long ago.
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
