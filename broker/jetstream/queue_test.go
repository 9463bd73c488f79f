package jetstream_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"wirelab/broker/brokertest"
	"wirelab/broker/jetstream"
	"wirelab/broker/workqueue"
)

// through returns the address of the server with another host and port.
func through(t *testing.T, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host
	return u.String()
}

// TestQueueContract tests the contract of package workqueue over a server in its own process. Guards ms-D04,
// ms-D05, ms-D06, ms-D07.
func TestQueueContract(t *testing.T) {
	brokertest.RunQueue(t, func(t *testing.T) *brokertest.Server {
		s := start(t)
		return &brokertest.Server{
			Kinds: []workqueue.Kind{workqueue.Stream},
			Open: func(ctx context.Context) (workqueue.Queues, error) {
				b, err := patient(ctx, s.URL(), jetstream.Settings{})
				if err != nil {
					return nil, err
				}
				return workqueue.New(b), nil
			},
			Doomed: func(ctx context.Context) (workqueue.Queues, func(), error) {
				relay, err := brokertest.NewRelay(ctx, s.Address())
				if err != nil {
					return nil, nil, err
				}
				b, err := patient(ctx, through(t, s.URL(), relay.Address()), jetstream.Settings{})
				if err != nil {
					relay.Cut()
					return nil, nil, err
				}
				return workqueue.New(b), relay.Cut, nil
			},
			Kill: s.Kill, Revive: s.Restart, Patience: 5 * time.Minute,
		}
	})
}
