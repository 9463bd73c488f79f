package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/lab/databases"
	"wirelab/lab/experiment"
	"wirelab/lab/prepare"
	"wirelab/pipeline/gateway"
	"wirelab/pipeline/stack"
	"wirelab/pipeline/trouble"
	"wirelab/queue"
	"wirelab/system/rabbitmq"
)

// noBroker is the --broker of a pipeline without one.
const noBroker = "none"

// upFlags are the flags of "up logging".
type upFlags struct {
	addr, http, grpc, rpc       string
	brokers                     []string
	amqp, nats, hermes, queue   string
	noConfirms, transient       bool
	prefetch                    int
	direct, overHTTP, published bool
	topology                    bool
	origins                     []string
	asJSON                      bool
	database                    databases.Choice
}

func newUpCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "up",
		Short: "Run a whole pipeline of services until Ctrl-C",
		Long: `Up starts services that work together, each in its own process. Ctrl-C stops them
in order.`,
		Example: `  wirelab up messaging --broker hermes --nodes 3
  wirelab up logging
  wirelab up logging --broker none`,
	})
	c.AddCommand(newUpLoggingCommand(a))
	c.AddCommand(newUpMessagingCommand(a))
	return c
}

func newUpLoggingCommand(a *app) *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "logging",
		Short: "Run the log pipeline: gateway, message broker, listener, logger",
		Long: `Logging runs the log pipeline, each part in its own process. It waits until all
parts are ready, and prints their addresses:

  gateway    takes entries over HTTP and passes them on, by the path in the
             address: POST /log-http, /log-grpc, /log-rpc, /log-rabbit,
             /log-nats or /log-hermes. On its page, GET /, you can try each
  broker     RabbitMQ, NATS JetStream or Hermes; it is started here, unless you
             give an address
  listener   takes entries from the queue of the broker and passes them to the
             logger
  logger     stores entries; it is called over HTTP, gRPC and net/rpc

Each part records what happened to each entry (GET /journal), and says whether it
is ready (GET /health). Ctrl-C stops the gateway first and the broker last. If a
part dies, up prints its last output and stops the others. Brokers and databases
that were started here are deleted at the end.

With --published-topology RabbitMQ is used as the published log pipeline uses it,
so that its services and these hear each other: a topic exchange "logs_topic", key
"log.INFO", and a queue for each listener that ends with it. That loses entries:
those sent while no listener is connected, those in the queue when a listener or
RabbitMQ ends, and those that a listener has taken and not yet handed on when it
is killed. The gateway replies before RabbitMQ has confirmed anything. Each
listener gets each entry.

Put addresses with passwords into the environment, because other users of this
machine can see flags: $` + prepare.AmqpVariable + `, $` + prepare.NatsVariable + `,
$` + prepare.HermesVariable + `, $` + experiment.DatabaseVariable + `.`,
		Example: `  wirelab up logging --addr 127.0.0.1:8080
  wirelab up logging --broker none --db embedded
  wirelab up logging --broker rabbitmq,nats,hermes --direct
  wirelab up logging --broker rabbitmq --queue classic --no-confirms --transient
  wirelab up logging --broker rabbitmq --published-topology
  ` + prepare.AmqpVariable + `=amqp://me:secret@10.0.0.7:5672/ wirelab up logging
  curl --json '{"log":{"name":"event","data":"some data"}}' http://127.0.0.1:8080/log-grpc`,
		Args: cli.Arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return a.upLogging(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "`host:port` of the gateway; port 0 is any free one")
	flags.StringVar(&f.http, "logger-http", "127.0.0.1:0", "`host:port` of the logger's HTTP")
	flags.StringVar(&f.grpc, "logger-grpc", "127.0.0.1:0", "`host:port` of the logger's gRPC")
	flags.StringVar(&f.rpc, "logger-rpc", "127.0.0.1:0", "`host:port` of the logger's net/rpc")
	flags.StringSliceVar(&f.brokers, "broker", nil, "message `broker`: rabbitmq, nats, hermes, several separated by commas, or none (default rabbitmq, if it is installed)")
	flags.StringVar(&f.amqp, "amqp", "", "`URL` of a running RabbitMQ (default $"+prepare.AmqpVariable+", else one is started)")
	flags.StringVar(&f.nats, "nats", "", "`URL` of a running NATS server with JetStream (default $"+prepare.NatsVariable+", else one is started)")
	flags.StringVar(&f.hermes, "hermes", "", "`URL` of a running Hermes, hermes://host:9090; several nodes separated by commas (default $"+prepare.HermesVariable+", else one is started)")
	flags.StringVar(&f.queue, "queue", "", "`kind` of RabbitMQ's queue: quorum or classic (default quorum)")
	flags.BoolVar(&f.noConfirms, "no-confirms", false, "let the gateway reply before the broker has confirmed the entry; a lost entry is then not noticed")
	flags.BoolVar(&f.transient, "transient", false, "let the broker keep entries in memory, if its queue can")
	flags.IntVar(&f.prefetch, "prefetch", 0, "`entries` that a listener holds at once (default 512)")
	flags.BoolVar(&f.direct, "direct", false, "add a listener that stores entries itself, and its path: POST /log-rabbit-direct, /log-nats-direct and so on")
	flags.BoolVar(&f.overHTTP, "listener-http", false, "let the listener call the logger over HTTP instead of gRPC")
	flags.BoolVar(&f.published, "published", false, "add paths that do what the published client did: POST /log-http-published and so on")
	flags.BoolVar(&f.topology, "published-topology", false, topologyHelp)
	flags.StringArrayVar(&f.origins, "allow-origin", nil, "`origin` whose pages may call the gateway, such as http://localhost; may be given several times")
	flags.BoolVar(&f.asJSON, "json", false, "print what runs as JSON, for programs")
	registerDatabase(&f.database, flags)
	return c
}

