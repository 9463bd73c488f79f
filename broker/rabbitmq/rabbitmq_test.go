package rabbitmq_test

import (
	"context"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/brokertest"
	driver "wirelab/broker/rabbitmq"
	"wirelab/internal/together"
	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// start starts a server, and stops it with the test.
func start(t *testing.T) *rabbitmq.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	rabbitmqtest.Need(t)
	s, err := rabbitmq.Start(ctx, rabbitmq.Options{})
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

func open(t *testing.T, r broker.Config) *driver.Broker {
	t.Helper()
	b, err := driver.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestContract(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{string(broker.Quorum), string(broker.Classic)} {
		t.Run(kind, func(t *testing.T) {
			brokertest.Run(t, func(t *testing.T) broker.Broker {
				return open(t, broker.Config{Addresses: []string{server.URL()}, Variant: kind, Ephemeral: true})
			})
		})
	}
}

// TestServerKilled checks that a message acknowledged before, while or after a server was killed reaches a reader
// that continues.
func TestServerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("a RabbitMQ takes ten seconds to be there again")
	}
	s := start(t)
	again := func(ctx context.Context) error {
		if err := s.Kill(ctx); err != nil {
			return err
		}
		return s.Restart(ctx)
	}
	kinds := []string{string(broker.Quorum), string(broker.Classic)}
	share := together.New(len(kinds)) // a restart takes seconds
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			kill := again
			if together.Possible(len(kinds)) {
				t.Parallel()
				t.Cleanup(share.Leave)
				kill = func(ctx context.Context) error { return share.Do(ctx, again) }
			}
			brokertest.Killed(t, open(t, broker.Config{Addresses: []string{s.URL()}, Variant: kind}), kill)
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	if _, err := driver.Open(
		t.Context(),
		broker.Config{Addresses: []string{"127.0.0.1:1"}, Variant: "stream"},
	); err == nil {
		t.Error("a kind of queues that is not driven passed")
	}
	if _, err := driver.Open(
		t.Context(),
		broker.Config{Addresses: []string{"127.0.0.1:1"}},
	); wirelab.CodeOf(
		err,
	) != wirelab.Unavailable {
		t.Errorf("no server: %v", err)
	}
}
