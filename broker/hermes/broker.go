// Package hermes is package broker's Broker with Hermes, by each of its APIs: gRPC calls,
// a gRPC stream, REST, GraphQL, and the three kinds of calls in turns. Only publishing
// differs: topics are made, and groups read, by the Go client, over gRPC. It knows a
// cluster by the addresses of its nodes.
//
// # What differs from other brokers
//
//   - A topic has one kind, [broker.Quorum]. In mode consistent every message is on disk,
//     fsync included, on a majority of nodes before it is confirmed. Transient topics and
//     messages are kept as others are.
//   - By the stream, what was written when the connection broke is published again with
//     its number and stored once: nothing comes twice because of a publisher, and no send
//     is lost to it.
//   - Written is when the client had the message, whose own goroutine sends it at
//     once, together with whatever else waits.
//   - Deliveries are counted by the leader, in memory: under a new leader a message
//     begins at its first attempt again.
//   - The groups of work queues have attempts without end, since the consumer counts
//     them: Hermes's own dead letters, topic hermes.dlq, are shared by all, and the end of a
//     consumer would make one of a message that may not fail once. The acknowledgement's
//     time is a day: whether a consumer's process lives tells the connection, or, if it
//     hangs, gRPC's keepalive after half a minute.
//   - A log keeps what was acknowledged until the topic's retention takes it. A topic that
//     is made here has none. A node whose disk is nearly full refuses to publish.
package hermes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/hermes"
	api "wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// API is how messages are published.
type API int

// The APIs.
const (
	Stream  API = iota // PublishStream: many messages under way on one stream
	GRPC               // a unary call for each send
	REST               // POST with JSON over HTTP/1.1
	GraphQL            // a mutation over HTTP/1.1
	All                // publishers by gRPC, REST and GraphQL in turns
)

// The variants: the modes of an acknowledgement.
const (
	Consistent  = "consistent"
	Eventual    = "eventual"
	Performance = "performance"
)

// modeOf is the mode of a variant, if that promises what durability says.
func modeOf(variant string, durability broker.Durability) (hermes.Mode, error) {
	modes := map[string]hermes.Mode{
		"": hermes.Consistent, Consistent: hermes.Consistent, Eventual: hermes.Eventual,
		Performance: hermes.Performance,
	}
	mode, known := modes[variant]
	if !known {
		return mode, wirelab.UnknownName("mode of Hermes", variant, []string{Consistent, Eventual, Performance})
	}
	if mode != hermes.Consistent && durability == broker.Synced {
		return mode, wirelab.Errorf(wirelab.InvalidArgument,
			"mode %s acknowledges before a quorum has a message on disk, and durability is %s: "+
				"ask for durability %s, which says so in the report", variant, durability, broker.VendorDefault)
	}
	return mode, nil
}

// Check returns what is wrong with a variant and durability, if anything.
func Check(c broker.Config) error {
	_, err := modeOf(c.Variant, c.Durability)
	return err
}

const (
	openLimit    = 5 * time.Second // of a patient broker, to find a node
	requestLimit = 2 * time.Second // of what is asked to see whether a node is there
	// tryFor is how long a patient client tries anything again: whoever waits has a
	// context that ends, and what nobody waits for was promised to be tried.
	tryFor = 365 * 24 * time.Hour
	// patience has a node asked for a sign of life that it may take 2 s to give, as
	// long as NATS's pings. With the client's own, half a second, a busy machine makes
	// a consumer look for another node, and what it has in hand come twice.
	patience = 20 * time.Second
)

// Scheme begins the address of a cluster.
const Scheme = "hermes://"

// Parse reads the address of a cluster, hermes://[TOKEN@]HOST:PORT[,HOST:PORT…].
func Parse(address string) (nodes []string, token string, err error) {
	rest, ok := strings.CutPrefix(address, Scheme)
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		token, rest = rest[:at], rest[at+1:]
	}
	nodes = strings.Split(strings.TrimSuffix(rest, "/"), ",")
	for _, node := range nodes {
		host, port, failed := net.SplitHostPort(node)
		ok = ok && failed == nil && host != "" && port != ""
	}
	if !ok {
		// The address may hold a token, and stays out of the message.
		return nil, "", wirelab.Errorf(wirelab.InvalidArgument,
			"the address of Hermes is like hermes://token@host:9090,other:9090, the gRPC listeners of one node or more")
	}
	return nodes, token, nil
}

// Broker is a connection to a cluster of Hermes.
type Broker struct {
	config broker.Config
	mode   hermes.Mode
	api    API
	client *client.Client // makes topics and reads, and publishes for who shares it
	name   string

	watching sync.WaitGroup
	stop     context.CancelFunc // ends watching

	mu      sync.Mutex // guards all below
	made    int        // publishers, for turns
	open    int        // connections to nodes
	up      bool       // a node answered, and a connection has stood since
	closed  bool
	changed chan struct{} // closed, and made anew, when one of the two above changes
}

var _ broker.Broker = (*Broker)(nil)