// upLogging runs the pipeline until ctx ends, which is no error, or a part dies.
func (a *app) upLogging(ctx context.Context, f upFlags) error {
	o, err := a.pipeline(ctx, f)
	if err != nil {
		return err
	}
	s, err := stack.Start(ctx, o)
	if err != nil {
		if ctx.Err() != nil { // err tells of a part that did not come up
			return ctx.Err()
		}
		return err
	}
	if err := a.sayUp(s, f); err != nil {
		return cli.Both(err, s.Stop(context.WithoutCancel(ctx)))
	}
	a.Idle(ctx, "stopping the log pipeline")
	var died error
	select {
	case death := <-s.Died():
		died = cli.With(exitFailed, fmt.Errorf("%w; the others are stopped", death.Err))
	case <-ctx.Done():
		a.Note("stopping")
	}
	stopped := s.Stop(context.WithoutCancel(ctx))
	if died != nil {
		return died // how the others took it is of no more interest
	}
	return stopped
}

// pipeline is what the flags ask for; it sees to it that the database is there.
func (a *app) pipeline(ctx context.Context, f upFlags) (stack.Options, error) {
	o := stack.Options{
		Published: f.published, Origins: f.origins, Getenv: a.Getenv, Stderr: &trouble.Together{To: a.Stderr},
		Listen: map[string]map[string]string{
			stack.GatewayPart: {stack.DoorHTTP: f.addr},
			stack.LoggerPart:  {stack.DoorHTTP: f.http, stack.DoorGRPC: f.grpc, stack.DoorRPC: f.rpc},
		},
		Say: func(p stack.Part) { a.Note("%s is up%s", p.Name, about(p)) },
	}
	if _, err := gateway.New(gateway.Options{Origins: f.origins}); err != nil {
		return o, cli.Usage("--allow-origin: %s; want one such as http://localhost", describe(err))
	}
	var err error
	if len(f.brokers) == 0 {
		if f.brokers, err = a.usualBroker(ctx, f, &o); err != nil {
			return o, err
		}
	}
	if o.Brokers, err = a.brokers(f); err != nil {
		return o, err
	}
	for flag, address := range map[string]string{"--addr": f.addr, "--logger-http": f.http, "--logger-grpc": f.grpc, "--logger-rpc": f.rpc} {
		if err := free(ctx, flag, address); err != nil {
			return o, err
		}
	}
	if o.Program, err = experiment.Program(); err != nil {
		return o, err
	}
	o.Database, err = a.Databases.For(ctx, a.Catalog, "logging", f.database, false)
	if err != nil {
		return o, err
	}
	if f.direct && o.Database.Kind == "" {
		return o, cli.Usage("--direct: a listener cannot store in the logger's memory; give --db postgres or embedded")
	}
	return o, nil
}

// free sees to it before anything is started that an address can be listened on.
func free(ctx context.Context, flag, address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return cli.Usage("%s %.100q is not host:port, such as 127.0.0.1:8080", flag, address)
	}
	at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fault.Listen(address, flag, err)
	}
	return at.Close()
}

// usualBroker is RabbitMQ, or none where that was not asked for by name and is
// not there: the rest is of use without, and says why the path leads nowhere.
func (a *app) usualBroker(ctx context.Context, f upFlags, o *stack.Options) ([]string, error) {
	if a.either(f.amqp, prepare.AmqpVariable) != "" {
		return []string{stack.RabbitMQ}, nil
	}
	_, err := rabbitmq.Find(ctx, a.Getenv)
	switch {
	case err == nil:
		return []string{stack.RabbitMQ}, nil
	case wirelab.CodeOf(err) != wirelab.NotFound || f.direct || f.topology || f.queue != "":
		return nil, err
	}
	a.Note("no RabbitMQ: %s; this pipeline comes up without a broker. NATS needs nothing to be installed: --broker nats", describe(err))
	o.Absent = map[string]string{stack.PathName(stack.RabbitMQ, false): describe(err)}
	return []string{noBroker}, nil
}

