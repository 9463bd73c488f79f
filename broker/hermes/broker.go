// Package hermes implements package broker's Broker with Hermes, by each of its APIs: gRPC
// calls, a gRPC stream, REST, GraphQL, and the three kinds of calls in turn. Only
// publishing differs: the Go client creates topics and reads groups, over gRPC. The package
// knows a cluster by the addresses of its nodes.
//
// # Differences from other brokers
//
//   - A topic has one kind, [broker.Quorum]. In mode consistent every message is on disk,
//     fsync included, on a majority of nodes before it is confirmed. Transient topics and
//     messages are kept as others are.
//   - By the stream, messages that were written when the connection broke are published
//     again with their number and stored once: a publisher causes no duplicates, and no
//     send is lost when its connection breaks.
//   - Written is when the client had the message. Its own goroutine sends it at once,
//     together with other waiting messages.
//   - The leader counts deliveries in memory: under a new leader a message begins at its
//     first attempt again.
//   - The groups of work queues allow any number of attempts, since the consumer counts
//     them. Hermes's own dead letters, topic hermes.dlq, are shared by all queues, and the
//     end of a consumer would turn a message with a single attempt into a dead letter. The
//     acknowledgement timeout is a day: the connection shows whether a consumer's process
//     is alive or, if it hangs, gRPC's keepalive does after half a minute.
//   - A log keeps acknowledged messages until the topic's retention removes them. A topic
//     that is created here has no retention. A node whose disk is nearly full refuses to
//     publish.
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
	Stream  API = iota // PublishStream: many messages in flight on one stream
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

// modeOf returns the mode of a variant, if it promises the durability.
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

// Check validates a variant and durability.
func Check(c broker.Config) error {
	_, err := modeOf(c.Variant, c.Durability)
	return err
}

const (
	openLimit    = 5 * time.Second // for a patient broker to find a node
	requestLimit = 2 * time.Second // for a request that checks whether a node answers
	// tryFor is how long a patient client retries: every caller that waits has a context that ends, and work
	// without a waiting caller was promised to be retried.
	tryFor = 365 * 24 * time.Hour
	// patience makes the client allow a node 2 s to answer a health check, like the pings of NATS. With the
	// client's default of half a second, a consumer on a busy machine changes to another node, and its
	// unacknowledged messages are delivered twice.
	patience = 20 * time.Second
)

// Scheme begins the address of a cluster.
const Scheme = "hermes://"

// Parse parses the address of a cluster, hermes://[TOKEN@]HOST:PORT[,HOST:PORT…].
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
		// The address may contain a token, so the message does not show it.
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
	client *client.Client // creates topics and reads, and publishes for publishers that share it
	name   string

	watching sync.WaitGroup
	stop     context.CancelFunc // ends watch

	mu      sync.Mutex // guards all below
	made    int        // publishers, to assign APIs in turn
	open    int        // connections to nodes
	up      bool       // a node has answered, and at least one connection has been open since
	closed  bool
	changed chan struct{} // closed and replaced when up or closed changes
}

var _ broker.Broker = (*Broker)(nil)

// Open connects to a cluster by the gRPC listeners of its nodes, as host:port or as one address like [Parse]'s. One
// node is enough; the client learns the others. The variants are the modes. With Patient, Open takes at most 5 s.
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

// dial creates a client.
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

// Name implements [broker.Broker]. Nodes do not report their version.
func (b *Broker) Name() string { return b.name }

// CreateTopic implements [broker.Broker].
func (b *Broker) CreateTopic(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if t.Kind != "" && t.Kind != broker.Quorum {
		return wirelab.Errorf(wirelab.Unimplemented, "Hermes has no %s queues, only %s", t.Kind, broker.Quorum)
	}
	if !t.IfAbsent { // Hermes does not treat an existing topic with the same settings as a conflict
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
		_, err = b.client.Topic(ctx, t.Name, true) // it has a retention, which its owner has set
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

// ackTimeout is when an unacknowledged message of a work queue is delivered again. It is long because a handler may
// take as long as it likes.
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

// Publisher implements [broker.Broker]. A publisher that shares the broker's connection uses the stream.
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
	// The leader comes first, which saves a hop, as clients of other brokers do.
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

// members returns the nodes once each has reported its addresses: a node that has just started is at first known by
// its number only.
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

// turn returns the API of the next publisher.
func (b *Broker) turn() API {
	if b.api != All {
		return b.api
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	return []API{GRPC, REST, GraphQL}[(b.made-1)%3]
}
