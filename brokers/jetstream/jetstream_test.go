package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"wirelab/brokers"
	"wirelab/brokers/brokertest"
	"wirelab/brokers/jetstream"
	"wirelab/nats"
	"wirelab/target"
)

func TestMain(m *testing.M) {
	if os.Getenv(nats.Environment) != "" {
		if err := nats.Serve(context.Background(), os.Getenv, os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is this program as a server.
func child(t *testing.T) target.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return target.Command{Path: self}
}

// start starts a server that syncs first, and stops it with the test.
func start(t *testing.T) *nats.Server {
	t.Helper()
	s, err := nats.Start(t.Context(), child(t), nats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

func open(t *testing.T, addresses ...string) brokers.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := jetstream.Open(ctx, brokers.Reach{Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContract(t *testing.T) {
	t.Parallel()
	s := start(t)
	brokertest.Run(t, func(t *testing.T) brokers.Broker { return open(t, s.URL()) })
}

func TestContractOfACluster(t *testing.T) {
	t.Parallel()
	c, err := nats.StartCluster(t.Context(), child(t), nats.Options{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	var urls []string
	for _, n := range c.Nodes() {
		urls = append(urls, n.URL())
	}
	brokertest.Run(t, func(t *testing.T) brokers.Broker { return open(t, urls...) })
}

// TestServerKilled: what was acknowledged before, while or after a server was killed
// reaches a reader that goes on.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	s := start(t)
	brokertest.Killed(t, open(t, s.URL()), func(ctx context.Context) error {
		if err := s.Kill(ctx); err != nil {
			return err
		}
		return s.Restart(ctx)
	})
}

func TestVariant(t *testing.T) {
	t.Parallel()
	if _, err := jetstream.Open(t.Context(), brokers.Reach{Addresses: []string{"127.0.0.1:4222"}, Variant: "classic"}); err == nil {
		t.Error("JetStream has no classic queues")
	}
	if _, err := jetstream.Open(t.Context(), brokers.Reach{Addresses: []string{"://"}}); err == nil {
		t.Error("that is no address")
	}
}