// brokers are the message brokers that the flags ask for.
func (a *app) brokers(f upFlags) ([]stack.Broker, error) {
	names := f.brokers
	if slices.Contains(names, noBroker) {
		switch {
		case len(names) > 1:
			return nil, cli.Usage("--broker %s: none is without others", strings.Join(names, ","))
		case f.topology:
			return nil, cli.Usage("--published-topology is RabbitMQ's, and --broker none is without it")
		case f.direct:
			return nil, cli.Usage("--direct is a listener, and without a broker there is nothing to listen to")
		}
		return nil, nil
	}
	urls := map[string]string{}
	for kind, given := range map[string]struct{ flag, url string }{
		stack.RabbitMQ: {"amqp", f.amqp}, stack.NATSServer: {"nats", f.nats}, stack.Hermes: {"hermes", f.hermes},
	} {
		urls[kind] = a.either(given.url, prepare.BrokerVariables()[kind])
		if given.url != "" && !slices.Contains(names, kind) {
			return nil, cli.Usage("--%s is the address of a broker that --broker %s does not ask for", given.flag, strings.Join(names, ","))
		}
	}
	if err := f.checkTopology(); err != nil {
		return nil, err
	}
	var all []stack.Broker
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, cli.Usage("--broker names %s twice", name)
		}
		if _, known := urls[name]; !known {
			return nil, wirelab.UnknownName("broker", name, append(stack.Brokers(), noBroker))
		}
		b := stack.Broker{Kind: name, URL: urls[name], Direct: f.direct, OverHTTP: f.overHTTP, Queue: queue.Options{
			Name: stack.QueueName, Confirms: !f.noConfirms, Persistent: !f.transient, Prefetch: f.prefetch,
		}}
		if name == stack.RabbitMQ {
			b.Queue.Kind, b.PublishedTopology = queue.Kind(f.queue), f.topology
		} else if f.queue != "" && !slices.Contains(names, stack.RabbitMQ) {
			return nil, cli.Usage("--queue needs --broker rabbitmq; NATS JetStream and Hermes have one kind each")
		}
		if err := checkQueue(b.Queue); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// checkQueue tells what is wrong with the queue's flags in their words.
func checkQueue(o queue.Options) error {
	if o.Kind != "" && o.Kind != queue.Quorum && o.Kind != queue.Classic {
		return wirelab.UnknownName("queue", string(o.Kind), []string{string(queue.Quorum), string(queue.Classic)})
	}
	if err := o.Complete().Validate(); err != nil {
		return cli.Usage("%s", describe(err))
	}
	return nil
}

// either is a flag's value, or else that of the environment.
func (a *app) either(flag, variable string) string {
	if flag != "" {
		return flag
	}
	return a.Getenv(variable)
}

// about is what is behind a part, for the end of a line.
func about(p stack.Part) string {
	if p.About == "" {
		return ""
	}
	return ": " + p.About
}

// upStatus is what runs, as --json prints it.
type upStatus struct {
	Gateway string       `json:"gateway"` // URL
	Paths   []string     `json:"paths"`   // URLs of POST
	Parts   []stack.Part `json:"parts"`
}

// sayUp prints what runs and where.
func (a *app) sayUp(s *stack.Stack, f upFlags) error {
	parts := s.Parts()
	status := upStatus{Gateway: "http://" + cli.Reachable(parts[len(parts)-1].Doors[stack.DoorHTTP]), Parts: parts}
	for _, name := range s.Paths() {
		status.Paths = append(status.Paths, status.Gateway+"/"+name)
	}
	if f.asJSON {
		err := a.PrintJSON(status)
		a.Note("all is up; stop with Ctrl-C")
		return err
	}
	rows := [][]string{{"part", "process", "API", "address"}}
	for _, p := range parts {
		first := []string{p.Name, fmt.Sprint(p.PID)}
		for _, door := range slices.Sorted(maps.Keys(p.Doors)) {
			rows = append(rows, append(first, door, p.Doors[door]))
			first = []string{"", ""}
		}
	}
	if err := a.PrintTable(rows); err != nil {
		return err
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	for _, path := range status.Paths {
		if err := a.Printf("POST %s\n", path); err != nil {
			return err
		}
	}
	a.Note("try: curl --json '{\"log\":{\"name\":\"event\",\"data\":\"some data\"}}' %s", status.Paths[0])
	for _, p := range parts {
		if p.Name == stack.LoggerPart {
			a.Note("     wirelab call logging.ListEntries --request '{}' --protocol grpc --target %s", cli.Reachable(p.Doors[stack.DoorGRPC]))
		}
	}
	a.Note("a page to try each path: %s/; stop with Ctrl-C", status.Gateway)
	return nil
}