// Open connects to a cluster by the gRPC listeners of its nodes, as host:port or as one
// address like [Parse]'s; one node is enough, the others are learnt. Its variants are the
// modes. A patient broker's Open takes at most 5 s.
func Open(ctx context.Context, c broker.Config, by API) (*Broker, error) {
	if len(c.Addresses) == 1 && strings.HasPrefix(c.Addresses[0], Scheme) {
		var err error
		if c.Addresses, c.Token, err = Parse(c.Addresses[0]); err != nil {
			return nil, err
		}
	}
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	mode, err := modeOf(c.Variant, c.Durability)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, wirelab.Public(err)
	}
	b := &Broker{config: c, mode: mode, api: by, changed: make(chan struct{})}
	if b.client, err = b.dial(b.connect); err != nil {
		return nil, err
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if c.Patient {
		limited, cancel = context.WithTimeout(ctx, openLimit)
	}
	defer cancel()
	status, err := b.client.Status(limited)
	if err != nil {
		if code := wirelab.CodeOf(err); ctx.Err() != nil {
			err = wirelab.Public(ctx.Err())
		} else if code == wirelab.DeadlineExceeded || code == wirelab.Canceled {
			err = wirelab.Errorf(wirelab.Unavailable, "%s", wirelab.Public(err).Message)
		}
		return nil, errors.Join(fmt.Errorf("connect to Hermes: %w", err), b.client.Close())
	}
	b.name = broker.NodesName("Hermes", len(status.Members), "node")
	var life context.Context
	life, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	b.arrived()
	b.watching.Go(func() { b.watch(life) })
	return b, nil
}

// dial makes a client.
func (b *Broker) dial(connect func(ctx context.Context, address string) (net.Conn, error)) (*client.Client, error) {
	o := client.Options{Addresses: b.config.Addresses, Token: b.config.Token, Connect: connect}
	if b.config.Patient {
		o.RetryFor, o.Patience = tryFor, patience
	}
	return client.New(o)
}

// plain opens a connection that is not counted.
func (b *Broker) plain(ctx context.Context, address string) (net.Conn, error) {
	return b.config.Connect(ctx, "tcp", address)
}

// Name implements [broker.Broker]: the nodes do not tell their version.
func (b *Broker) Name() string { return b.name }

// CreateTopic implements [broker.Broker].
func (b *Broker) CreateTopic(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if t.Kind != "" && t.Kind != broker.Quorum {
		return wirelab.Errorf(wirelab.Unimplemented, "Hermes has no %s queues, only %s", t.Kind, broker.Quorum)
	}
	if !t.IfAbsent { // to Hermes a topic that is there with the same settings is no conflict
		_, err := b.client.Topic(ctx, t.Name, true)
		if err == nil {
			return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
		}
		if wirelab.CodeOf(err) != wirelab.NotFound {
			return b.coded(ctx, err)
		}
	}
	_, err := b.client.CreateTopic(ctx, api.Topic{Name: t.Name})
	if err != nil && t.IfAbsent && wirelab.CodeOf(err) == wirelab.Conflict {
		_, err = b.client.Topic(ctx, t.Name, true) // it was given a retention, which is its owner's to decide
	}
	if err != nil {
		return b.coded(ctx, err)
	}
	for _, name := range t.Groups {
		g := api.Group{Topic: t.Name, Name: name}
		if broker.IsQueue(t.Name) {
			g.AckTimeout, g.MaxAttempts = int64(ackTimeout), math.MaxUint32
		}
		if _, err := b.client.CreateGroup(ctx, g, api.Start{Topic: t.Name, From: api.FromOldest}); err != nil {
			return b.coded(ctx, err)
		}
	}
	return nil
}

// ackTimeout is when a message comes again that a member of a work queue holds. A handler
// may take as long as it likes.
const ackTimeout = 24 * time.Hour

// DeleteTopic implements [broker.Broker].
func (b *Broker) DeleteTopic(ctx context.Context, t broker.Topic) error {
	err := b.client.DeleteTopic(ctx, t.Name)
	if err != nil && (ctx.Err() != nil || wirelab.CodeOf(err) != wirelab.NotFound) {
		return b.coded(ctx, err)
	}
	return nil
}

// Depth implements [broker.Broker].
func (b *Broker) Depth(ctx context.Context, topic, group string) (int, error) {
	g, err := b.client.Group(ctx, topic, group)
	if err != nil {
		return 0, b.coded(ctx, err)
	}
	return int(min(g.Lag, math.MaxInt32)), nil
}

// Publisher implements [broker.Broker]. One that shares the broker's connection publishes
// by the stream.
func (b *Broker) Publisher(ctx context.Context, c broker.PublisherConfig) (broker.Publisher, error) {
	if c.Topic != "" {
		if _, err := b.client.Topic(ctx, c.Topic, true); err != nil {
			return nil, b.coded(ctx, err)
		}
	}
	if c.Shared {
		return &streamer{broker: b, config: c, client: b.client, mode: b.mode}, nil
	}
	if b.api == Stream {
		own, err := b.dial(b.plain)
		if err != nil {
			return nil, err
		}
		return &streamer{broker: b, config: c, client: own, mode: b.mode}, nil
	}
	members, err := b.members(ctx)
	if err != nil {
		return nil, err
	}
	// The one that leads first, which saves a hop, as other brokers' clients do.
	slices.SortStableFunc(members, func(x, y api.Member) int {
		switch {
		case x.Leader == y.Leader:
			return 0
		case x.Leader:
			return -1
		}
		return 1
	})
	width := max(c.MaxInFlight, 1)
	switch b.turn() {
	case REST:
		return newWeb(b, members, width, restForm{b.mode}), nil
	case GraphQL:
		return newWeb(b, members, width, graphqlForm{b.mode}), nil
	}
	return newCaller(b, members)
}

// members are the nodes, once each has told where it is: one that has just started is
// known by its number before it is by its addresses.
func (b *Broker) members(ctx context.Context) ([]api.Member, error) {
	for {
		status, err := b.client.Status(ctx)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(status.Members, func(m api.Member) bool { return m.GRPC == "" }) {
			return status.Members, nil
		}
		pause := time.NewTimer(refusedPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, wirelab.Errorf(wirelab.Unavailable,
				"a node of the cluster has not told its addresses: %v", context.Cause(ctx))
		}
	}
}

// turn is the API of the next publisher.
func (b *Broker) turn() API {
	if b.api != All {
		return b.api
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	return []API{GRPC, REST, GraphQL}[(b.made-1)%3]
}
