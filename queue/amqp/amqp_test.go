package amqp_test

import (
	"context"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"wirelab/queue"
	"wirelab/queue/amqp"
	"wirelab/queue/queuetest"
	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// server is the RabbitMQ of these tests.
var server *rabbitmq.Server

func TestMain(m *testing.M) {
	os.Exit(rabbitmqtest.Main(m, func(s *rabbitmq.Server) { server = s }))
}

// The contract, with RabbitMQ killed and started again (ms-D04, ms-D05, ms-D06, ms-D07).
func TestContract(t *testing.T) {
	kinds := []queue.Kind{queue.Quorum, queue.Classic}
	if testing.Short() {
		kinds = kinds[:1] // a RabbitMQ takes seconds to start, and each kind has it start three times
	}
	queuetest.Run(t, func(*testing.T) *queuetest.Server {
		return &queuetest.Server{
			Kinds: kinds,
			Open: func(ctx context.Context) (queue.Broker, error) {
				return amqp.Open(ctx, server.URL())
			},
			Hasty: func(ctx context.Context) (queue.Broker, error) {
				b, err := amqp.Open(ctx, server.URL())
				if err != nil {
					return nil, err // as it is: an interface of a nil pointer is not nil
				}
				return b.AtOnce(), nil
			},
			Doomed: doomed, Kill: server.Kill, Revive: server.Restart,
			Patience: 10 * time.Minute,
		}
	})
}

// doomed connects through a relay.
func doomed(ctx context.Context) (queue.Broker, func(), error) {
	relay, err := queuetest.NewRelay(ctx, server.Address())
	if err != nil {
		return nil, nil, err
	}
	at, err := url.Parse(server.URL())
	if err != nil {
		return nil, nil, err
	}
	at.Host = relay.Address()
	b, err := amqp.Open(ctx, at.String())
	if err != nil {
		relay.Cut()
		return nil, nil, err
	}
	return b, sync.OnceFunc(relay.Cut), nil
}
