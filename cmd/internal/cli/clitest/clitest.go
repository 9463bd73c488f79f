// Package clitest tests the rules that every program of the project follows at a terminal. It must not know a
// program.
package clitest

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
)

// screen is the greatest number of lines of a command's help.
const screen = 75

// Commands returns the words that call each command of a program, without hidden commands.
func Commands(c *cobra.Command, before ...string) [][]string {
	found := [][]string{before}
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			found = append(found, Commands(sub, append(before[:len(before):len(before)], sub.Name())...)...)
		}
	}
	return found
}

// Wide returns the lines of a text that are wider than a terminal.
func Wide(text string) []string {
	var wide []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > cli.Columns {
			wide = append(wide, line)
		}
	}
	return wide
}

// Help checks the help of every command: it fits a terminal, is short, and shows how to call the command.
func Help(t *testing.T, root *cobra.Command, run func(args ...string) (code int, stdout string)) {
	t.Helper()
	for _, words := range Commands(root) {
		for _, flag := range []string{"--help", "--help-all"} {
			args := slices.Concat(words, []string{flag})
			code, out := run(args...)
			if code != cli.OK || out == "" {
				t.Errorf("%v: exit code %d, %q", args, code, out)
			}
			for _, line := range Wide(out) {
				t.Errorf("%v: %d columns: %s", args, utf8.RuneCountInString(line), line)
			}
			if strings.Contains(out, "\nUsage:\n") && !strings.Contains(out, "\nExamples:\n") {
				t.Errorf("%v: no example", args)
			}
			if n := strings.Count(out, "\n"); flag == "--help" && n > screen {
				t.Errorf("%v: %d lines, want at most %d", args, n, screen)
			}
		}
	}
}
