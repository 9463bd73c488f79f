package clitest

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
)

// Lasts checks that each command either says what it is doing while the user waits, or has a reason why it ends at
// once or waits in silence. It also checks that commands of the first kind do say it, whatever they wait for. fresh
// returns a program's commands, and the terminal that runs them.
func Lasts(t *testing.T, fresh func() (*cli.Terminal, *cobra.Command), does, silent map[string]string) {
	t.Helper()
	known := map[string]bool{}
	_, root := fresh()
	for _, c := range runnable(root) {
		words := cli.Words(c)
		known[words] = true
		switch saying, reason := does[words], silent[words]; {
		case saying == "" && reason == "":
			t.Errorf("%q: decide what it says while one waits for it, or why it cannot last", words)
		case saying != "" && reason != "":
			t.Errorf("%q says %q while one waits for it, and yet: %s", words, saying, reason)
		case saying != "":
			if text := blocked(t, fresh, words); text != saying+" (2s so far)\n" {
				t.Fatalf("%q prints %q after two seconds of waiting, want %q", words, text, saying)
			}
		}
	}
	for _, all := range []map[string]string{does, silent} {
		for words := range all {
			if !known[words] {
				t.Errorf("there is no command %q", words)
			}
		}
	}
}

// runnable returns the commands that do something themselves, with hidden ones; a group only shows its help.
func runnable(c *cobra.Command) []*cobra.Command {
	var found []*cobra.Command
	if (c.RunE != nil || c.Run != nil) && !cli.IsGroup(c) {
		found = append(found, c)
	}
	for _, sub := range c.Commands() {
		found = append(found, runnable(sub)...)
	}
	return found
}

// blocked returns what a command prints on standard error within two seconds while its work does not end.
func blocked(t *testing.T, fresh func() (*cli.Terminal, *cobra.Command), words string) string {
	t.Helper()
	terminal, root := fresh()
	clock, stderr := NewClock(t), new(Output)
	terminal.Clock, terminal.Stdout, terminal.Stderr = clock, new(Output), stderr
	c, _, err := root.Find(strings.Fields(words))
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	c.RunE = func(*cobra.Command, []string) error {
		if !clock.Pass(2*time.Second - 1) {
			t.Errorf("%s: nothing is to be said in time", words)
		} else if text := stderr.String(); text != "" {
			t.Errorf("%s: %q before two seconds are over", words, text)
		}
		clock.Pass(1)
		said = stderr.String()
		return nil
	}
	c.Args, c.PreRunE = nil, nil
	c.Flags().VisitAll(func(f *pflag.Flag) { delete(f.Annotations, cobra.BashCompOneRequiredFlag) })
	terminal.Execute(context.WithoutCancel(t.Context()), root, strings.Fields(words), cli.Ending{})
	return said
}

// Mute returns the address of a server that accepts connections and never sends anything.
func Mute(t *testing.T) string {
	t.Helper()
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var held []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			held = append(held, conn)
		}
	})
	t.Cleanup(func() {
		_ = at.Close()
		accepting.Wait()
		for _, conn := range held {
			_ = conn.Close()
		}
	})
	return at.Addr().String()
}

// Interrupt runs a command that waits for something that never comes. It advances the command's clock by two seconds
// at a time until the command says on standard error what it is doing, and then interrupts it.
func Interrupt(
	t *testing.T, want string, run func(context.Context, cli.Terminal) int,
) (code int, stdout, stderr string) {
	t.Helper()
	clock, out, errs := NewClock(t), new(Output), new(Output)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan int, 1)
	go func() {
		defer clock.End()
		ended <- run(ctx, cli.Terminal{Stdin: strings.NewReader(""), Stdout: out, Stderr: errs, Clock: clock})
	}()
	for !strings.Contains(errs.String(), want+" (") && clock.Pass(2*time.Second) {
	}
	interrupt()
	code = <-ended
	if !strings.Contains(errs.String(), want+" (") {
		t.Errorf("it does not say %q: %q", want, errs)
	}
	return code, out.String(), errs.String()
}
