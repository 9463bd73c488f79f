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
	"wirelab/system/nats"
	"wirelab/system/rabbitmq"
)

// hermesCluster is nodes of Hermes.
type hermesCluster struct{ *local.Cluster }

func startHermes(ctx context.Context, o Options, dir string) (cluster, error) {
	options := local.Options{Program: o.Hermes, Nodes: o.Nodes, Dir: dir, MayBeKilled: true, CPUs: o.CPUs}
	if o.Small {
		options.Args = []string{"--free-bytes=" + smallFree, "--segment-bytes=4MiB"}
	}
	for _, host := range o.hosts {
		options.Hosts, options.Namespaces = append(options.Hosts, host.Address),
			append(options.Namespaces, host.Namespace)
	}
	if o.hosts != nil {
		options.Args = append(options.Args, "--insecure") // nobody else is on their network
	}
	c, err := local.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	h := hermesCluster{c}
	for _, n := range c.Nodes {
		if err := awaitHermes(ctx, n); err != nil {
			return nil, errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
	}
	return h, nil
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

func (c hermesCluster) nodes() (all []node) {
	for _, n := range c.Nodes {
		all = append(all, hermesNode{n})
	}
	return all
}

func (c hermesCluster) addresses() []string            { return c.GRPC() }
func (c hermesCluster) about() string                  { return broker.NodesName("Hermes", len(c.Nodes), "node") }
func (c hermesCluster) stop(ctx context.Context) error { return c.Stop(ctx) }

func (c hermesCluster) leader(ctx context.Context, _ string) (int, error) {
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

type hermesNode struct{ *local.Node }

func (n hermesNode) directory() string { return n.Dir }

func (n hermesNode) kill(context.Context) error {
	n.Kill()
	return nil
}

func (n hermesNode) start(ctx context.Context) error {
	if n.Err() != nil {
		n.Kill() // it ended by itself, and is to be forgotten
	}
	if err := n.Start(ctx); err != nil {
		return err
	}
	return awaitHermes(ctx, n.Node)
}

func (n hermesNode) restart(ctx context.Context) error {
	if err := n.Stop(ctx); err != nil {
		return err
	}
	return n.start(ctx)
}

// heal implements node. A node of Hermes that could not write has ended; else it goes
// on by itself once there is room.
func (n hermesNode) heal(ctx context.Context) error { return n.start(ctx) }

// natsSync is NATS's own default for how often it brings what it wrote to the disk.
const natsSync = 2 * time.Minute

// natsCluster is NATS servers.
type natsCluster struct {
	servers []*nats.Server
	end     func(context.Context) error
}

func startNATS(ctx context.Context, o Options, dir string) (cluster, error) {
	options := nats.Options{Parent: dir, Hosts: o.hosts}
	command := process.Command{Name: "NATS server", Path: o.NATS, CPUs: o.CPUs}
	if o.Durability == broker.VendorDefault {
		options.SyncEvery = natsSync
	}
	if o.Nodes == 1 { // a cluster of one finds nobody to agree with
		s, err := nats.Start(ctx, command, options)
		if err != nil {
			return nil, err
		}
		return natsCluster{[]*nats.Server{s}, s.Stop}, nil
	}
	c, err := nats.StartCluster(ctx, command, options, o.Nodes)
	if err != nil {
		return nil, err
	}
	return natsCluster{c.Nodes(), c.Stop}, nil
}

func (c natsCluster) nodes() (all []node) {
	for _, n := range c.servers {
		all = append(all, serverNode{n})
	}
	return all
}

func (c natsCluster) addresses() (all []string) {
	for _, n := range c.servers {
		all = append(all, n.URL())
	}
	return all
}

func (c natsCluster) about() string                  { return "NATS JetStream " + c.servers[0].Version() }
func (c natsCluster) stop(ctx context.Context) error { return c.end(ctx) }

func (c natsCluster) leader(ctx context.Context, topic string) (int, error) {
	conn, err := natsgo.Connect(strings.Join(c.addresses(), ","))
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
	for i := range c.servers {
		if info.Cluster == nil || info.Cluster.Leader == nats.MemberName(i) {
			return i, nil
		}
	}
	return 0, errors.New("no server leads the stream")
}

// server is a NATS or a RabbitMQ server.
type server interface {
	PID() int
	Directory() string
	Kill(ctx context.Context) error
	Restart(ctx context.Context) error
}

type serverNode struct{ server }

func (n serverNode) directory() string                 { return n.Directory() }
func (n serverNode) kill(ctx context.Context) error    { return n.Kill(ctx) }
func (n serverNode) start(ctx context.Context) error   { return n.Restart(ctx) }
func (n serverNode) restart(ctx context.Context) error { return n.Restart(ctx) }

// heal implements node. NATS has turned JetStream off then, and RabbitMQ may have lost
// what writes its queues' log.
func (n serverNode) heal(ctx context.Context) error { return n.Restart(ctx) }

// rabbitCluster is RabbitMQ servers.
type rabbitCluster struct{ *rabbitmq.Cluster }

func startRabbitMQ(ctx context.Context, o Options, dir string) (cluster, error) {
	c, err := rabbitmq.StartCluster(ctx, rabbitmq.Options{Parent: dir, Hosts: o.hosts, CPUs: o.CPUs}, o.Nodes)
	if err != nil {
		return nil, err
	}
	return rabbitCluster{c}, nil
}

func (c rabbitCluster) nodes() (all []node) {
	for _, n := range c.Nodes() {
		all = append(all, serverNode{n})
	}
	return all
}

func (c rabbitCluster) addresses() (all []string) {
	for _, n := range c.Nodes() {
		all = append(all, n.URL())
	}
	return all
}

func (c rabbitCluster) about() string                  { return "RabbitMQ " + c.Nodes()[0].Version() }
func (c rabbitCluster) stop(ctx context.Context) error { return c.Stop(ctx) }

// leader is the first server: a queue is led where it was declared, and it is there
// that the driver declares, as long as that server runs.
func (rabbitCluster) leader(context.Context, string) (int, error) { return 0, nil }
