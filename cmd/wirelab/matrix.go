package main

import (
	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/workload/catalog"
)

func newMatrixCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "matrix [WORKLOAD]",
		Short:   "Show the workloads, protocols, operations and libraries",
		Long:    desk.HelpText("matrix"),
		Example: "  wirelab matrix\n  wirelab matrix routeguide\n  wirelab matrix routeguide --json",
		Args:    cli.Arguments(0, 1, "at most one workload"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.WorkloadNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		works := a.Catalog
		if len(args) == 1 {
			w, err := a.Work(args[0])
			if err != nil {
				return err
			}
			works = []wirelab.Work{w}
		}
		matrix := make([]catalog.Matrix, len(works))
		for i, w := range works {
			matrix[i] = catalog.MatrixOf(w)
		}
		if *asJSON {
			return a.PrintJSON(matrix)
		}
		if len(args) == 1 {
			return a.Printf("%s", catalog.WorkloadText(matrix[0], a.Columns()))
		}
		return a.Printf("%s", catalog.Text(matrix, a.Columns()))
	}
	return c
}
