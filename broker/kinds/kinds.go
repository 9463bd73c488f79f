// Package kinds lists the kinds of message brokers that wirelab starts, with what commands and reports need of
// each: its names, the environment variable with the address of a running one, and its kinds of queues. It is only
// a list: it talks to no broker.
package kinds

import (
	"slices"

	"wirelab"
	"wirelab/broker"
)

// The kinds.
const (
	RabbitMQ = "rabbitmq"
	NATS     = "nats"
	Hermes   = "hermes"
)

// The environment variables with the addresses of message brokers. An address may contain a password, which other
// users could see on a command line.
const (
	AMQPVariable   = "WIRELAB_AMQP_URL"
	NATSVariable   = "WIRELAB_NATS_URL"
	HermesVariable = "WIRELAB_HERMES_URL"
)

// Kind is a kind of broker.
type Kind struct {
	Name     string // as typed in commands
	Product  string // as shown in reports
	Path     string // of the pipeline's paths to it, behind "log-"
	Variable string // of the environment; has the URL of a broker that runs elsewhere
	// Queues are the kinds of its queues, the default first.
	Queues []broker.Kind
}

// All returns the kinds, in the order in which the pipeline's paths are shown.
func All() []Kind {
	return []Kind{
		{RabbitMQ, "RabbitMQ", "rabbit", AMQPVariable, []broker.Kind{broker.Quorum, broker.Classic}},
		{NATS, "NATS JetStream", "nats", NATSVariable, []broker.Kind{broker.Stream}},
		{Hermes, "Hermes", "hermes", HermesVariable, []broker.Kind{broker.Quorum}},
	}
}

// Names returns the names of all kinds.
func Names() (names []string) {
	for _, k := range All() {
		names = append(names, k.Name)
	}
	return names
}

// Find returns the kind with that name.
func Find(name string) (Kind, error) {
	all := All()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Kind{}, wirelab.UnknownName("broker", name, Names())
}
