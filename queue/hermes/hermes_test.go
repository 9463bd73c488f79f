package hermes_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/local"
	"wirelab/internal/programtest"
	"wirelab/queue"
	"wirelab/queue/hermes"
	"wirelab/queue/queuetest"
)

// program is Hermes, built from this source.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hermes-program-")
	if err == nil {
		program, err = programtest.Build(dir, "hermes")
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir) // it is a temporary one
	os.Exit(code)
}

// start runs a cluster of processes for the test.
func start(t *testing.T, nodes int) *local.Cluster {
	t.Helper()
	c, err := local.Start(t.Context(), local.Options{Program: program, Nodes: nodes, Dir: t.TempDir(), Args: []string{"--free-bytes=1MiB"}})
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

func address(c *local.Cluster) string { return hermes.Scheme + strings.Join(c.GRPC(), ",") }

// doomed connects by relays, one for each node: clients learn of the others.
func doomed(ctx context.Context, c *local.Cluster) (queue.Broker, func(), error) {
	relays := map[string]*queuetest.Relay{}
	cut := func() {
		for _, r := range relays {
			r.Cut()
		}
	}
	for _, node := range c.GRPC() {
		r, err := queuetest.NewRelay(ctx, node)
		if err != nil {
			cut()
			return nil, nil, err
		}
		relays[node] = r
	}
	b, err := hermes.Open(ctx, address(c), hermes.Settings{Dial: func(ctx context.Context, address string) (net.Conn, error) {
		relay := relays[address]
		if relay == nil {
			return nil, fmt.Errorf("%s is no node's address", address)
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", relay.Address())
	}})
	if err != nil {
		cut()
		return nil, nil, err
	}
	return b, cut, nil
}

// contract is the contract of package queue, over a real cluster of processes, all
// of whose nodes are killed together.
func contract(t *testing.T, nodes int) {
	queuetest.Run(t, func(t *testing.T) *queuetest.Server {
		c := start(t, nodes)
		return &queuetest.Server{
			Kinds: []queue.Kind{queue.Quorum},
			Open: func(ctx context.Context) (queue.Broker, error) {
				b, err := hermes.Open(ctx, address(c), hermes.Settings{})
				if err != nil {
					return nil, err // as it is: an interface of a nil pointer is not nil
				}
				return b, nil
			},
			Doomed: func(ctx context.Context) (queue.Broker, func(), error) { return doomed(ctx, c) },
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

// Three nodes: what is confirmed is on the disks of two.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; that of one node does not")
	}
	contract(t, 3)
}

// One node, as the pipeline starts it.
func TestContractOfOneNode(t *testing.T) { contract(t, 1) }
