package main

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes/api/graphql"
	"wirelab/hermes/api/grpc"
	"wirelab/hermes/api/register"
	"wirelab/hermes/api/rest"
	"wirelab/hermes/broker"
	"wirelab/hermes/null"
	"wirelab/wire/endpoint"
)

// newNullCommand makes the hidden command that benchmarks put callers before.
func newNullCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "null",
		Short: "Run the APIs with no broker behind them, until standard input ends",
		Long: `Null opens the gRPC and the HTTP API of a node on this machine, and acknowledges
whatever is published at once: nothing is kept, and groups are handed what comes. It
shows what callers and APIs cost by themselves.`,
		Example: `  hermes null --json`,
		Args:    cli.Arguments(0, 0, "no arguments"),
		Hidden:  true,
	}
	c.Flags().Bool("controlled", true, "as of hermes server; it always is")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		defer a.collect(nullMemory)()
		return a.serveNull(c.Context(), *asJSON)
	}
	return c
}

// nullMemory is what it is to stay within, as a node is.
const nullMemory = 1 << 30

// serveNull serves until ctx or the standard input ends.
func (a *app) serveNull(ctx context.Context, asJSON bool) (err error) {
	ctx, stop := a.controlled(ctx)
	defer stop()
	d := listeners{}
	var config net.ListenConfig
	for _, l := range []*net.Listener{&d.grpc, &d.http} {
		if *l, err = config.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return errors.Join(err, d.close())
		}
	}
	defer func() { err = errors.Join(err, d.close()) }()
	r := running{ID: 1, Name: "null", GRPC: d.grpc.Addr().String(), HTTP: d.http.Addr().String(), PID: os.Getpid()}
	b := null.New(broker.Member{Name: r.Name, GRPC: r.GRPC, HTTP: r.HTTP})
	open := register.New(0)
	mounts, err := graphql.Handlers(graphql.Config{Broker: b, Register: open})
	if err != nil {
		return err
	}
	front, err := rest.New(rest.Config{Broker: b, Register: open, Mounts: mounts})
	if err != nil {
		return err
	}
	if err := a.say(r, asJSON); err != nil {
		return err
	}
	return serveAll(ctx, nil, []serving{
		func(ctx context.Context) error {
			return grpc.Serve(ctx, endpoint.Endpoint{Listener: d.grpc}, b, grpc.Options{})
		},
		func(ctx context.Context) error { return front.Serve(ctx, endpoint.Endpoint{Listener: d.http}, false) },
	})
}
