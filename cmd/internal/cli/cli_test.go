package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/wire/status"
)

// program is one with a group of commands, the error of one of which is given.
func program(failed error) *cobra.Command {
	root := cli.Root(&cobra.Command{Use: "mill", Short: "Grinds"}, "mill 1.2")
	group := cli.Group(&cobra.Command{Use: "stone", Short: "Stones"})
	group.AddCommand(&cobra.Command{
		Use: "turn", Short: "Turns one", Args: cli.Arguments(1, 1, "a stone"),
		RunE: func(*cobra.Command, []string) error { return failed },
	})
	root.AddCommand(group, cli.Topic("grain", "About grain", "All there is to know."))
	return root
}

// What went wrong is one line on standard error and an exit code; what is wrong with the command
// line says where help is.
func TestEndings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args   string
		failed error
		code   int
		says   string // all of standard error
	}{
		{"stone turn a", nil, cli.OK, ""},
		{"stone turn a", status.Errorf(status.Unavailable, "no wind"), cli.Failed, "mill: no wind\n"},
		{
			"stone turn a", fmt.Errorf("stone a: %w", status.Errorf(status.NotFound, "no stone")), cli.WrongUsage,
			"mill: stone a: no stone\n",
		},
		{"stone turn a", status.Errorf(status.NotFound, "no stone"), cli.WrongUsage, "mill: no stone\n"},
		{"stone turn a", fmt.Errorf("grinding: %w", context.Canceled), cli.Interrupted, "mill: interrupted\n"},
		{"stone turn a", cli.With(7, nil), 7, ""},
		{"stone turn a", cli.With(7, status.Errorf(status.Internal, "broken")), 7, "mill: broken\n"},
		{"stone turn", nil, cli.WrongUsage, "mill: mill stone turn needs a stone; see mill stone turn --help\n"},
		{
			"stone turn a b c", nil, cli.WrongUsage,
			"mill: mill stone turn takes a stone, not also b c; see mill stone turn --help\n",
		},
		{
			"stone turn --fast a", nil, cli.WrongUsage,
			"mill: mill stone turn has no flag --fast; known: --help; see mill stone turn --help\n",
		},
	} {
		var out, said bytes.Buffer
		term := cli.Terminal{Stdout: &out, Stderr: &said}
		if code := term.Execute(t.Context(), program(c.failed), strings.Fields(c.args), cli.Ending{}); code != c.code ||
			said.String() != c.says {
			t.Errorf("%s, %v: exit code %d, says %q; want %d, %q", c.args, c.failed, code, &said, c.code, c.says)
		}
	}
}

// An unknown word lists those that are known, at any depth; without a word there is help.
func TestGroup(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"ston": "stone", "stone trn": "turn"} {
		var out, said bytes.Buffer
		term := cli.Terminal{Stdout: &out, Stderr: &said}
		if code := term.Execute(t.Context(), program(nil), strings.Fields(args),
			cli.Ending{}); code != cli.WrongUsage || !strings.Contains(said.String(), want) {
			t.Errorf("%s: %d, %q", args, code, &said)
		}
	}
	for args, want := range map[string]string{
		"": "Grinds", "stone": "Turns one",
		"help grain": "All there is to know.",
	} {
		var out, said bytes.Buffer
		term := cli.Terminal{Stdout: &out, Stderr: &said}
		if code := term.Execute(t.Context(), program(nil), strings.Fields(args), cli.Ending{}); code != cli.OK ||
			!strings.Contains(out.String(), want) || said.Len() > 0 {
			t.Errorf("%q: %d, %q, %q", args, code, &out, &said)
		}
	}
}

// The last action runs after a failure too, and its own failure is reported with it.
func TestLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failed, last error
		says         string
	}{
		{nil, errors.New("a stone is loose"), "mill: a stone is loose\n"},
		{errors.New("no wind"), nil, "mill: no wind\n"},
		{errors.New("no wind"), errors.New("a stone is loose"), "mill: no wind\na stone is loose\n"},
	} {
		var out, said bytes.Buffer
		term := cli.Terminal{Stdout: &out, Stderr: &said}
		code := term.Execute(t.Context(), program(c.failed), []string{"stone", "turn", "a"},
			cli.Ending{Last: func() error { return c.last }})
		if code != cli.Failed || said.String() != c.says {
			t.Errorf("%v, %v: %d, %q", c.failed, c.last, code, &said)
		}
	}
}

func TestPrinting(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	term := cli.Terminal{Stdout: &out}
	value := map[string]string{"a": "<b>"}
	for _, indented := range []bool{false, true} {
		term.Indented = indented
		if err := term.PrintJSON(value); err != nil {
			t.Fatal(err)
		}
	}
	if err := term.PrintTable([][]string{{"A", "B"}, {"longer", "x"}}); err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\":\"<b>\"}\n{\n  \"a\": \"<b>\"\n}\nA       B\nlonger  x\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

// Control characters and invisible characters are written as escapes: a file may have any name.
func TestNotesAreShown(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	terminal := cli.Terminal{Stderr: &out}
	terminal.Note("there is no file %s", "a\x1b]0;t\ab\u202etxt\u009b1m\r é – 日本\u00a0x")
	terminal.Note("two\nlines\tand %v", errors.New("an \x1b[31merror"))
	want := `there is no file a\x1b]0;t\ab\u202etxt\u009b1m\r é – 日本` + "\u00a0x\ntwo\nlines\tand " +
		`an \x1b[31merror` + "\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
