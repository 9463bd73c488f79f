package rabbitmq_test

import (
	"context"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"wirelab/broker"
	"wirelab/broker/brokertest"
	driver "wirelab/broker/rabbitmq"
	"wirelab/broker/workqueue"
	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// server is the RabbitMQ of these tests.
var server *rabbitmq.Server

func TestMain(m *testing.M) {
	os.Exit(rabbitmqtest.Main(m, func(s *rabbitmq.Server) { server = s }))
}

// TestQueueContract tests the contract, including kills and restarts of RabbitMQ (ms-D04, ms-D05, ms-D06, ms-D07).
func TestQueueContract(t *testing.T) {
	kinds := []workqueue.Kind{workqueue.Quorum, workqueue.Classic}
	if testing.Short() {
		kinds = kinds[:1] // a RabbitMQ takes seconds to start, and each kind restarts it three times
	}
	brokertest.RunQueue(t, func(*testing.T) *brokertest.Server {
		return &brokertest.Server{
			Kinds:  kinds,
			Open:   func(ctx context.Context) (workqueue.Queues, error) { return queues(ctx, server.URL(), false) },
			Hasty:  func(ctx context.Context) (workqueue.Queues, error) { return queues(ctx, server.URL(), true) },
			Doomed: doomed, Kill: server.Kill, Revive: server.Restart,
			Patience: 10 * time.Minute,
		}
	})
}

// doomed connects through a relay.
func doomed(ctx context.Context) (workqueue.Queues, func(), error) {
	relay, err := brokertest.NewRelay(ctx, server.Address())
	if err != nil {
		return nil, nil, err
	}
	at, err := url.Parse(server.URL())
	if err != nil {
		return nil, nil, err
	}
	at.Host = relay.Address()
	b, err := queues(ctx, at.String(), false)
	if err != nil {
		relay.Cut()
		return nil, nil, err
	}
	return b, sync.OnceFunc(relay.Cut), nil
}

// queues connects as a service does; queues of a hasty one need not survive the server.
func queues(ctx context.Context, url string, hasty bool) (workqueue.Queues, error) {
	b, err := driver.Open(ctx, broker.Config{Addresses: []string{url}, Patient: true, Ephemeral: hasty})
	if err != nil {
		return nil, err
	}
	return workqueue.New(b), nil
}
