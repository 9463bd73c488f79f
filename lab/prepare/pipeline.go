package prepare

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"

	"wirelab"
	"wirelab/broker/kinds"
	"wirelab/broker/workqueue"
	"wirelab/internal/fault"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/pipeline/errlog"
	"wirelab/pipeline/gateway"
	"wirelab/pipeline/stack"
	"wirelab/system/rabbitmq"
)

// checkTopology returns an error if --published-topology is combined with a flag that it excludes.
func (f *Pipeline) checkTopology() error {
	switch {
	case !f.Topology:
		return nil
	case !slices.Contains(f.Brokers, stack.RabbitMQ):
		return wirelab.Errorf(wirelab.InvalidArgument,
			"--published-topology is a topology of RabbitMQ, but --broker %s does not include it", strings.Join(f.Brokers, ","))
	case f.Direct:
		return wirelab.Errorf(wirelab.InvalidArgument,
			"--published-topology with --direct: each listener gets each entry, and two would store it twice; leave "+
				"one of them out")
	case f.Queue != "":
		return wirelab.Errorf(wirelab.InvalidArgument,
			"--published-topology has a separate queue for each listener; leave --queue out")
	}
	return nil
}

// noBroker is the value of --broker for a pipeline without one.
const noBroker = "none"

// Pipeline has the settings of a pipeline. Each field is a flag.
type Pipeline struct {
	Addr, HTTP, GRPC, RPC       string
	Brokers                     []string
	AMQP, Nats, Hermes, Queue   string
	NoConfirms, Transient       bool
	Prefetch                    int
	Direct, OverHTTP, Published bool
	Topology                    bool
	Origins                     []string
	Database                    databases.Choice
}

// Options turns the flags into options. It also makes sure that the database is available.
func (f *Pipeline) Options(ctx context.Context, l *Lab, errs io.Writer) (stack.Options, error) {
	o := stack.Options{
		Published: f.Published, Origins: f.Origins, Getenv: l.Getenv, Stderr: &errlog.Together{To: errs},
		Listen: map[string]map[string]string{
			stack.GatewayPart: {stack.EndpointHTTP: f.Addr},
			stack.LoggerPart:  {stack.EndpointHTTP: f.HTTP, stack.EndpointGRPC: f.GRPC, stack.EndpointRPC: f.RPC},
		},
		Say: func(p stack.Part) { l.Tell.Note("%s is up%s", p.Name, about(p)) },
	}
	if _, err := gateway.New(gateway.Options{Origins: f.Origins}); err != nil {
		return o, wirelab.Errorf(wirelab.InvalidArgument, "--allow-origin: %s; want one such as http://localhost",
			fault.Describe(err))
	}
	var err error
	if len(f.Brokers) == 0 {
		if f.Brokers, err = f.usualBroker(ctx, l, &o); err != nil {
			return o, err
		}
	}
	if o.Brokers, err = f.kinds(l); err != nil {
		return o, err
	}
	for flag, address := range map[string]string{
		"--addr": f.Addr, "--logger-http": f.HTTP, "--logger-grpc": f.GRPC,
		"--logger-rpc": f.RPC,
	} {
		if err := free(ctx, flag, address); err != nil {
			return o, err
		}
	}
	if o.Program, err = experiment.Program(); err != nil {
		return o, err
	}
	o.Database, err = l.Databases.For(ctx, l.Catalog, "logging", f.Database, false)
	if err != nil {
		return o, err
	}
	if f.Direct && o.Database.Kind == "" {
		return o, wirelab.Errorf(wirelab.InvalidArgument,
			"--direct: a listener cannot store in the logger's memory; give --db postgres or embedded")
	}
	return o, nil
}

// free checks before anything is started that an address can be listened on.
func free(ctx context.Context, flag, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s %.100q is not host:port, such as 127.0.0.1:8080", flag,
			address)
	}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fault.Listen(address, flag, err)
	}
	return at.Close()
}

