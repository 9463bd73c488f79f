package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
)

const rootText = `hermes is a replicated message broker, and its command line tool. A message is
acknowledged when a majority of nodes has it on disk.`

const rootExample = `  hermes dev                                    a node to try things with
  hermes cluster --nodes 3                      three nodes on this machine
  hermes pub orders 'one order' --create
  hermes sub orders --from oldest --count 1
  hermes sub orders --group billing             share the work with others of the group
  hermes status
  hermes backup --to hermes.backup              everything, while the broker keeps working`

// app is what commands share: the world outside.
type app struct {
	cli.Terminal
	getenv func(string) string
}

// newRootCommand assembles the program.
func newRootCommand(a *app) *cobra.Command {
	root := cli.Root(&cobra.Command{
		Use:     "hermes",
		Short:   "A replicated message broker",
		Long:    rootText,
		Example: rootExample,
	}, cli.ThisBuild().About("hermes"))
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
		newBackupCommand, newRestoreCommand, newExportCommand, newRecoverCommand,
		newTokenCommand,
		newNullCommand,
		newVersionCommand,
	} {
		root.AddCommand(build(a))
	}
	cli.GroupFlags(root, flagGroups)
	words := func(all ...string) func() []string { return func() []string { return all } }
	cli.Complete(root, map[string]func() []string{
		"mode": words("consistent", "eventual", "performance"), "log-level": words("debug", "info", "warn", "error"),
		"from": words("tail", "oldest"),
	})
	root.AddCommand(cli.Topic("exit-codes", "What the exit codes mean", exitCodesText))
	cli.Lasts(root, lasts())
	return root
}
