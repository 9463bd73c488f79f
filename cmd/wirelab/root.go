package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
)

const rootText = `wirelab runs the same work over each protocol and measures what each one costs.
If a validity check fails, it prints the reason instead of the number.`

// newRootCommand assembles the program.
func newRootCommand(a *app) *cobra.Command {
	root := cli.Root(&cobra.Command{
		Use:     "wirelab",
		Short:   "Compare ways for services to talk",
		Long:    rootText,
		Example: desk.HelpText("root.examples"),
	}, aboutLine())
	root.PersistentFlags().StringVar(&a.Results, resultsFlag, "",
		"where results are stored: a `file`, or postgres://… (default $WIRELAB_STORE, else a file in your home; see "+
			"wirelab results --help)")
	for _, build := range commands() {
		root.AddCommand(build(a))
	}
	cli.GroupFlags(root, flagGroups)
	a.complete(root)
	root.AddCommand(cli.Topic("exit-codes", "What the exit codes mean", desk.HelpText("exit-codes")),
		cli.Topic("metrics", "The names of metrics, for --fail-if and --primary", metricsText()))
	cli.Lasts(root, lasts())
	return root
}
