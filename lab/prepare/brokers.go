package prepare

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/broker/kinds"
	"wirelab/broker/null"
	"wirelab/hermes/local"
	"wirelab/internal/process"
	"wirelab/lab/experiment"
	"wirelab/lab/messaging/bench"
	"wirelab/lab/messaging/cluster"
	"wirelab/lab/plan"
	"wirelab/system/nats"
)

// The hidden commands of children that send and read messages.
const (
	DriveMessages = "drive-messages"
	ReadMessages  = "read-messages"
	NullBroker    = "null-broker"
)

// OpenBroker connects to a broker. A broker that wirelab did not start may need a user and a password. They come from
// the URL in the environment, because a plan, which is shown and stored, must not contain them.
func (l *Lab) OpenBroker(ctx context.Context, protocol string, r broker.Config) (broker.Broker, error) {
	w, err := drivers.Find(protocol)
	if err != nil {
		return nil, err
	}
	variable := VariableOf(w.Kind)
	if at, err := url.Parse(l.Getenv(variable)); variable != "" && err == nil && at.User != nil {
		for i, address := range r.Addresses {
			if !strings.Contains(address, "://") {
				mine := *at
				mine.Host = address
				r.Addresses[i] = mine.String()
			}
		}
	}
	return w.Open(ctx, r)
}

// VariableOf is the environment variable with the URL of a broker that wirelab does not start. It is "" for a kind
// that needs no user.
func VariableOf(broker string) string {
	if broker == kinds.Hermes { // its addresses have no user
		return ""
	}
	kind, err := kinds.Find(broker)
	if err != nil {
		return ""
	}
	return kind.Variable
}

// withBrokers returns the launcher of a plan of messages.
func (l *Lab) withBrokers(ctx context.Context, usual *experiment.Processes, program string,
	p plan.Plan,
) (experiment.Bench, error) {
	var makes []string
	for _, arm := range p.Arms {
		makes = append(makes, bench.Kind(arm))
	}
	programs, err := l.BrokerPrograms(ctx, program, makes...)
	if err != nil {
		return nil, err
	}
	return bench.New(usual, bench.Programs{Driver: []string{DriveMessages}, Spinner: spinner(), Programs: programs},
		p), nil
}

// BrokerPrograms returns the programs of broker nodes. It looks for a program only if makes names its kind.
func (l *Lab) BrokerPrograms(ctx context.Context, program string, makes ...string) (cluster.Programs, error) {
	programs := cluster.Programs{Null: process.Command{Path: program, Args: []string{NullBroker}}}
	if slices.Contains(makes, drivers.Hermes) {
		found, err := local.Find(ctx, l.Getenv)
		if err != nil {
			return programs, err
		}
		programs.Hermes = found.Program
	}
	if slices.Contains(makes, drivers.NATS) {
		found, err := nats.Find(ctx, l.Getenv)
		if err != nil {
			return programs, err
		}
		programs.NATS = found.Program
	}
	return programs, nil
}

// NullBrokers makes launchers whose brokers are null brokers with arguments. The self-test uses it.
func NullBrokers(program string) func(usual *experiment.Processes, p plan.Plan,
	args ...string) (experiment.Bench, error) {
	return func(usual *experiment.Processes, p plan.Plan, args ...string) (experiment.Bench, error) {
		programs := cluster.Programs{Null: process.Command{Path: program, Args: append([]string{NullBroker}, args...)}}
		return bench.Nulls{Bench: bench.New(usual,
			bench.Programs{Driver: []string{DriveMessages}, Spinner: spinner(), Programs: programs}, p)}, nil
	}
}

// spinner has the arguments that make this program keep a core from idling.
func spinner() []string { return []string{"hog", "--idle"} }

// BrokerVariables are the environment variables with the addresses of brokers, by kind of broker.
func BrokerVariables() map[string]string {
	all := map[string]string{}
	for _, k := range kinds.All() {
		all[k.Name] = k.Variable
	}
	return all
}

// Nulls make brokers that speak a protocol but do nothing, by kind. o is read when one is made.
func Nulls(o *null.Options) map[string]func() *null.Server {
	return map[string]func() *null.Server{
		drivers.NATS:     func() *null.Server { return null.NATS(*o) },
		drivers.RabbitMQ: null.AMQP,
	}
}
