package clitest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
)

// Fails checks that no failing command ends with exit code 0. Each command must be in the table, by its words, with
// failing calls and the exit code of each; the list is empty if only the command line can be wrong. With an unknown
// flag, each command must end with the code of wrong usage.
func Fails(
	t *testing.T, root *cobra.Command, ways map[string]map[string]int, run func(args ...string) (code int, said string),
) {
	t.Helper()
	known := map[string]bool{}
	for _, c := range runnable(root) {
		words := cli.Words(c)
		known[words] = true
		if _, decided := ways[words]; !decided && !c.Hidden {
			t.Errorf("%q: say how it can fail, and with which exit code", words)
		}
		t.Run(words+" --no-such-flag", func(t *testing.T) {
			t.Parallel()
			fails(t, run, words+" --no-such-flag", cli.WrongUsage)
		})
	}
	for words, each := range ways {
		if !known[words] {
			t.Errorf("there is no command %q", words)
		}
		for args, want := range each {
			t.Run(words+" "+args, func(t *testing.T) {
				t.Parallel()
				fails(t, run, words+" "+args, want)
			})
		}
	}
}

func fails(t *testing.T, run func(args ...string) (code int, said string), line string, want int) {
	t.Helper()
	code, said := run(strings.Fields(line)...)
	if code != want || want == cli.OK {
		t.Errorf("%s: exit code %d, want %d: %s", line, code, want, said)
	}
	if said == "" {
		t.Errorf("%s: no word on why it ends with %d", line, code)
	}
}
