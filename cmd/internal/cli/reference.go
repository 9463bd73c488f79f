package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Reference returns a page in Markdown that describes a program: each command with its text, flags and examples, as
// in its help. It is written to docs/reference, so that users can read and search it without the program. It leaves
// out cobra's own commands, whose help is enough.
func Reference(root *cobra.Command) string {
	var page strings.Builder
	fmt.Fprintf(&page, "# %s: commands and flags\n\n", root.Name())
	page.WriteString("This page is generated from the program: `make generate` writes it, and a test fails when it " +
		"is old.\n" +
		"`" + root.Name() + " COMMAND --help` prints the same in a terminal.\n\n")
	page.WriteString("| command | what it does |\n|---|---|\n")
	all := described(root)
	for _, c := range all[1:] {
		fmt.Fprintf(&page, "| [`%s`](#%s) | %s |\n", c.CommandPath(), strings.ReplaceAll(c.CommandPath(), " ", "-"),
			escaped(c.Short))
	}
	for _, c := range all {
		describeCommand(&page, c)
	}
	return page.String()
}

// described returns a command and those below it that users see, in order.
func described(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" && sub.Name() != "help" ||
			sub.IsAdditionalHelpTopicCommand() {
			all = append(all, described(sub)...)
		}
	}
	return all
}

func describeCommand(page *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(page, "\n## %s\n", c.CommandPath())
	text := c.Long
	if text == "" {
		text = c.Short
	}
	fmt.Fprintf(page, "\n```text\n%s\n```\n", strings.TrimSpace(text))
	if c.Runnable() && c != c.Root() {
		fmt.Fprintf(page, "\nUsage: `%s`\n", c.UseLine())
	}
	if c.Example != "" {
		fmt.Fprintf(page, "\nExamples:\n\n```console\n%s\n```\n", unindented(c.Example))
	}
	describeFlags(page, "flag", c.NonInheritedFlags())
	if c.Parent() == nil || c.IsAdditionalHelpTopicCommand() {
		return
	}
	if names := flagNames(c.InheritedFlags()); names != "" {
		fmt.Fprintf(page, "\nIt also takes %s; see [%s](#%s).\n", names, c.Root().Name(), c.Root().Name())
	}
}

func describeFlags(page *strings.Builder, head string, flags *pflag.FlagSet) {
	begun := false
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if !begun {
			fmt.Fprintf(page, "\n| %s | meaning | default |\n|---|---|---|\n", head)
			begun = true
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + kind)
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", name, escaped(usage), shownDefault(f))
	})
}

// shownDefault returns a flag's default if it says something.
func shownDefault(f *pflag.Flag) string {
	switch f.DefValue {
	case "", "[]", "false", "0", "0s":
		return ""
	}
	return "`" + f.DefValue + "`"
}

func flagNames(flags *pflag.FlagSet) string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			names = append(names, "`--"+f.Name+"`")
		}
	})
	return strings.Join(names, ", ")
}

// escaped returns a text for a cell of a Markdown table.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}

// unindented removes two spaces from each line.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^  `).ReplaceAllString(strings.TrimRight(text, "\n"), "")
}
