package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/experiment"
	"wirelab/lab/messaging/cluster"
	"wirelab/lab/plan"
	"wirelab/lab/prepare"
)

// upMessagingFlags are the flags of "up messaging".
type upMessagingFlags struct {
	broker, durability string
	nodes              int
	asJSON             bool
}

func newUpMessagingCommand(a *app) *cobra.Command {
	var f upMessagingFlags
	c := &cobra.Command{
		Use:     "messaging",
		Short:   "Run a cluster of a message broker",
		Long:    desk.HelpText("up-messaging"),
		Example: desk.HelpText("up-messaging.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
		RunE:    func(c *cobra.Command, _ []string) error { return a.upMessaging(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.broker, "broker", drivers.Hermes, "message `broker`: "+strings.Join(drivers.Started(), ", "))
	flags.IntVar(&f.nodes, "nodes", plan.DefaultNodes, fmt.Sprintf("`nodes` of the cluster, 1 to %d", plan.NodesMax))
	flags.StringVar(&f.durability, "durability", string(broker.Synced),
		"what acknowledgements promise: `fsync`, or the word default, for the broker's default settings")
	flags.BoolVar(&f.asJSON, "json", false, "print what runs as JSON, for programs")
	return c
}

// upMessaging runs a cluster until ctx ends.
func (a *app) upMessaging(ctx context.Context, f upMessagingFlags) error {
	switch broker.Durability(f.durability) {
	case broker.Synced, broker.VendorDefault:
	default:
		return wirelab.UnknownName("--durability", f.durability, broker.Durabilities())
	}
	if f.nodes < 1 || f.nodes > plan.NodesMax {
		return cli.Usage("--nodes %d: want 1 to %d", f.nodes, plan.NodesMax)
	}
	program, err := experiment.Program()
	if err != nil {
		return err
	}
	programs, err := a.BrokerPrograms(ctx, program, f.broker)
	if err != nil {
		return err
	}
	s, err := cluster.Start(ctx, cluster.Options{
		Kind: f.broker, Nodes: f.nodes, Durability: broker.Durability(f.durability), Programs: programs,
	})
	if err != nil {
		if ctx.Err() != nil { // err reports for every node that it did not start
			return ctx.Err()
		}
		return err
	}
	err = a.sayMessaging(s, f)
	if err == nil {
		a.Note("up; stop with Ctrl-C")
		a.Idle(ctx, "stopping the cluster")
		<-ctx.Done()
		a.Note("stopping")
	}
	return fault.Both(err, s.Stop(context.WithoutCancel(ctx)))
}

// sayMessaging says how to reach the cluster.
func (a *app) sayMessaging(s *cluster.Cluster, f upMessagingFlags) error {
	var protocols []string
	for _, w := range drivers.All() {
		if w.Kind == f.broker {
			protocols = append(protocols, w.Protocol.Name)
		}
	}
	if f.asJSON {
		return a.PrintJSON(map[string]any{
			"broker": s.About(), "addresses": s.Addresses(), "protocols": protocols, "handover": s.Guarantee(),
		})
	}
	target, environment := s.Addresses()[0], ""
	if at, err := url.Parse(target); err == nil && at.User != nil {
		target, environment = at.Host, prepare.VariableOf(f.broker)+"="+s.Addresses()[0]+" "
	}
	_, err := fmt.Fprintf(a.Stdout,
		"%s runs, and keeps what it is sent until it is stopped\n\nnodes      %s\nprotocols  %s\ntry        %swirelab "+
			"compare %s,target=%s -w messaging --rounds 1 --max-rounds 1\n",
		s.About(), strings.Join(s.Addresses(), "\n           "), strings.Join(protocols, ", "), environment,
		protocols[0], target)
	return err
}
