package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wirelab/broker/kinds"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/experiment"
	"wirelab/lab/prepare"
	"wirelab/pipeline/stack"
)

// upFlags are the flags of "up logging".
type upFlags struct {
	prepare.Pipeline
	asJSON bool
}

func newUpCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "up",
		Short: "Run a whole pipeline of services until Ctrl-C",
		Long: `Up starts services that work together, each in its own process. Ctrl-C stops them
in order.`,
		Example: desk.HelpText("up.examples"),
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
		Long: desk.HelpText("up-logging") + kinds.AMQPVariable + `, $` + kinds.NATSVariable + `,
$` + kinds.HermesVariable + `, $` + experiment.DatabaseVariable + `.`,
		Example: desk.HelpText("up-logging.examples") + kinds.AMQPVariable +
			`=amqp://me:secret@10.0.0.7:5672/ wirelab up logging
  curl --json '{"log":{"name":"event","data":"some data"}}' http://127.0.0.1:8080/log-grpc`,
		Args: cli.Arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error { return a.upLogging(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.Addr, "addr", "127.0.0.1:0", "`host:port` of the gateway; port 0 is any free one")
	flags.StringVar(&f.HTTP, "logger-http", "127.0.0.1:0", "`host:port` of the logger's HTTP")
	flags.StringVar(&f.GRPC, "logger-grpc", "127.0.0.1:0", "`host:port` of the logger's gRPC")
	flags.StringVar(&f.RPC, "logger-rpc", "127.0.0.1:0", "`host:port` of the logger's net/rpc")
	flags.StringSliceVar(&f.Brokers, "broker", nil,
		"message `broker`: "+strings.Join(stack.Brokers(),
			", ")+", several separated by commas, or none (default rabbitmq, if it is installed)")
	flags.StringVar(&f.AMQP, "amqp", "",
		"`URL` of a running RabbitMQ (default $"+kinds.AMQPVariable+", else one is started)")
	flags.StringVar(&f.Nats, "nats", "",
		"`URL` of a running NATS server with JetStream (default $"+kinds.NATSVariable+", else one is started)")
	flags.StringVar(&f.Hermes, "hermes", "",
		"`URL` of a running Hermes, hermes://host:9090; several nodes separated by commas "+
			"(default $"+kinds.HermesVariable+", else one is started)")
	flags.StringVar(&f.Queue, "queue", "", "`kind` of RabbitMQ's queue: quorum or classic (default quorum)")
	flags.BoolVar(&f.NoConfirms, "no-confirms", false,
		"let the gateway reply before the broker has confirmed the entry; a lost entry is then not noticed")
	flags.BoolVar(&f.Transient, "transient", false, "let the broker keep entries in memory, if its queue can")
	flags.IntVar(&f.Prefetch, "prefetch", 0, "`entries` that a listener holds at once (default 512)")
	flags.BoolVar(&f.Direct, "direct", false,
		"add a listener that stores entries itself, and its path: POST /log-rabbit-direct, /log-nats-direct and so on")
	flags.BoolVar(&f.OverHTTP, "listener-http", false, "let the listener call the logger over HTTP instead of gRPC")
	flags.BoolVar(&f.Published, "published", false,
		"add paths that do what the published client did: POST /log-http-published and so on")
	flags.BoolVar(&f.Topology, "published-topology", false, topologyHelp)
	flags.StringArrayVar(&f.Origins, "allow-origin", nil,
		"`origin` whose pages may call the gateway, such as http://localhost; may be given several times")
	flags.BoolVar(&f.asJSON, "json", false, "print what runs as JSON, for programs")
	desk.RegisterDatabase(&f.Database, flags)
	return c
}

// upLogging runs the pipeline until ctx ends, which is no error, or until a part dies.
func (a *app) upLogging(ctx context.Context, f upFlags) error {
	o, err := f.Options(ctx, &a.Lab, a.Stderr)
	if err != nil {
		return err
	}
	s, err := stack.Start(ctx, o)
	if err != nil {
		if ctx.Err() != nil { // err reports a part that did not start
			return ctx.Err()
		}
		return err
	}
	if err := a.sayUp(s, f); err != nil {
		return fault.Both(err, s.Stop(context.WithoutCancel(ctx)))
	}
	a.Idle(ctx, "stopping the log pipeline")
	var died error
	select {
	case death := <-s.Died():
		died = cli.With(desk.ExitFailed, fmt.Errorf("%w; the others are stopped", death.Err))
	case <-ctx.Done():
		a.Note("stopping")
	}
	stopped := s.Stop(context.WithoutCancel(ctx))
	if died != nil {
		return died // how the others ended does not matter
	}
	return stopped
}

// upStatus describes the running pipeline, as --json prints it.
type upStatus struct {
	Gateway string       `json:"gateway"` // URL
	Paths   []string     `json:"paths"`   // URLs of POST
	Parts   []stack.Part `json:"parts"`
}

// sayUp prints the parts and their addresses.
func (a *app) sayUp(s *stack.Stack, f upFlags) error {
	parts := s.Parts()
	status := upStatus{Gateway: "http://" + cli.Reachable(parts[len(parts)-1].Endpoints[stack.EndpointHTTP]), Parts: parts}
	for _, name := range s.Paths() {
		status.Paths = append(status.Paths, status.Gateway+"/"+name)
	}
	if f.asJSON {
		err := a.PrintJSON(status)
		a.Note("all is up; stop with Ctrl-C")
		return err
	}
	if err := a.PrintTable(partRows(parts)); err != nil {
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
			a.Note("     wirelab call logging.ListEntries --request '{}' --protocol grpc --target %s",
				cli.Reachable(p.Endpoints[stack.EndpointGRPC]))
		}
	}
	a.Note("a page to try each path: %s/; stop with Ctrl-C", status.Gateway)
	return nil
}

// partRows returns a table of parts, with their addresses.
func partRows(parts []stack.Part) [][]string {
	rows := [][]string{{"part", "process", "API", "address"}}
	for _, p := range parts {
		first := []string{p.Name, fmt.Sprint(p.PID)}
		for _, endpoint := range slices.Sorted(maps.Keys(p.Endpoints)) {
			rows = append(rows, append(first, endpoint, p.Endpoints[endpoint]))
			first = []string{"", ""}
		}
	}
	return rows
}
