// Package drivers lists the drivers for message brokers: each has a protocol, the kind of broker that speaks it,
// and a function that connects. It is only a list: it starts no broker, and knows neither the messages nor its
// callers.
package drivers

import (
	"context"
	"slices"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/hermes"
	"wirelab/broker/jetstream"
	"wirelab/broker/kafka"
	"wirelab/broker/kinds"
	"wirelab/broker/rabbitmq"
	"wirelab/broker/workqueue"
)

// The kinds of brokers.
const (
	Hermes   = kinds.Hermes
	NATS     = kinds.NATS
	RabbitMQ = kinds.RabbitMQ
	Kafka    = "kafka"
)

// Started returns the names of the kinds that we start clusters of. Kafka is not among them, because it needs Java.
func Started() []string {
	names := kinds.Names()
	slices.Sort(names)
	return names
}

// Driver speaks a protocol to a kind of broker.
type Driver struct {
	Protocol wirelab.Protocol
	Kind     string
	Client   string // library
	// Calls reports whether each send waits for its acknowledgement, so that the number of concurrent sends is the
	// number in flight.
	Calls bool
	// Check validates a variant and durability before anything connects.
	Check func(broker.Config) error
	Open  func(ctx context.Context, c broker.Config) (broker.Broker, error)
}

// All returns all drivers, grouped by kind.
func All() []Driver {
	return []Driver{
		hermesDriver("hermes-grpc", "HTTP/2", "gRPC", "Protocol Buffers", "grpc-go", hermes.GRPC),
		hermesDriver("hermes-grpc-stream", "HTTP/2", "gRPC stream", "Protocol Buffers", "hermes client", hermes.Stream),
		hermesDriver("hermes-rest", "HTTP/1.1", "HTTP", "JSON", "net/http", hermes.REST),
		hermesDriver("hermes-graphql", "HTTP/1.1", "GraphQL", "JSON", "net/http", hermes.GraphQL),
		hermesDriver("hermes-all", "HTTP/2, HTTP/1.1", "gRPC, HTTP and GraphQL in turns",
			"Protocol Buffers, JSON", "grpc-go, net/http", hermes.All),
		{
			Protocol: protocol("nats-jetstream", "TCP", "NATS", "bytes", true),
			Kind:     NATS, Client: "nats.go", Check: jetstream.Check,
			Open: func(ctx context.Context, c broker.Config) (broker.Broker, error) {
				return opened(jetstream.Open(ctx, c))
			},
		},
		{
			Protocol: protocol("rabbitmq", "TCP", "AMQP 0-9-1", "bytes", true),
			Kind:     RabbitMQ, Client: "amqp091-go", Check: rabbitmq.Check,
			Open: func(ctx context.Context, c broker.Config) (broker.Broker, error) {
				return opened(rabbitmq.Open(ctx, c))
			},
		},
		{
			Protocol: protocol("kafka", "TCP", "Kafka", "bytes", true), Kind: Kafka, Client: "franz-go",
			Check: kafka.Check,
			Open: func(ctx context.Context, c broker.Config) (broker.Broker, error) {
				return opened(kafka.Open(ctx, c))
			},
		},
	}
}

// opened prevents a nil *B from becoming a non-nil interface when an open failed.
func opened[B broker.Broker](b B, err error) (broker.Broker, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}

func hermesDriver(name, transport, framing, encoding, client string, api hermes.API) Driver {
	return Driver{
		Protocol: protocol(name, transport, framing, encoding, api == hermes.Stream || api == hermes.GRPC),
		Kind:     Hermes, Client: client, Calls: api != hermes.Stream, Check: hermes.Check,
		Open: func(ctx context.Context, c broker.Config) (broker.Broker, error) {
			return opened(hermes.Open(ctx, c, api))
		},
	}
}

// protocol returns a protocol that no server of a cell speaks, since a cluster does.
func protocol(name, transport, framing, encoding string, multiplexed bool) wirelab.Protocol {
	return wirelab.Protocol{
		Name: name, Transport: transport, Framing: framing, Encoding: encoding,
		Network: "tcp", Multiplexed: multiplexed, Pipeline: true,
	}
}

// Find returns the driver of the protocol with that name.
func Find(protocol string) (Driver, error) {
	var known []string
	for _, w := range All() {
		if w.Protocol.Name == protocol {
			return w, nil
		}
		known = append(known, w.Protocol.Name)
	}
	return Driver{}, wirelab.UnknownName("protocol of messaging", protocol, known)
}

// Open connects to a broker by the name of its protocol.
func Open(ctx context.Context, protocol string, c broker.Config) (broker.Broker, error) {
	w, err := Find(protocol)
	if err != nil {
		return nil, err
	}
	return w.Open(ctx, c)
}

// Queues connects to a broker of a kind by its URL, and returns its work queues, as a service needs them.
func Queues(ctx context.Context, kind, url string) (workqueue.Queues, error) {
	c := broker.Config{Addresses: []string{url}, Patient: true}
	open := map[string]func() (broker.Broker, error){
		RabbitMQ: func() (broker.Broker, error) { return opened(rabbitmq.Open(ctx, c)) },
		NATS:     func() (broker.Broker, error) { return opened(jetstream.Open(ctx, c)) },
		Hermes:   func() (broker.Broker, error) { return opened(hermes.Open(ctx, c, hermes.Stream)) },
	}[kind]
	if open == nil {
		return nil, wirelab.UnknownName("broker", kind, kinds.Names())
	}
	b, err := open()
	if err != nil {
		return nil, err
	}
	return workqueue.New(b), nil
}
