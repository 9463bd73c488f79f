package main

import (
	"context"
	"maps"
	"net"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab"
	"wirelab/broker/drivers"
	"wirelab/broker/null"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/lab/loads"
	"wirelab/lab/messaging/drive"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
)

// driverGC lets the driver's heap grow to five times its live size between collections. Each message is a separate
// allocation, and a pause of the driver would count as the broker's time. The account of sent messages is small by
// comparison.
const driverGC = 400

// newDriveMessagesCommand makes the driver of messages that an experiment starts as a child.
func newDriveMessagesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    prepare.DriveMessages,
		Short:  "Send messages as an experiment's child",
		Hidden: true,
		Args:   cli.Arguments(0, 0, "no arguments"),
		RunE: func(command *cobra.Command, _ []string) error {
			if a.Getenv("GOGC") == "" {
				debug.SetGCPercent(driverGC)
			}
			return drive.Obey(command.Context(),
				drive.Options{Open: a.OpenBroker, Outside: []string{prepare.ReadMessages}}, a.Stdin, a.Stdout)
		},
	}
}

// newReadMessagesCommand makes a reader that a driver starts in order to kill it.
func newReadMessagesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    prepare.ReadMessages,
		Short:  "Read messages as a driver's child",
		Hidden: true,
		Args:   cli.Arguments(0, 0, "no arguments"),
		RunE: func(command *cobra.Command, _ []string) error {
			return drive.Read(command.Context(), a.OpenBroker, a.Stdin, a.Stdout)
		},
	}
}

// newNullBrokerCommand makes the broker that does nothing, with which drivers of messages are measured alone.
func newNullBrokerCommand(a *app) *cobra.Command {
	var o null.Options
	nulls := prepare.Nulls(&o)
	c := &cobra.Command{
		Use:    prepare.NullBroker + " BROKER",
		Short:  "Speak a broker's protocol and do nothing, as an experiment's child",
		Hidden: true,
		Args:   cli.Arguments(1, 1, "a broker"),
		RunE: func(command *cobra.Command, args []string) error {
			server, known := nulls[args[0]]
			if !known {
				return wirelab.UnknownName("null broker", args[0], slices.Sorted(maps.Keys(nulls)))
			}
			if args[0] == drivers.RabbitMQ && o != (null.Options{}) {
				return cli.Usage("--delay and --double are of the null broker of %s only", drivers.NATS)
			}
			if a.Getenv("GOGC") == "" {
				debug.SetGCPercent(driverGC)
			}
			at, err := (&net.ListenConfig{}).Listen(command.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			work := func(ctx context.Context) error { return server().Serve(ctx, at) }
			return agent.Part(command.Context(), prepare.NullBroker, work, control.Ready{Address: at.Addr().String()},
				a.Stdin, a.Stdout)
		},
	}
	c.Flags().DurationVar(&o.Delay, "delay", 0,
		"of NATS: how long after it came a message is acknowledged and delivered")
	c.Flags().Uint64Var(&o.Double, "double", 0, "of NATS: one message in so many is delivered twice")
	return c
}

func registerMessages(f *loads.Messages, flags *pflag.FlagSet, p *plan.Plan) {
	flags.StringSliceVar(&f.Scenarios, "scenario", nil,
		"with workload messaging: what happens while messages are sent (default live); several `names` are several "+
			"loads; all is every scenario except disk-full")
	flags.IntVar(&f.Size, "size", 0, "with a scenario: `bytes` of each message (default 100)")
	flags.IntVar(&f.Batch, "batch", 0, "with a scenario: `messages` in each send (default 1; 100 for PublishBatch)")
	flags.IntVar(&f.Groups, "groups", 0, "with a scenario: `groups` that read each topic (default 1; 4 with fanout)")
	flags.DurationVar(&f.Delay, "reader-delay", 0,
		"with scenario slow, or one in which a broker fails: time that a reader takes for each message (default 2ms "+
			"with slow)")
	flags.StringVar(&p.Durability, "durability", "",
		"with a scenario: when a broker acknowledges: `fsync` (a quorum has the message on disk) or default (as its "+
			"default settings say) (default fsync)")
	flags.IntVar(&p.Nodes, "nodes", 0, "with a scenario: `nodes` of each broker (default 3)")
}
