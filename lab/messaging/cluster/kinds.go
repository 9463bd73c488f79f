package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"wirelab/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
	"wirelab/internal/process"
	"wirelab/system/cluster"
	"wirelab/system/nats"
	"wirelab/system/rabbitmq"
)

// Each start returns the nodes of one kind, its name with the version, and what finds the leader of a topic.

func startHermes(ctx context.Context, o Options, dir string) (*brokers, error) {
	options := local.Options{Program: o.Hermes, Nodes: o.Nodes, Dir: dir, MayBeKilled: true, CPUs: o.CPUs}
	if o.Small {
		options.Args = []string{"--free-bytes=" + smallFree, "--segment-bytes=4MiB"}
	}
	for _, host := range o.hosts {
		options.Hosts, options.Namespaces = append(options.Hosts, host.Address),
			append(options.Namespaces, host.Namespace)
	}
	if o.hosts != nil {
		options.Args = append(options.Args, "--insecure") // no other program is on their network
	}
	c, err := local.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	b := &brokers{
		Cluster: cluster.New[cluster.Server](cluster.Together), about: broker.NodesName("Hermes", len(c.Nodes), "node"),
		leader: func(ctx context.Context, _ string) (int, error) { return leaderOfHermes(ctx, c) },
	}
	for _, n := range c.Nodes {
		if err := awaitHermes(ctx, n); err != nil {
			return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
		b.Add(hermesNode{n})
	}
	return b, nil
}

// awaitHermes waits until a node takes calls and knows who leads.
func awaitHermes(ctx context.Context, n *local.Node) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	c, err := client.New(client.Options{Addresses: []string{n.GRPC}})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing is under way
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		s, err := c.Status(ctx)
		if err == nil && s.Leader != 0 && s.Unready == "" {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("node %d of Hermes is not ready: %s: %w", n.ID, s.Unready,
				errors.Join(err, context.Cause(ctx)))
		}
	}
}

func leaderOfHermes(ctx context.Context, c *local.Cluster) (int, error) {
	all, err := client.New(client.Options{Addresses: c.GRPC()})
	if err != nil {
		return 0, err
	}
	defer func() { _ = all.Close() }() // nothing is under way
	s, err := all.Status(ctx)
	if err != nil {
		return 0, err
	}
	for i, n := range c.Nodes {
		if uint64(n.ID) == s.Leader {
			return i, nil
		}
	}
	return 0, fmt.Errorf("node %d leads, which is none of ours", s.Leader)
}

// hermesNode is a node of Hermes as a server, which package local does not know.
type hermesNode struct{ *local.Node }

var _ cluster.Healer = hermesNode{}

func (n hermesNode) URL() string       { return n.GRPC }
func (n hermesNode) Directory() string { return n.Dir }

func (n hermesNode) Kill(context.Context) error {
	n.Node.Kill()
	return nil
}

func (n hermesNode) Restart(ctx context.Context) error {
	if err := n.Stop(ctx); err != nil {
		return err
	}
	return n.Heal(ctx)
}

// Heal implements [cluster.Healer]. A node of Hermes that could not write has ended; else it
// continues by itself once there is room.
func (n hermesNode) Heal(ctx context.Context) error {
	if done := n.Done(); done != nil {
		select {
		case <-done:
			n.Node.Kill() // it ended by itself, and is to be forgotten
		default:
		}
	}
	if err := n.Start(ctx); err != nil {
		return err
	}
	return awaitHermes(ctx, n.Node)
}

// natsSync is NATS's own default for how often it brings what it wrote to the disk.
const natsSync = 2 * time.Minute

func startNATS(ctx context.Context, o Options, dir string) (*brokers, error) {
	options := nats.Options{Parent: dir, Hosts: o.hosts}
	command := process.Command{Name: "NATS server", Path: o.NATS, CPUs: o.CPUs}
	if o.Durability == broker.VendorDefault {
		options.SyncEvery = natsSync
	}
	var c *cluster.Cluster[*nats.Server]
	var err error
	if o.Nodes == 1 { // a cluster of one finds no other to agree with
		var s *nats.Server
		s, err = nats.Start(ctx, command, options)
		c = cluster.New(cluster.LastFirst, s)
	} else {
		c, err = nats.StartCluster(ctx, command, options, o.Nodes)
	}
	if err != nil {
		return nil, err
	}
	b := serversOf(c)
	b.about = "NATS JetStream " + c.Nodes()[0].Version()
	b.leader = func(ctx context.Context, topic string) (int, error) { return leaderOfNATS(ctx, c, topic) }
	return b, nil
}

// serversOf are servers that need no adapter.
func serversOf[S cluster.Server](c *cluster.Cluster[S]) *brokers {
	b := &brokers{Cluster: cluster.New[cluster.Server](cluster.LastFirst)}
	for _, s := range c.Nodes() {
		b.Add(s)
	}
	return b
}

func leaderOfNATS(ctx context.Context, c *cluster.Cluster[*nats.Server], topic string) (int, error) {
	conn, err := natsgo.Connect(strings.Join(c.URLs(), ","))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return 0, err
	}
	stream, err := js.Stream(ctx, topic)
	if err != nil {
		return 0, err
	}
	info := stream.CachedInfo()
	for i := range c.Nodes() {
		if info.Cluster == nil || info.Cluster.Leader == nats.MemberName(i) {
			return i, nil
		}
	}
	return 0, errors.New("no server leads the stream")
}

func startRabbitMQ(ctx context.Context, o Options, dir string) (*brokers, error) {
	c, err := rabbitmq.StartCluster(ctx, rabbitmq.Options{Parent: dir, Hosts: o.hosts, CPUs: o.CPUs}, o.Nodes)
	if err != nil {
		return nil, err
	}
	b := serversOf(c)
	b.about = "RabbitMQ " + c.Nodes()[0].Version()
	// A queue is led where it was declared, and the driver declares at the first server as long as that runs.
	b.leader = func(context.Context, string) (int, error) { return 0, nil }
	return b, nil
}
