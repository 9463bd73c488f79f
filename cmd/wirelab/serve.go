package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/agent"
)

func newServeCommand(a *app) *cobra.Command {
	var addr, server, caFile string
	var null, controlled bool
	command := &cobra.Command{
		Use:   "serve WORKLOAD PROTOCOL",
		Short: "Serve a workload over a protocol until Ctrl-C",
		Long: `Serve serves a workload's reference service over one protocol, so that it can
be called by wirelab, by your own client, or by tools such as curl and grpcurl.

It listens on 127.0.0.1 unless --addr says otherwise. Protocols with TLS get a
fresh certificate at every start; the authority to trust is written to the
file that --ca names. A stop waits up to 5 s for the calls in flight.`,
		Example: `  wirelab serve routeguide grpc --addr 127.0.0.1:50051
  wirelab serve routeguide http1-json --addr 127.0.0.1:8080
  wirelab serve routeguide grpc --server connect-go --addr 127.0.0.1:50051
  wirelab serve routeguide grpc --null --addr 127.0.0.1:50051
  wirelab serve routeguide grpc-tls --addr 127.0.0.1:50052 --ca ca.pem`,
		Args: cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			cell, err := a.cell(args[0], args[1], server, "")
			if err != nil {
				return err
			}
			if null {
				if cell.Null == nil {
					return usage("no null responder speaks %s", cell.Protocol.Name)
				}
				cell.Serve, cell.Server = cell.Null, "null responder"
			}
			at, ready, err := agent.Listen(cell, addr)
			if err != nil {
				return err
			}
			if controlled {
				return agent.Serve(command.Context(), cell, at, ready, a.stdin, a.stdout)
			}
			if cell.Protocol.Secure {
				if caFile == "" {
					return usage(
						"%s has TLS: give --ca FILE to write the authority that clients must trust", cell.Protocol.Name)
				}
				if err := os.WriteFile(caFile, []byte(ready.Authority), 0o644); err != nil {
					return fmt.Errorf("authority: %w", err)
				}
			}
			a.sayServing(cell, ready.Address, caFile)
			return cell.Serve(command.Context(), at)
		},
	}
	flags := command.Flags()
	flags.StringVar(&addr, "addr", "127.0.0.1:0", "`host:port` to listen on; port 0 is any free one")
	flags.StringVar(&server, "server", "", "`library` that serves; see wirelab matrix (default: the usual one)")
	flags.StringVar(&caFile, "ca", "", "`file` to write the certificate authority to, for protocols with TLS")
	flags.BoolVar(&null, "null", false, "answer rightly with the least work a server can do, to see what a client costs by itself")
	flags.BoolVar(&controlled, "controlled", false, "take orders on standard input (an experiment's child)")
	if err := flags.MarkHidden("controlled"); err != nil {
		panic(err) // the flag is named two lines above
	}
	return command
}

// sayServing tells a person what is served and how to call it.
func (a *app) sayServing(cell wirelab.Cell, address, caFile string) {
	ca := ""
	if cell.Protocol.Secure {
		ca = " --ca " + caFile
	}
	operation := ""
	for _, work := range a.works {
		if work.Name == cell.Workload {
			for _, o := range work.Operations {
				if _, hole := cell.Holes[o.Name]; !hole && operation == "" {
					operation = o.Name
				}
			}
		}
	}
	a.note("serving %s over %s (%s) at %s; stop with Ctrl-C",
		cell.Workload, cell.Protocol.Name, cell.Server, address)
	a.note("try: wirelab call %s.%s --protocol %s --target %s%s",
		cell.Workload, operation, cell.Protocol.Name, address, ca)
}
