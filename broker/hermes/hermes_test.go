package hermes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/brokertest"
	driver "wirelab/broker/hermes"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
	"wirelab/internal/programtest"
)

// program is Hermes, built once for all tests.
var program string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "wirelab-brokers-hermes-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if program, err = programtest.Build(dir, "hermes"); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// cluster starts nodes, and stops them at the end of the test.
func cluster(t *testing.T, nodes int) *local.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c, err := local.Start(ctx, local.Options{Program: program, Nodes: nodes, Dir: t.TempDir(), MayBeKilled: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}

func open(t *testing.T, r broker.Config, way driver.API) broker.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	b, err := driver.Open(ctx, r, way)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ways() map[string]driver.API {
	return map[string]driver.API{
		"stream": driver.Stream, "grpc": driver.GRPC, "rest": driver.REST, "graphql": driver.GraphQL, "all": driver.All,
	}
}

func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	one, three := cluster(t, 1), cluster(t, 3)
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			brokertest.Run(t, func(t *testing.T) broker.Broker {
				return open(t, broker.Config{Addresses: one.GRPC()}, way)
			})
		})
	}
	t.Run("three nodes", func(t *testing.T) {
		brokertest.Run(t, func(t *testing.T) broker.Broker {
			return open(t, broker.Config{Addresses: three.GRPC()}, driver.Stream)
		})
	})
}

// TestModesAreKept checks that each API passes the mode to the broker, and that none claims that a quorum has a
// message on disk if the mode does not promise it (docs/origins.md hb-M11).
func TestModesAreKept(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1)
	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			// Messages acknowledged in mode performance are not kept: a group that reads later finds the messages
			// of the other modes and no more.
			for variant, kept := range map[string]bool{"": true, driver.Eventual: true, driver.Performance: false} {
				b := open(t, broker.Config{Addresses: c.GRPC(), Variant: variant, Durability: broker.VendorDefault},
					way)
				topic := broker.Topic{Name: fmt.Sprintf("m-%s-%s", name, variant), Groups: []string{"g"}}
				if err := b.CreateTopic(t.Context(), topic); err != nil {
					t.Fatal(err)
				}
				for range 3 { // one of each kind of publisher
					publish(t, b, topic.Name)
				}
				var got atomic.Int64
				s, err := b.Subscribe(
					t.Context(),
					broker.Subscription{Topic: topic.Name, Group: "g"},
					func(context.Context, broker.Delivery) broker.Disposition {
						got.Add(1)
						return broker.Ack()
					},
				)
				if err != nil {
					t.Fatal(err)
				}
				want := int64(0)
				if kept {
					want = 3
				}
				for wait := time.Now().Add(2 * time.Minute); got.Load() < want && time.Now().Before(wait); {
					time.Sleep(10 * time.Millisecond)
				}
				if !kept {
					time.Sleep(100 * time.Millisecond)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if n := got.Load(); n != want {
					t.Errorf("mode %q: %d messages were kept for a later reader, want %d", variant, n, want)
				}
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, variant := range []string{driver.Eventual, driver.Performance, "quorum"} {
		if _, err := driver.Open(t.Context(), broker.Config{Addresses: c.GRPC(), Variant: variant},
			driver.GRPC); err == nil {
			t.Errorf("mode %s passed for one that syncs first", variant)
		}
	}
}

func publish(t *testing.T, b broker.Broker, topic string) {
	t.Helper()
	p, err := b.Publisher(t.Context(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	p.Send(t.Context(), topic, broker.Messages([]byte{1, 2, 3}), func(_ broker.Receipt, err error) { answered <- err })
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestConnectionsAreKept checks that there are as many connections as sends in flight, however many sends are made
// (docs/origins.md hb-M07).
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1)
	for name, way := range map[string]driver.API{"rest": driver.REST, "graphql": driver.GraphQL, "grpc": driver.GRPC} {
		var dialled atomic.Int64
		b := open(
			t,
			broker.Config{
				Addresses: c.GRPC(),
				Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
					dialled.Add(1)
					var d net.Dialer
					return d.DialContext(ctx, network, address)
				},
			},
			way,
		)
		topic := broker.Topic{Name: "kept-" + name, Groups: []string{"g"}}
		if err := b.CreateTopic(t.Context(), topic); err != nil {
			t.Fatal(err)
		}
		p, err := b.Publisher(t.Context(), broker.PublisherConfig{})
		if err != nil {
			t.Fatal(err)
		}
		before := dialled.Load()
		for range 50 {
			p.Send(t.Context(), topic.Name, broker.Messages([]byte{1}), func(_ broker.Receipt, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if n := dialled.Load() - before; n > 1 {
			t.Errorf("%s: %d connections for 50 sends in turn", name, n)
		}
		if err := errors.Join(p.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusalIsAnError checks that the error of a resolver is detected although its status is 200 (docs/origins.md
// hb-M10).
func TestRefusalIsAnError(t *testing.T) {
	t.Parallel()
	c := cluster(t, 1)
	for name, way := range ways() {
		b := open(t, broker.Config{Addresses: c.GRPC()}, way)
		p, err := b.Publisher(t.Context(), broker.PublisherConfig{})
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		p.Send(
			t.Context(),
			"no-such-topic",
			broker.Messages([]byte{1}),
			func(_ broker.Receipt, err error) { answered <- err },
		)
		if err := <-answered; wirelab.CodeOf(err) != wirelab.NotFound {
			t.Errorf("%s: %v, want NotFound", name, err)
		}
		if err := errors.Join(p.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestNodeKilled kills the leader under each way of publishing.
func TestNodeKilled(t *testing.T) {
	t.Parallel()
	all := ways()
	if testing.Short() {
		all = map[string]driver.API{"stream": driver.Stream}
	}
	for name, way := range all {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, 3)
			brokertest.Killed(t, open(t, broker.Config{Addresses: c.GRPC()}, way), func(ctx context.Context) error {
				for _, n := range c.Nodes {
					if leads(ctx, t, n) {
						n.Kill()
						return n.Start(ctx)
					}
				}
				return errors.New("no node leads")
			})
		})
	}
}

func leads(ctx context.Context, t *testing.T, n *local.Node) bool {
	t.Helper()
	c, err := client.New(client.Options{Addresses: []string{n.GRPC}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // nothing is in flight
	s, err := c.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s.Leader == uint64(n.ID)
}
