// Package kinds lists the kinds of message brokers that wirelab starts, with what commands
// and reports need to know of each: its names, the environment variable that has the address
// of a running one, how it keeps a queue. It is a list: it speaks to none of them.
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

// The environment variables that say where message brokers are: an address of
// one may hold a password, which others see on a command line.
const (
	AMQPVariable   = "WIRELAB_AMQP_URL"
	NATSVariable   = "WIRELAB_NATS_URL"
	HermesVariable = "WIRELAB_HERMES_URL"
)

// Kind is a kind of brokers.
type Kind struct {
	Name     string // as it is typed
	Product  string // as it is written
	Path     string // of the pipeline's paths to it, behind "log-"
	Variable string // of the environment, which has the URL of one that runs elsewhere
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

// Names are the names of all.
func Names() (names []string) {
	for _, k := range All() {
		names = append(names, k.Name)
	}
	return names
}

// Find returns the kind of a name.
func Find(name string) (Kind, error) {
	all := All()
	if i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Kind{}, wirelab.UnknownName("broker", name, Names())
}
