package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wirelab"
)

const rootText = `hermes is a replicated message broker, and the tool to speak to one. A publish is
acknowledged once a majority of nodes has it on disk.`

const rootExample = `  hermes dev                                    a node to try things with
  hermes cluster --nodes 3                      three nodes on this machine
  hermes pub orders 'one order' --create
  hermes sub orders --from oldest --count 1
  hermes sub orders --group billing             share the work with others of the group
  hermes status
  hermes backup --to hermes.backup              everything, while work goes on`

// app is what commands share: the world outside.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	started        bool // a command runs: flags and arguments were right
}

// newRootCommand assembles the program.
func newRootCommand(a *app) *cobra.Command {
	root := group(&cobra.Command{
		Use:     "hermes",
		Short:   "A replicated message broker",
		Long:    rootText,
		Example: rootExample,
		// The program prints errors itself, as one line; a page of usage
		// after an error hides it.
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	for _, build := range []func(*app) *cobra.Command{
		newDevCommand,
		newServerCommand,
		newConfigCommand, newReadyCommand,
		newClusterCommand,
		newStatusCommand,
		newPubCommand,
		newSubCommand,
		newTopicCommand,
		newGroupCommand,
		newCheckCommand,
		newBackupCommand, newRestoreCommand,
		newTokenCommand,
		newVersionCommand,
	} {
		root.AddCommand(build(a))
	}
	root.AddCommand(newExitCodes())
	a.watchStart(root)
	return root
}

// watchStart makes every command note that it has started, which tells a
// mistake on the command line from a failure of what was asked for: the
// errors of cobra have no type.
func (a *app) watchStart(c *cobra.Command) {
	if do := c.RunE; do != nil {
		c.RunE = func(c *cobra.Command, args []string) error {
			a.started = true
			return do(c, args)
		}
	}
	for _, sub := range c.Commands() {
		a.watchStart(sub)
	}
}

// group makes a command that only holds others: alone it shows its help, and
// an unknown word after it is an error that lists the known ones.
func group(c *cobra.Command) *cobra.Command {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		return unknown(c, args[0])
	}
	return c
}

// unknown is the error of a word that is none of a command's.
func unknown(c *cobra.Command, word string) error {
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	return wirelab.UnknownName("command", word, known)
}

// arguments checks the number of arguments and says what they are. most below 0 is no bound.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("%s needs %s", c.CommandPath(), what)
		case most >= 0 && len(args) > most:
			return usage("%s takes %s, not also %s", c.CommandPath(), what, strings.Join(args[most:], " "))
		}
		return nil
	}
}

// addJSONFlag adds the flag that every command with an answer has.
func addJSONFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON, for programs")
}

// printf writes to standard output.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}

// note writes a line to standard error, for the person and not for the pipe.
// An error is of no use: there is nowhere left to tell it.
func (a *app) note(format string, args ...any) { _, _ = fmt.Fprintf(a.stderr, format+"\n", args...) }

// printJSON writes a value as one line of JSON.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printTable writes rows in columns; the first is the head.
func (a *app) printTable(rows [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		// Without a tab after the last cell, so that lines end where it does.
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

func newVersionCommand(a *app) *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "Show the version", Args: arguments(0, 0, "no arguments")}
	asJSON := addJSONFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		v := version()
		if *asJSON {
			return a.printJSON(v)
		}
		return a.printf("hermes %s (%s), %s, %s\n", v.Version, v.Commit, v.Go, v.Platform)
	}
	return c
}
