package main

import (
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
)

const rootText = `wirelab runs the same work over every way services talk, measures it so that
the answer holds, and refuses to answer where it would not.`

const rootExample = `  wirelab compare grpc http1-json --workload routeguide.GetFeature
  wirelab run quick                    an experiment that comes with wirelab
  wirelab results show                 the latest result
  wirelab matrix                       what can be compared`

// newRootCommand assembles the program.
func newRootCommand(a *app) *cobra.Command {
	root := group(&cobra.Command{
		Use:     "wirelab",
		Short:   "Compare ways for services to talk",
		Long:    rootText,
		Example: rootExample,
		// The program prints errors itself, as one line; a page of usage
		// after an error hides it.
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	root.PersistentFlags().StringVar(&a.results, resultsFlag, "",
		"where results are kept: a `file`, or postgres://… (default $WIRELAB_STORE, else a file of yours; see wirelab results --help)")
	for _, build := range commands() {
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
		var known []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				known = append(known, sub.Name())
			}
		}
		return wirelab.UnknownName("command", args[0], known)
	}
	return c
}

// arguments checks the number of arguments and says what they are.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("%s needs %s", c.CommandPath(), what)
		case len(args) > most:
			return usage("%s takes %s, not also %s", c.CommandPath(), what, strings.Join(args[most:], " "))
		}
		return nil
	}
}

// addJSONFlag adds the flag that every listing has.
func addJSONFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON, for programs")
}
