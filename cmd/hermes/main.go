// Command hermes runs nodes of Hermes and speaks to them. This package knows
// flags and files, and joins the rooms; what a broker does it
// leaves to them.
package main

import (
	"context"
	"io"
	"os"

	"wirelab/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(run)) }

// run is the program: args without its name; the result is the exit code. It
// may be called many times in one process, as tests do.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string,
) int {
	return runBy(ctx, nil, args, stdin, stdout, stderr, getenv)
}

// runBy is run with another clock for the messages while one waits.
func runBy(
	ctx context.Context, clock cli.Clock, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string,
) int {
	a := &app{Terminal: cli.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr, Clock: clock}, getenv: getenv}
	return a.Execute(ctx, newRootCommand(a), args, cli.Ending{})
}
