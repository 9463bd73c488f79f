// Package ways lists the ways to speak to message brokers: each a protocol, the make
// of broker that it is of, and what connects to it. It is a list: it starts no broker,
// and knows neither what is sent nor who asks.
package ways

import (
	"context"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/hermes"
	"wirelab/broker/jetstream"
	"wirelab/broker/kafka"
	"wirelab/broker/rabbitmq"
)

// The makes of brokers.
const (
	Hermes   = "hermes"
	NATS     = "nats"
	RabbitMQ = "rabbitmq"
	Kafka    = "kafka"
)

// Started are the makes of which clusters are started here: Kafka, which runs on Java,
// is not among them.
func Started() []string { return []string{Hermes, NATS, RabbitMQ} }

// Way is a way to speak to a broker.
type Way struct {
	Protocol wirelab.Protocol
	Make     string
	Client   string // library
	// Calls is whether each send waits for its acknowledgement, so that as many are
	// made as are to be under way.
	Calls bool
	// Check tells what is wrong with a reach's variant and durability, before anybody connects.
	Check func(broker.Config) error
	Open  func(ctx context.Context, c broker.Config) (broker.Broker, error)
}

// All returns all ways, those of one make together.
func All() []Way {
	return []Way{
		hermesWay("hermes-grpc", "HTTP/2", "gRPC", "Protocol Buffers", "grpc-go", hermes.GRPC),
		hermesWay("hermes-grpc-stream", "HTTP/2", "gRPC stream", "Protocol Buffers", "hermes client", hermes.Stream),
		hermesWay("hermes-rest", "HTTP/1.1", "HTTP", "JSON", "net/http", hermes.REST),
		hermesWay("hermes-graphql", "HTTP/1.1", "GraphQL", "JSON", "net/http", hermes.GraphQL),
		hermesWay("hermes-all", "HTTP/2, HTTP/1.1", "gRPC, HTTP and GraphQL in turns", "Protocol Buffers, JSON", "grpc-go, net/http", hermes.All),
		{
			Protocol: protocol("nats-jetstream", "TCP", "NATS", "bytes", true), Make: NATS, Client: "nats.go", Check: jetstream.Check,
			Open: func(ctx context.Context, c broker.Config) (broker.Broker, error) {
				return opened(jetstream.Open(ctx, c))
			},
		},
		{
			Protocol: protocol("rabbitmq", "TCP", "AMQP 0-9-1", "bytes", true), Make: RabbitMQ, Client: "amqp091-go", Check: rabbitmq.Check,
			Open: func(ctx context.Context, c broker.Config) (broker.Broker, error) {
				return opened(rabbitmq.Open(ctx, c))
			},
		},
		{
			Protocol: protocol("kafka", "TCP", "Kafka", "bytes", true), Make: Kafka, Client: "franz-go", Check: kafka.Check,
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

func hermesWay(name, transport, framing, encoding, client string, way hermes.Way) Way {
	return Way{
		Protocol: protocol(name, transport, framing, encoding, way == hermes.Stream || way == hermes.GRPC),
		Make:     Hermes, Client: client, Calls: way != hermes.Stream, Check: hermes.Check,
		Open: func(ctx context.Context, c broker.Config) (broker.Broker, error) {
			return opened(hermes.Open(ctx, c, way))
		},
	}
}

// protocol is one that no server of a cell speaks, since a cluster does.
func protocol(name, transport, framing, encoding string, multiplexed bool) wirelab.Protocol {
	return wirelab.Protocol{
		Name: name, Transport: transport, Framing: framing, Encoding: encoding, Network: "tcp", Multiplexed: multiplexed, Pipeline: true,
	}
}

// Find returns the way of a protocol's name.
func Find(protocol string) (Way, error) {
	var known []string
	for _, w := range All() {
		if w.Protocol.Name == protocol {
			return w, nil
		}
		known = append(known, w.Protocol.Name)
	}
	return Way{}, wirelab.UnknownName("protocol of messaging", protocol, known)
}

// Open connects to a broker by a protocol's name.
func Open(ctx context.Context, protocol string, c broker.Config) (broker.Broker, error) {
	w, err := Find(protocol)
	if err != nil {
		return nil, err
	}
	return w.Open(ctx, c)
}
