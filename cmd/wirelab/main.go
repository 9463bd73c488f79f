// Command wirelab compares ways for services to talk. This package knows
// flags and files, and joins the rooms; what is measured, stored
// and claimed it leaves to them.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/databases"
	"wirelab/lab/prepare"
	"wirelab/lab/services"
	"wirelab/results/report"
	"wirelab/workload/all"
)

func main() { os.Exit(cli.Main(run)) }

// run is the program: args without its name; the result is the exit code. It
// may be called many times in one process, as tests do.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return runBy(ctx, nil, args, stdin, stdout, stderr, getenv)
}

// runBy is run with another clock for what is said while one waits.
func runBy(
	ctx context.Context, clock cli.Clock, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string,
) int {
	a := newApp(cli.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr, Clock: clock, Indented: true}, args, getenv)
	return a.Execute(ctx, newRootCommand(a), args, cli.Ending{Code: a.exitCode, Describe: a.describe, Last: a.last})
}

// newApp is what commands share, with all works.
func newApp(terminal cli.Terminal, args []string, getenv func(string) string) *app {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	a := &app{Terminal: terminal, args: args}
	tell := cli.Teller{Terminal: &a.Terminal}
	a.CommandLine, a.ReadFile = a.commandLine, a.readFile
	a.Fail = func(err error) error { return cli.With(exitFailed, err) }
	a.Lab = prepare.Lab{
		Catalog: all.Works(), Getenv: getenv, Tell: tell, Now: time.Now, Absences: report.Absences,
		Watching: func(what string) prepare.Watch { return a.watch(what) },
	}
	a.Services = services.Services{Getenv: getenv, Tell: tell, ReadFile: a.readFile, ReadData: a.readData, Works: &a.Catalog}
	a.Databases = databases.Databases{Getenv: getenv, Tell: tell}
	return a
}
