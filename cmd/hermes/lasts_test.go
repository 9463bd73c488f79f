package main

import (
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
)

// cannotLast are the commands that say nothing while one waits for them, and why.
func cannotLast() map[string]string {
	return map[string]string{
		"config":  "prints what its flags and environment say",
		"null":    "for benchmarks, which read what it prints and measure it",
		"token":   "draws a random number, or hashes one",
		"version": "prints what was built in",
	}
}

// Of every command it is decided whether it says what it does while one waits for it, and it does.
func TestCommandsSayWhatTheyDo(t *testing.T) {
	t.Parallel()
	clitest.Lasts(t, func() (*cli.Terminal, *cobra.Command) {
		a := &app{getenv: func(string) string { return "" }}
		return &a.Terminal, newRootCommand(a)
	}, lasts(), cannotLast())
}

// What a node that does not answer is waited for is said, and Ctrl-C ends it with the code of an interruption.
func TestWaitingForANodeThatIsSilent(t *testing.T) {
	t.Parallel()
	at := clitest.Mute(t)
	for args, want := range map[string]string{
		"status --server " + at:                            "waiting for the cluster's answer",
		"topic list --json --server " + at:                 "waiting for the cluster's answer",
		"sub orders --server " + at:                        "waiting for the subscription",
		"pub orders hello --server " + at:                  "waiting for acknowledgements",
		"backup --to " + t.TempDir() + "/b --server " + at: "writing the backup",
		"ready --timeout 1h --http " + at:                  "asking the node whether it is ready",
	} {
		t.Run(strings.Fields(args)[0], func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := clitest.Interrupt(t, want, func(ctx context.Context, terminal cli.Terminal) int {
				a := &app{Terminal: terminal, getenv: func(string) string { return "" }}
				return a.Execute(ctx, newRootCommand(a), strings.Fields(args), cli.Ending{})
			})
			if stdout != "" || code != exitInterrupted {
				t.Errorf("%s: exit code %d, %q, standard error %q", args, code, stdout, stderr)
			}
		})
	}
}
