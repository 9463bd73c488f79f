package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
)

// doing runs a command whose time passes at once, at a terminal of so many columns or, with 0, without one, and
// returns what it wrote to standard error.
func doing(t *testing.T, columns int, args []string, do func(ctx context.Context, a *Terminal)) (stderr string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var errs strings.Builder
		a := &Terminal{Stdout: io.Discard, Stderr: &errs}
		root := Root(&cobra.Command{Use: "program"}, "")
		c := &cobra.Command{Use: "work", RunE: func(c *cobra.Command, _ []string) error {
			if a.busy != nil {
				a.busy.mu.Lock()
				a.busy.terminal, a.busy.columns = columns > 0, columns
				a.busy.mu.Unlock()
			}
			do(c.Context(), a)
			return nil
		}}
		c.Flags().BoolP("quiet", "q", false, "")
		root.AddCommand(c)
		Lasts(root, map[string]string{"work": "working"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if code := a.Execute(context.WithValue(ctx, interruptKey{}, cancel), root, append([]string{"work"}, args...),
			Ending{}); code != OK {
			t.Errorf("exit code %d", code)
		}
		stderr = errs.String()
	})
	return stderr
}

// interruptKey finds what interrupts the command.
type interruptKey struct{}

func TestActivityWithoutATerminal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		do   func(ctx context.Context, a *Terminal)
		want string
	}{
		"what ends within two seconds is not mentioned": {nil, func(_ context.Context, a *Terminal) {
			time.Sleep(silence - 1)
		}, ""},
		"lines come more and more rarely": {nil, func(context.Context, *Terminal) {
			time.Sleep(3 * time.Minute)
		}, "working (2s so far)\nworking (8s so far)\nworking (26s so far)\nworking (1m20s so far)\nworking (2m20s " +
			"so far)\n"},
		"nothing with --quiet": {[]string{"-q"}, func(_ context.Context, a *Terminal) {
			defer a.Doing("reading").Done()
			time.Sleep(time.Minute)
		}, ""},
		"the innermost is shown, and how far it is": {nil, func(_ context.Context, a *Terminal) {
			time.Sleep(time.Second)
			reading := a.Doing("reading x")
			time.Sleep(500 * time.Millisecond)
			reading.Far("1 of 2 results")
			time.Sleep(time.Second)
			reading.Done()
			reading.Done()
			time.Sleep(7 * time.Second)
		}, "reading x: 1 of 2 results (1s so far)\nworking (8s so far)\n"},
		"giving up is reported": {nil, func(_ context.Context, a *Terminal) {
			defer a.Waiting("a node", 10*time.Second)()
			time.Sleep(9 * time.Second)
		}, "waiting for a node (2s so far, at most 10s)\nwaiting for a node (8s so far, at most 10s)\n"},
		"output ends the silence": {nil, func(_ context.Context, a *Terminal) {
			time.Sleep(1500 * time.Millisecond)
			a.Note("note")
			time.Sleep(1500 * time.Millisecond)
			_ = a.Printf("output\n")
			time.Sleep(2500 * time.Millisecond)
		}, "note\nworking (5s so far)\n"},
		"a round that is over is a line": {nil, func(_ context.Context, a *Terminal) {
			steps := a.Doing("preparing")
			steps.Step("round 1, measuring")
			time.Sleep(time.Second)
			steps.Stage("round 1 done")
			time.Sleep(time.Second)
		}, "round 1 done\n"},
		"an interrupted command that continues reports both": {nil, func(ctx context.Context, a *Terminal) {
			time.Sleep(time.Second)
			ctx.Value(interruptKey{}).(context.CancelFunc)()
			time.Sleep(2 * time.Second)
		}, "interrupted; ending: working (2s so far)\n"},
		"what only serves may be silent, and stops aloud": {nil, func(ctx context.Context, a *Terminal) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			a.Idle(ctx, "stopping")
			<-ctx.Done()
			time.Sleep(3 * time.Second)
		}, "stopping (2s so far)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := doing(t, 0, c.args, c.do); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestActivityAtATerminal(t *testing.T) {
	t.Parallel()
	const wiped = "\r\x1b[K"
	for name, c := range map[string]struct {
		do   func(ctx context.Context, a *Terminal)
		want string
	}{
		"what ends within two seconds is not mentioned": {func(_ context.Context, a *Terminal) {
			time.Sleep(silence - 1)
		}, ""},
		"one line that changes and is wiped": {func(context.Context, *Terminal) {
			time.Sleep(3500 * time.Millisecond)
		}, "\rworking (2s so far)\x1b[K\rworking (3s so far)\x1b[K" + wiped},
		"a note stands for itself": {func(_ context.Context, a *Terminal) {
			time.Sleep(2500 * time.Millisecond)
			a.Note("note")
		}, "\rworking (2s so far)\x1b[K" + wiped + "note\n"},
		"a step is shown at once, but not more often than can be read": {func(_ context.Context, a *Terminal) {
			steps := a.Doing("preparing")
			for i := range 5 {
				steps.Step("step " + string(rune('1'+i)))
				time.Sleep(often / 2)
			}
			time.Sleep(time.Second)
		}, "\rstep 1\x1b[K\rstep 3\x1b[K\rstep 5\x1b[K\rstep 5 (1s so far)\x1b[K" + wiped},
		"the time is seen in the narrowest": {func(_ context.Context, a *Terminal) {
			defer a.Doing("looking for a thing with a long name").Done()
			time.Sleep(2500 * time.Millisecond)
		}, "\rlooking for a thin… (2s so far)\x1b[K" + wiped},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := doing(t, 32, nil, c.do); got != c.want {
				t.Errorf("\n got %q\nwant %q", got, c.want)
			}
		})
	}
}

// While a pager shows the output, it owns the screen: no progress is drawn.
func TestNothingIsSaidWhileAPagerShowsTheOutput(t *testing.T) {
	t.Parallel()
	got := doing(t, 0, nil, func(_ context.Context, a *Terminal) {
		a.Stdout.(*heard).Writer = slow{}
		_ = a.Printf("page\n")
		time.Sleep(time.Second)
	})
	if got != "" {
		t.Errorf("%q", got)
	}
}

type slow struct{}

func (slow) Write(p []byte) (int, error) {
	time.Sleep(time.Hour)
	return len(p), nil
}
