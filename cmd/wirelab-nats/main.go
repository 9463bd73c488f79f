// Command wirelab-nats is a NATS server with JetStream that wirelab starts and stops. It is a separate program so
// that wirelab and its child processes stay small: see docs/adr/0032-the-nats-server-is-a-program.md. It knows
// nothing about the messages. It is not a server to keep data in: wirelab chooses its data directory, and ends it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/system/nats"
	"wirelab/system/nats/server"
)

const about = `wirelab-nats is a NATS server that wirelab starts where it needs one:

  wirelab up messaging --broker nats
  wirelab compare nats-jetstream --workload messaging

There is nothing to start by hand. wirelab finds this program next to itself, on the
path, or where $` + nats.ProgramVariable + ` says.`

func main() { os.Exit(cli.Main(run)) }

// run is the program. args do not include its name; the result is the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string,
) int {
	t := &cli.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr, Indented: true}
	return t.Execute(ctx, newCommand(t, getenv), args, cli.Ending{})
}

// newCommand assembles the program.
func newCommand(t *cli.Terminal, getenv func(string) string) *cobra.Command {
	line := fmt.Sprintf("%s, NATS %s", cli.ThisBuild().About("wirelab-nats"), server.Version())
	root := cli.Root(&cobra.Command{Use: "wirelab-nats", Short: "A NATS server for wirelab", Long: about}, line)
	help := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if getenv(nats.Environment) == "" {
			return help(c, args) // a user wants to know what this program is
		}
		return server.Serve(c.Context(), getenv, t.Stdin, t.Stdout, t.Stderr)
	}
	root.AddCommand(newVersionCommand(t, line))
	return root
}

func newVersionCommand(t *cli.Terminal, line string) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "Show the version", Example: "  wirelab-nats version --json",
		Args: cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			b := cli.ThisBuild()
			return t.PrintJSON(struct {
				Version  string `json:"version"`
				Commit   string `json:"commit"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
				NATS     string `json:"nats"` // the version of the embedded server
			}{b.Version, b.CommitText(), b.Go, b.Platform, server.Version()})
		}
		return t.Printf("%s\n", line)
	}
	return c
}
