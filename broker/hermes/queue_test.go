package hermes_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"wirelab/broker"
	"wirelab/broker/brokertest"
	driver "wirelab/broker/hermes"
	"wirelab/broker/workqueue"
	"wirelab/hermes/local"
)

// start runs a cluster of processes for the test.
func start(t *testing.T, nodes int) *local.Cluster {
	t.Helper()
	c, err := local.Start(
		t.Context(),
		local.Options{Program: program, Nodes: nodes, Dir: t.TempDir(), Args: []string{"--free-bytes=1MiB"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return c
}

func address(c *local.Cluster) string { return driver.Scheme + strings.Join(c.GRPC(), ",") }

// doomed connects through relays, one for each node, because clients learn the addresses of all nodes.
func doomed(ctx context.Context, c *local.Cluster) (workqueue.Queues, func(), error) {
	relays := map[string]*brokertest.Relay{}
	cut := func() {
		for _, r := range relays {
			r.Cut()
		}
	}
	for _, node := range c.GRPC() {
		r, err := brokertest.NewRelay(ctx, node)
		if err != nil {
			cut()
			return nil, nil, err
		}
		relays[node] = r
	}
	b, err := driver.Open(ctx, broker.Config{
		Addresses: []string{address(c)}, Patient: true,
		Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
			relay := relays[address]
			if relay == nil {
				return nil, fmt.Errorf("%s is no node's address", address)
			}
			return (&net.Dialer{}).DialContext(ctx, network, relay.Address())
		},
	}, driver.Stream)
	if err != nil {
		cut()
		return nil, nil, err
	}
	return workqueue.New(b), cut, nil
}

// patient connects as a service does.
func patient(ctx context.Context, address string) (*driver.Broker, error) {
	return driver.Open(ctx, broker.Config{Addresses: []string{address}, Patient: true}, driver.Stream)
}

// contract tests the contract of package workqueue over a real cluster of processes, whose nodes are all killed
// together.
func contract(t *testing.T, nodes int) {
	brokertest.RunQueue(t, func(t *testing.T) *brokertest.Server {
		c := start(t, nodes)
		return &brokertest.Server{
			Kinds: []workqueue.Kind{workqueue.Quorum},
			Open: func(ctx context.Context) (workqueue.Queues, error) {
				b, err := patient(ctx, address(c))
				if err != nil {
					return nil, err
				}
				return workqueue.New(b), nil
			},
			Doomed: func(ctx context.Context) (workqueue.Queues, func(), error) { return doomed(ctx, c) },
			Kill: func(context.Context) error {
				for _, n := range c.Nodes {
					n.Kill()
				}
				return nil
			},
			Revive:   func(ctx context.Context) error { return c.Start(ctx) },
			Patience: 5 * time.Minute,
		}
	})
}

// With three nodes, a confirmed message is on the disks of at least two.
func TestQueueContract(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; that of one node does not")
	}
	contract(t, 3)
}

// TestQueueContractOfOneNode uses one node, as the pipeline starts it.
func TestQueueContractOfOneNode(t *testing.T) { contract(t, 1) }
