package jetstream_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"wirelab/broker"
	"wirelab/broker/brokertest"
	"wirelab/broker/jetstream"
	"wirelab/internal/process"
	"wirelab/system/nats"
	natsserver "wirelab/system/nats/server"
)

func TestMain(m *testing.M) {
	if os.Getenv(nats.Environment) != "" {
		if err := natsserver.Serve(context.Background(), os.Getenv, os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns the command that runs this program as a server.
func child(t *testing.T) process.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return process.Command{Path: self}
}

// start starts a server that syncs each write, and stops it at the end of the test.
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

func open(t *testing.T, addresses ...string) broker.Broker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, err := jetstream.Open(ctx, broker.Config{Addresses: addresses})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContract(t *testing.T) {
	t.Parallel()
	s := start(t)
	brokertest.Run(t, func(t *testing.T) broker.Broker { return open(t, s.URL()) })
}

func TestContractOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
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
	brokertest.Run(t, func(t *testing.T) broker.Broker { return open(t, urls...) })
}

// TestServerKilled checks that a message acknowledged before, while or after a server was killed reaches a reader
// that continues.
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

// TestSilenceHoldsUpNothing checks that an answer which a killed leader never sends does not delay the answers of
// its successor; otherwise the measurement would be of our own queue.
func TestSilenceHoldsUpNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := start(t)
	b := open(t, s.URL())
	defer func() { _ = b.Close() }()
	if err := b.CreateTopic(t.Context(), broker.Topic{Name: "answers", Groups: []string{"g"}}); err != nil {
		t.Fatal(err)
	}
	mute, err := natsgo.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	if _, err := mute.SubscribeSync("silence"); err != nil {
		t.Fatal(err)
	}
	if err := mute.Flush(); err != nil {
		t.Fatal(err)
	}
	p, err := b.Publisher(t.Context(), broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 2)
	said := func(who string) func(broker.Receipt, error) {
		return func(_ broker.Receipt, err error) { order <- fmt.Sprintf("%s, failed: %v", who, err != nil) }
	}
	p.Send(t.Context(), "silence", broker.Messages([]byte("one")), said("silence"))
	p.Send(t.Context(), "answers", broker.Messages([]byte("two"), []byte("three")), said("answers"))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if first, second := <-order, <-order; first != "answers, failed: false" || second != "silence, failed: true" {
		t.Errorf("told %q, then %q", first, second)
	}
}

func TestVariant(t *testing.T) {
	t.Parallel()
	if _, err := jetstream.Open(
		t.Context(),
		broker.Config{Addresses: []string{"127.0.0.1:4222"}, Variant: "classic"},
	); err == nil {
		t.Error("JetStream has no classic queues")
	}
	if _, err := jetstream.Open(t.Context(), broker.Config{Addresses: []string{"://"}}); err == nil {
		t.Error("that is no address")
	}
}
