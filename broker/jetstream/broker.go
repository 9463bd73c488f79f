// Package jetstream drives NATS JetStream as package broker asks of any broker: a topic
// is a stream in files with one subject, a group a durable consumer that acknowledges
// each message. It knows the servers by their addresses.
//
// What an acknowledgement promises is the servers' sync policy, which no client can
// choose: with sync_interval "always" a quorum has the message on disk, by default
// in its memory. A reader that died is noticed by its silence, after [ackWait].
package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab"
	"wirelab/broker"
)

// The times of a connection. A server that does not answer two pings is away.
const (
	dialLimit     = 5 * time.Second
	pingEvery     = 2 * time.Second
	pingsMissed   = 2
	reconnectWait = 50 * time.Millisecond
	askLimit      = 10 * time.Second
	// ackWait is how long the server waits for a word about a message before it
	// gives it to somebody else. NATS's own is 30 s, for which a killed reader's
	// messages would be away.
	ackWait = 5 * time.Second
)

// Broker is a connection to a NATS server, or a cluster.
type Broker struct {
	reach broker.Reach
	conn  *nats.Conn
	js    jetstream.JetStream
}

var _ broker.Broker = (*Broker)(nil)

// Check returns what is wrong with a reach's variant, if anything.
func Check(r broker.Reach) error {
	if r.Variant != "" && r.Variant != "stream" {
		return wirelab.Errorf(wirelab.Unimplemented, "NATS JetStream keeps streams, and no %s; leave queue= out", r.Variant)
	}
	return nil
}

// Open connects to servers, each host:port or nats://user:password@host:port.
func Open(ctx context.Context, r broker.Reach) (*Broker, error) {
	r, err := r.Complete()
	if err != nil {
		return nil, err
	}
	if err := Check(r); err != nil {
		return nil, err
	}
	b := &Broker{reach: r}
	if b.conn, b.js, err = b.dial(); err != nil {
		return nil, err
	}
	if _, err := b.js.AccountInfo(ctx); err != nil {
		b.conn.Close()
		return nil, wirelab.Errorf(wirelab.Unavailable, "the server answers, but JetStream does not: start it with JetStream enabled: %v", err)
	}
	return b, nil
}

// dialer opens connections where they are counted.
type dialer struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Dial implements nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	return d.connect(ctx, network, address)
}

func (b *Broker) dial() (*nats.Conn, jetstream.JetStream, error) {
	var urls []string
	for _, a := range b.reach.Addresses {
		if !strings.Contains(a, "://") {
			a = "nats://" + a
		}
		if u, err := url.Parse(a); err != nil || u.Host == "" {
			// The address may hold a password, and stays out of the message.
			return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "a NATS server's address is like host:4222 or nats://user:password@host:4222")
		}
		urls = append(urls, a)
	}
	conn, err := nats.Connect(strings.Join(urls, ","),
		nats.Name("wirelab"), nats.Timeout(dialLimit), nats.SetCustomDialer(dialer{b.reach.Connect}),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsMissed),
		// For ever: whoever waits has a context that ends.
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait), nats.IgnoreAuthErrorAbort(),
		// None: a send fails while the server is away, and is not kept to be sent later.
		nats.ReconnectBufSize(-1),
		// By default it writes to standard error.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	)
	if err != nil {
		return nil, nil, wirelab.Errorf(wirelab.Unavailable, "connect to NATS: %v", err)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(askLimit))
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, js, nil
}

// Close implements [broker.Broker].
func (b *Broker) Close() error {
	b.conn.Close()
	return nil
}

// About implements [broker.Broker].
func (b *Broker) About() string {
	return fmt.Sprintf("NATS JetStream %s", b.conn.ConnectedServerVersion())
}

// duplicates is the shortest window that a server has for ids that it has seen; no
// message here has one.
const duplicates = 100 * time.Millisecond

// Make implements [broker.Broker].
func (b *Broker) Make(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if _, err := b.js.Stream(ctx, t.Name); !errors.Is(err, jetstream.ErrStreamNotFound) {
		if err == nil {
			return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
		}
		return coded(err)
	}
	stream, err := b.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: t.Name, Subjects: []string{t.Name}, Replicas: b.reach.Copies, Storage: jetstream.FileStorage, Duplicates: duplicates,
	})
	if err != nil {
		return coded(err)
	}
	for _, group := range t.Groups {
		if _, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: group, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, DeliverPolicy: jetstream.DeliverAllPolicy,
			MaxAckPending: 2 * broker.PrefetchUsual, MaxDeliver: -1, Replicas: b.reach.Copies,
		}); err != nil {
			return coded(err)
		}
	}
	return nil
}

// Remove implements [broker.Broker].
func (b *Broker) Remove(ctx context.Context, t broker.Topic) error {
	if err := b.js.DeleteStream(ctx, t.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return coded(err)
	}
	return nil
}

// coded gives the library's errors their codes.
func coded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return wirelab.Public(err)
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrNoStreamResponse):
		return wirelab.Errorf(wirelab.NotFound, "NATS: %v", err)
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse), errors.Is(err, jetstream.ErrConsumerExists):
		return wirelab.Errorf(wirelab.Conflict, "NATS: %v", err)
	case errors.Is(err, nats.ErrMaxPayload):
		return wirelab.Errorf(wirelab.InvalidArgument, "NATS: %v", err)
	case errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrAsyncPublishTimeout):
		return wirelab.Errorf(wirelab.DeadlineExceeded, "NATS: %v", err)
	}
	return wirelab.Errorf(wirelab.Unavailable, "NATS: %v", err)
}
