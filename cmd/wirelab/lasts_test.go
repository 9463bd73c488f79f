package main

import (
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/experiment"
)

// cannotLast are the commands that say nothing while one waits for them, and why.
func cannotLast() map[string]string {
	const child = "an experiment's child: a program reads what it prints, and its time is measured"
	return map[string]string{
		"drive":          child,
		"drive-messages": child,
		"hog":            child,
		"null-broker":    child,
		"part":           child,
		"read-messages":  child,
		"matrix":         "prints what was built in",
		"presets":        "prints what was built in, or writes it to a file",
		"version":        "prints what was built in",
	}
}

// Of every command it is decided whether it says what it does while one waits for it, and it does.
func TestCommandsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	clitest.Lasts(t, func() (*cli.Terminal, *cobra.Command) {
		a := newApp(cli.Terminal{}, nil, func(string) string { return "" })
		return &a.Terminal, newRootCommand(a)
	}, lasts(), cannotLast())
}

// muted runs a command of a program with a separate clock, and interrupts it once it says what it waits for.
func muted(t *testing.T, want, args string, env map[string]string) (code int, stdout, stderr string) {
	t.Helper()
	return clitest.Interrupt(t, want, func(ctx context.Context, terminal cli.Terminal) int {
		a := newApp(terminal, nil, nil)
		a.Getenv = func(name string) string { return env[name] }
		return a.Execute(ctx, newRootCommand(a), strings.Fields(args),
			cli.Ending{Code: desk.ExitCodeOf, Describe: desk.Describe, Last: a.Databases.Close})
	})
}

// A database or server that does not answer is waited for aloud, by every command that needs it, and Ctrl-C ends it
// with the code of an interruption.
func TestWaitingForWhatIsSilent(t *testing.T) {
	t.Parallel()
	at := clitest.Mute(t)
	database := "postgres://me@" + at + "/results?sslmode=disable"
	for args, want := range map[string]string{
		"results list":                                   "reading the list of results",
		"results list --json":                            "reading the list of results",
		"results show":                                   "reading the result",
		"results check latest --fail-if p99>1ms":         "checking the result",
		"results export latest":                          "exporting the result",
		"results name latest mine":                       "naming the result",
		"results rm r-1":                                 "removing results",
		"results push --all --to " + t.TempDir() + "/db": "opening both stores",
		"results pull --all --from " + strings.Replace(database, "/results", "/others", 1): "opening both stores",
		"report latest":  "reading the result",
		"decide latest":  "reading the result",
		"explain latest": "preparing the explanation",
		"verify latest":  "computing the result again",
		"replay latest":  "preparing the replay",
		"serve-results":  "opening the results",
		"doctor":         "looking at this machine",
		"selftest":       "preparing the tests",
		"run quick":      "preparing the experiment",
		"compare grpc http1-json -w routeguide.GetFeature":                       "preparing the experiment",
		"call routeguide.GetFeature --timeout 1h --protocol grpc --target " + at: "waiting for a reply of " + at,
		"db seed":           "writing data set 10000x100000",
		"serve ledger grpc": "starting the server",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := muted(t, want, args, map[string]string{
				"WIRELAB_STORE": database, experiment.DatabaseVariable: database,
			})
			if stdout != "" || code != desk.ExitNoWord {
				t.Errorf("exit code %d, %q, standard error %q", code, stdout, stderr)
			}
		})
	}
}
