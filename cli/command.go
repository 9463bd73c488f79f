package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
)

// Root makes a command that is a whole program. The program prints errors itself, as one line: a page
// of usage after an error hides it.
func Root(c *cobra.Command) *cobra.Command {
	c.SilenceErrors = true
	c.SilenceUsage = true
	return Group(c)
}

// Group makes a command that only holds others: alone it shows its help, and
// an unknown word after it is an error that lists the known ones.
func Group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return Unknown(c, args[0])
	}
	return c
}

// Unknown is the error of a word that is none of a command's.
func Unknown(c *cobra.Command, word string) error {
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	return wirelab.UnknownName("command", word, known)
}

// Arguments checks the number of arguments and says what they are. most below 0 is no bound.
func Arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usage("%s needs %s", c.CommandPath(), what)
		case most >= 0 && len(args) > most:
			return Usage("%s takes %s, not also %s", c.CommandPath(), what, strings.Join(args[most:], " "))
		}
		return nil
	}
}

// JSONFlag adds the flag that every command with an answer has.
func JSONFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON, for programs")
}

// Topic is a page of help: a command without anything to run.
func Topic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: text}
}
