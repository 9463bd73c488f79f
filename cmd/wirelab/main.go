// Command wirelab compares ways for services to talk. This package knows flags and files, and connects the packages.
// It must not know how anything is measured, stored or claimed.
package main

import (
	"context"
	"io"
	"os"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
)

func main() { os.Exit(cli.Main(run)) }

// run is the program. args do not include its name; the result is the exit code. Tests call it many times in one
// process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string,
) int {
	return runBy(ctx, nil, args, stdin, stdout, stderr, getenv)
}

// runBy is run with another clock for the messages about waiting.
func runBy(
	ctx context.Context, clock cli.Clock, args []string, stdin io.Reader, stdout, stderr io.Writer,
	getenv func(string) string,
) int {
	a := newApp(cli.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr, Clock: clock, Indented: true}, args, getenv)
	return a.Execute(ctx, newRootCommand(a), args,
		cli.Ending{Code: a.ExitCode, Describe: a.DescribeError, Last: a.Last})
}

// newApp returns what the constructors of commands need, with all workloads.
func newApp(terminal cli.Terminal, args []string, getenv func(string) string) *app {
	return &app{desk.New(terminal, args, getenv)}
}
