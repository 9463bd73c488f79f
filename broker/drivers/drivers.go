// Package drivers lists what speaks to message brokers: each a protocol, the kind of broker
// that speaks it, and what connects to it. It is a list: it starts no broker,
// and knows neither what is sent nor who asks.
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

// Started are the kinds of which clusters are started here, by name: Kafka, which runs on
// Java, is not among them.
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
	// Calls is whether each send waits for its acknowledgement, so that as many are
	// made as are to be under way.
	Calls bool
	// Check tells what is wrong with a variant and durability, before anything connects.
	Check func(broker.Config) error
	Open  func(ctx context.Context, c broker.Config) (broker.Broker, error)
}

// All returns all drivers, those of one kind together.
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

// opened keeps a driver that is not there from becoming a broker that is.
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

// protocol is one that no server of a cell speaks, since a cluster does.
func protocol(name, transport, framing, encoding string, multiplexed bool) wirelab.Protocol {
	return wirelab.Protocol{
		Name: name, Transport: transport, Framing: framing, Encoding: encoding,
		Network: "tcp", Multiplexed: multiplexed, Pipeline: true,
	}
}

// Find returns the driver of a protocol's name.
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

// Open connects to a broker by a protocol's name.
func Open(ctx context.Context, protocol string, c broker.Config) (broker.Broker, error) {
	w, err := Find(protocol)
	if err != nil {
		return nil, err
	}
	return w.Open(ctx, c)
}

// Queues connects to a broker of a kind, by its URL, as a service does that has work queues.
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
