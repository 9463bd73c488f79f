// Command wirelab compares ways for services to talk. This package knows
// flags and files, and joins the rooms; what is measured, stored
// and claimed it leaves to them.
package main

import (
	"context"
	"io"
	"os"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
)

func main() { os.Exit(cli.Main(run)) }

// run is the program: args without its name; the result is the exit code. It
// may be called many times in one process, as tests do.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string,
) int {
	return runBy(ctx, nil, args, stdin, stdout, stderr, getenv)
}

// runBy is run with another clock for what is said while one waits.
func runBy(
	ctx context.Context, clock cli.Clock, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string,
) int {
	a := newApp(cli.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr, Clock: clock, Indented: true}, args, getenv)
	return a.Execute(ctx, newRootCommand(a), args,
		cli.Ending{Code: a.ExitCode, Describe: a.DescribeError, Last: a.Last})
}

// newApp is what commands are made with, over all works.
func newApp(terminal cli.Terminal, args []string, getenv func(string) string) *app {
	return &app{desk.New(terminal, args, getenv)}
}