// usualBroker is RabbitMQ. If no flag requires it and it is not installed, there is no broker: the rest of the
// pipeline is useful without one, and its RabbitMQ path reports why it is missing.
func (f *Pipeline) usualBroker(ctx context.Context, l *Lab, o *stack.Options) ([]string, error) {
	if either(l, f.AMQP, kinds.AMQPVariable) != "" {
		return []string{stack.RabbitMQ}, nil
	}
	_, err := rabbitmq.Find(ctx, l.Getenv)
	switch {
	case err == nil:
		return []string{stack.RabbitMQ}, nil
	case wirelab.CodeOf(err) != wirelab.NotFound || f.Direct || f.Topology || f.Queue != "":
		return nil, err
	}
	l.Tell.Note("no RabbitMQ: %s; this pipeline starts without a broker. NATS needs no installation: "+
		"--broker nats", fault.Describe(err))
	o.Absent = map[string]string{stack.PathName(stack.RabbitMQ, false): fault.Describe(err)}
	return []string{noBroker}, nil
}

// kinds returns the message brokers that the flags select.
func (f *Pipeline) kinds(l *Lab) ([]stack.Broker, error) {
	names := f.Brokers
	if slices.Contains(names, noBroker) {
		switch {
		case len(names) > 1:
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "--broker %s: none cannot be combined with others",
				strings.Join(names, ","))
		case f.Topology:
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--published-topology is a topology of RabbitMQ, but --broker none has no broker")
		case f.Direct:
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--direct is a listener, and without a broker there is nothing to listen to")
		}
		return nil, nil
	}
	urls := map[string]string{}
	for kind, given := range map[string]struct{ flag, url string }{
		stack.RabbitMQ: {"amqp", f.AMQP}, stack.NATSServer: {"nats", f.Nats}, stack.Hermes: {"hermes", f.Hermes},
	} {
		urls[kind] = either(l, given.url, BrokerVariables()[kind])
		if given.url != "" && !slices.Contains(names, kind) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--%s is the address of a broker that --broker %s does not include", given.flag,
				strings.Join(names, ","))
		}
	}
	if err := f.checkTopology(); err != nil {
		return nil, err
	}
	var all []stack.Broker
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "--broker names %s twice", name)
		}
		if _, known := urls[name]; !known {
			return nil, wirelab.UnknownName("broker", name, append(stack.Brokers(), noBroker))
		}
		b := stack.Broker{Kind: name, URL: urls[name], Direct: f.Direct, OverHTTP: f.OverHTTP, Queue: workqueue.Options{
			Name: stack.QueueName, Confirms: !f.NoConfirms, Persistent: !f.Transient, Prefetch: f.Prefetch,
		}}
		if name == stack.RabbitMQ {
			b.Queue.Kind, b.PublishedTopology = workqueue.Kind(f.Queue), f.Topology
		} else if f.Queue != "" && !slices.Contains(names, stack.RabbitMQ) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"--queue needs --broker rabbitmq; NATS JetStream and Hermes have one kind each")
		}
		if err := CheckQueue(b.Queue); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// CheckQueue checks the options of the queue, and words errors like the flags.
func CheckQueue(o workqueue.Options) error {
	if o.Kind != "" && o.Kind != workqueue.Quorum && o.Kind != workqueue.Classic {
		return wirelab.UnknownName("queue", string(o.Kind),
			[]string{string(workqueue.Quorum), string(workqueue.Classic)})
	}
	if err := o.Complete().Validate(); err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s", fault.Describe(err))
	}
	return nil
}

// either is the value of a flag, or else of an environment variable.
func either(l *Lab, flag, variable string) string {
	if flag != "" {
		return flag
	}
	return l.Getenv(variable)
}

// about describes what a component uses, for the end of a line.
func about(p stack.Part) string {
	if p.About == "" {
		return ""
	}
	return ": " + p.About
}
