package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/lab/agent"
	"wirelab/lab/databases"
	"wirelab/lab/inject"
	"wirelab/lab/prepare"
)

// serveFlags are the flags of "serve".
type serveFlags struct {
	addr, server, ca, inject, data string

	onward                      string // address of a server to which each call is forwarded
	published, null, controlled bool
	database                    databases.Choice
}

func newServeCommand(a *app) *cobra.Command {
	var f serveFlags
	command := &cobra.Command{
		Use:     "serve WORKLOAD PROTOCOL",
		Short:   "Serve a workload over a protocol until Ctrl-C",
		Long:    desk.HelpText("serve") + inject.Help(),
		Example: desk.HelpText("serve.examples"),
		Args:    a.ServeArguments,
		RunE: func(command *cobra.Command, args []string) error {
			cell, err := a.Cell(args[0], args[1], f.server, "")
			if err != nil {
				return err
			}
			if cell.Protocol.Pipeline {
				return cli.Usage("%s leads through several processes: wirelab up %s runs them", cell.Protocol.Name,
					cell.Workload)
			}
			if cell, err = cell.With(f.data); err != nil {
				return err
			}
			if f.published {
				if cell, err = cell.AsPublished(); err != nil {
					return cli.Usage("%s: leave --published out", desk.Describe(err))
				}
			}
			return a.serve(command.Context(), cell, f)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "`host:port` to listen on; port 0 is any free one")
	flags.StringVar(&f.server, "server", "", "`library` that serves; see wirelab matrix (default: the usual one)")
	flags.StringVar(&f.data, "data", "", "data `set` to serve; see wirelab matrix (default: the first of the workload)")
	flags.BoolVar(&f.published, "published", false,
		"directory: creating returns the person and stores nothing, as in the published service")
	flags.StringVar(&f.inject, "inject", "",
		"serve with a known `behaviour`, to test clients and tools, such as 'constant 20ms'")
	desk.RegisterDatabase(&f.database, flags)
	flags.StringVar(&f.ca, "ca", "", "`file` for the certificate authority, for protocols with TLS")
	flags.BoolVar(&f.null, "null", false,
		"answer correctly with as little work as possible, to see what a client costs by itself")
	flags.BoolVar(&f.controlled, "controlled", false, "take orders on standard input (an experiment's child)")
	flags.StringVar(&f.onward, "onward", "", "make each call again at this `address` (an experiment's child)")
	for _, name := range []string{"controlled", "onward"} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err) // the flags are named above
		}
	}
	return command
}

// serve serves a cell until ctx ends or, in an experiment, until its input ends.
func (a *app) serve(ctx context.Context, cell wirelab.Cell, f serveFlags) (err error) {
	var database wirelab.OpenDatabase
	if !f.null {
		if cell, database, err = a.Databases.Over(ctx, a.Catalog, cell, f.database, f.controlled); err != nil {
			return err
		}
		if database != nil {
			defer func() { err = fault.Both(err, database.Close()) }()
		}
	}
	if f.onward != "" {
		// As many connections as a protocol needs that uses one for each call in flight.
		next, calls, err := cell.Onward(ctx, wirelab.Dialing{Address: f.onward, Connections: 256})
		if err != nil {
			return err
		}
		defer func() { _ = calls.Close() }() // its calls have been answered
		cell = next
	}
	if f.null {
		switch {
		case cell.Null == nil:
			return cli.Usage("no null responder speaks %s", cell.Protocol.Name)
		case f.inject != "":
			return cli.Usage("--null and --inject do not go together: a null responder does nothing else")
		}
		cell.Serve, cell.Server = cell.Null, prepare.NullResponder
	}
	cell, injector, err := inject.Hook(cell, f.inject)
	if err != nil {
		return err
	}
	defer func() { err = fault.Both(err, injector.Close()) }()
	at, ready, err := agent.Listen(cell, f.addr)
	if err != nil {
		return err
	}
	if f.controlled {
		return agent.Serve(ctx, cell, database, at, ready, a.Stdin, a.Stdout)
	}
	if cell.Protocol.Secure {
		if f.ca == "" {
			return fault.Both(cli.Usage("%s has TLS: give --ca FILE to write the authority that clients must trust",
				cell.Protocol.Name), at.Close())
		}
		if err := os.WriteFile(f.ca, []byte(ready.Authority), 0o644); err != nil {
			return fault.Both(fault.Write(f.ca, err), at.Close())
		}
	}
	if database != nil {
		a.Note("data is kept in %s", database.About())
	}
	a.sayServing(cell, ready.Address, f.ca)
	a.Idle(ctx, "ending the calls in progress")
	return cell.Serve(ctx, at)
}

// sayServing says what is served and how to call it.
func (a *app) sayServing(cell wirelab.Cell, address, caFile string) {
	ca := ""
	if cell.Protocol.Secure {
		ca = " --ca " + caFile
	}
	operation := ""
	for _, work := range a.Catalog {
		if work.Name == cell.Workload {
			for _, o := range work.Operations {
				if _, hole := cell.Holes[o.Name]; !hole && operation == "" {
					operation = o.Name
				}
			}
		}
	}
	a.Note("serving %s over %s (%s) at %s; stop with Ctrl-C",
		cell.Workload, cell.Protocol.Name, cell.Server, address)
	a.Note("try: wirelab call %s.%s --protocol %s --target %s%s",
		cell.Workload, operation, cell.Protocol.Name, address, ca)
}
