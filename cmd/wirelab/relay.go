package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/agent"
	"wirelab/lab/network"
	"wirelab/lab/network/relay"
)

// networkText explains --network in the help of the commands that have it.
func networkText() string {
	var text strings.Builder
	text.WriteString(desk.HelpText("network"))
	for _, p := range network.Presets() {
		fmt.Fprintf(&text, "  %-8s %s (%s)\n", p.Name, p.About, p.Spec)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// relayFlags are the flags of "relay".
type relayFlags struct {
	network, to, listen string
	udp, controlled     bool
	seed                uint64
}

func newRelayCommand(a *app) *cobra.Command {
	var f relayFlags
	c := &cobra.Command{
		Use:     "relay --network NETWORK --to HOST:PORT",
		Short:   "Put a slow or lossy network in front of a server until Ctrl-C",
		Long:    desk.HelpText("relay") + networkText(),
		Example: desk.HelpText("relay.examples"),
		Args:    cli.Arguments(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			return a.relay(c.Context(), f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.network, "network", "", "the `network`, as above (required)")
	flags.StringVar(&f.to, "to", "", "`HOST:PORT` of the server (required)")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "`host:port` to listen on; port 0 is any free one")
	flags.BoolVar(&f.udp, "udp", false, "relay datagrams (such as HTTP/3) instead of TCP")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of jitter and loss (default: random, and printed)")
	flags.BoolVar(&f.controlled, "controlled", false, "take orders on standard input (an experiment's child)")
	for _, required := range []string{"network", "to"} {
		if err := c.MarkFlagRequired(required); err != nil {
			panic(err) // the flag is defined above
		}
	}
	if err := flags.MarkHidden("controlled"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// relay relays until ctx ends or, in an experiment, until its input ends.
func (a *app) relay(ctx context.Context, f relayFlags) error {
	spec, err := network.Parse(f.network)
	if err != nil {
		return cli.Usage("--network: %s", desk.Describe(err))
	}
	if spec.Via != network.Relay {
		return cli.Usage("--network %s: a relay is not %s; leave via out", f.network, spec.Via)
	}
	config := relay.Config{Spec: spec, Network: "tcp", To: f.to, Seed: f.seed}
	if f.udp {
		config.Network = "udp"
	}
	if config.Seed == 0 {
		config.Seed = rand.Uint64()
	}
	r, err := relay.Listen(f.listen, config)
	if err != nil {
		return err
	}
	if f.controlled {
		return agent.Relay(ctx, r, a.Stdin, a.Stdout)
	}
	a.Note("relaying %s from %s to %s on a network of %s, seed %d; stop with Ctrl-C", strings.ToUpper(config.Network),
		r.Address(), f.to, spec, config.Seed)
	for _, note := range spec.Notes(!f.udp, f.udp) {
		a.Note("model: %s", note)
	}
	a.Idle(ctx, "ending the connections")
	if err := r.Run(ctx); err != nil {
		return err
	}
	did := r.Stats()
	a.Note("%d connections, %d packets passed on, %d lost; half of them were late by up to %d µs, 99 %% by up to %d µs",
		did.Connections, did.Forwarded, did.Dropped, did.Late.Quantile(0.5)/1000, did.Late.Quantile(0.99)/1000)
	return nil
}
