// Package hermes drives Hermes as package broker asks of any broker, by each of its
// doors: gRPC calls, a gRPC stream, REST, GraphQL, and the three kinds of calls in
// turns. Only publishing differs: topics are made, and groups read, by the Go client,
// over gRPC. It knows no node but by its doors.
package hermes

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/hermes"
	api "wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// Way is how messages are published.
type Way int

// The ways.
const (
	Stream  Way = iota // PublishStream: many messages under way on one stream
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
	modes := map[string]hermes.Mode{"": hermes.Consistent, Consistent: hermes.Consistent, Eventual: hermes.Eventual, Performance: hermes.Performance}
	mode, known := modes[variant]
	if !known {
		return mode, wirelab.UnknownName("mode of Hermes", variant, []string{Consistent, Eventual, Performance})
	}
	if mode != hermes.Consistent && durability == broker.Synced {
		return mode, wirelab.Errorf(wirelab.InvalidArgument,
			"mode %s acknowledges before a quorum has a message on disk, and durability is %s: ask for durability %s, which says so in the report", variant, durability, broker.AsShipped)
	}
	return mode, nil
}

// Check returns what is wrong with a reach's variant and durability, if anything.
func Check(r broker.Reach) error {
	_, err := modeOf(r.Variant, r.Durability)
	return err
}

// Broker is a connection to a cluster of Hermes.
type Broker struct {
	reach  broker.Reach
	mode   hermes.Mode
	way    Way
	client *client.Client // makes topics and reads
	about  string

	mu   sync.Mutex // guards made
	made int        // publishers, for turns
}

var _ broker.Broker = (*Broker)(nil)

// Open connects to the gRPC doors of a cluster's nodes. Its variants are the modes.
func Open(ctx context.Context, r broker.Reach, way Way) (*Broker, error) {
	r, err := r.Complete()
	if err != nil {
		return nil, err
	}
	mode, err := modeOf(r.Variant, r.Durability)
	if err != nil {
		return nil, err
	}
	b := &Broker{reach: r, mode: mode, way: way}
	if b.client, err = b.dial(); err != nil {
		return nil, err
	}
	status, err := b.client.Status(ctx)
	if err != nil {
		_ = b.client.Close() // the status' error says it
		return nil, err
	}
	b.about = broker.About("Hermes", len(status.Members), "node")
	return b, nil
}

func (b *Broker) dial() (*client.Client, error) {
	return client.New(client.Options{Addresses: b.reach.Addresses, Connect: func(ctx context.Context, address string) (net.Conn, error) {
		return b.reach.Connect(ctx, "tcp", address)
	}})
}

// Close implements [broker.Broker].
func (b *Broker) Close() error { return b.client.Close() }

// About implements [broker.Broker].
func (b *Broker) About() string { return b.about }

// Make implements [broker.Broker].
func (b *Broker) Make(ctx context.Context, t broker.Topic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	// To Hermes a topic that is there with the same settings is no conflict.
	_, err := b.client.Topic(ctx, t.Name, true)
	if err == nil {
		return wirelab.Errorf(wirelab.Conflict, "topic %s is there", t.Name)
	}
	if wirelab.CodeOf(err) != wirelab.NotFound {
		return err
	}
	if _, err := b.client.CreateTopic(ctx, api.Topic{Name: t.Name}); err != nil {
		return err
	}
	for _, name := range t.Groups {
		if _, err := b.client.CreateGroup(ctx, api.Group{Topic: t.Name, Name: name}, api.Start{Topic: t.Name, From: api.FromOldest}); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements [broker.Broker].
func (b *Broker) Remove(ctx context.Context, t broker.Topic) error {
	if err := b.client.DeleteTopic(ctx, t.Name); err != nil && wirelab.CodeOf(err) != wirelab.NotFound {
		return err
	}
	return nil
}

// Publisher implements [broker.Broker].
func (b *Broker) Publisher(ctx context.Context, width int) (broker.Publisher, error) {
	if b.way == Stream {
		c, err := b.dial()
		if err != nil {
			return nil, err
		}
		return &streamer{client: c, mode: b.mode}, nil
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
			return nil, wirelab.Errorf(wirelab.Unavailable, "a node of the cluster has not told its addresses: %v", context.Cause(ctx))
		}
	}
}

// turn is the way of the next publisher.
func (b *Broker) turn() Way {
	if b.way != All {
		return b.way
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.made++
	return []Way{GRPC, REST, GraphQL}[(b.made-1)%3]
}
