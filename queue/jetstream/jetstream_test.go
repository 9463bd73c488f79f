package jetstream_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"wirelab/lab/target"
	"wirelab/queue"
	"wirelab/queue/jetstream"
	"wirelab/queue/queuetest"
	"wirelab/system/nats"
	natsserver "wirelab/system/nats/server"
)

// The test binary is the server, where it is told to be.
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

func start(t *testing.T) *nats.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := nats.Start(t.Context(), target.Command{Path: self}, nats.Options{})
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

// through returns the server's address by way of another host and port.
func through(t *testing.T, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host
	return u.String()
}

// The contract of package queue, over a real server in a process of its own.
// Guards ms-D04, ms-D05, ms-D06, ms-D07.
func TestContract(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) *queuetest.Server {
		s := start(t)
		return &queuetest.Server{
			Kinds: []queue.Kind{queue.Stream},
			Open: func(ctx context.Context) (queue.Broker, error) {
				return jetstream.Open(ctx, s.URL(), jetstream.Settings{})
			},
			Doomed: func(ctx context.Context) (queue.Broker, func(), error) {
				relay, err := queuetest.NewRelay(ctx, s.Address())
				if err != nil {
					return nil, nil, err
				}
				b, err := jetstream.Open(ctx, through(t, s.URL(), relay.Address()), jetstream.Settings{})
				if err != nil {
					relay.Cut()
				}
				return b, relay.Cut, err
			},
			Kill: s.Kill, Revive: s.Restart, Patience: 5 * time.Minute,
		}
	})
}
