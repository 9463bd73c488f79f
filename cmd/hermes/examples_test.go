package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// What the help shows can be typed.
func TestExamplesAreCommands(t *testing.T) {
	root := newRootCommand(&app{})
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" || c.Example == "" && c.Name() != "exit-codes" && c.Name() != "version" {
			t.Errorf("%s has no short text or no example", c.CommandPath())
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(c.Example, "\\\n", " "), "\n") {
			line, _, _ = strings.Cut(line, " <")
			line, _, _ = strings.Cut(line, " >")
			line, _, _ = strings.Cut(line, "     ")
			words := strings.Fields(strings.NewReplacer("'one order'", "order").Replace(line))
			if len(words) == 0 {
				continue
			}
			found, rest, err := root.Find(words[1:])
			if err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), line, err)
				continue
			}
			if err := found.ParseFlags(rest); err != nil {
				t.Errorf("%s: example %q: %v", c.CommandPath(), line, err)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				visit(sub)
			}
		}
	}
	visit(root)
}
