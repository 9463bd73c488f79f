package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/result"
)

// versionInfo is the output of "version --json".
type versionInfo struct {
	cli.Build
	ResultSchema int               `json:"result_schema"`
	Libraries    map[string]string `json:"libraries"` // module to version
}

// aboutLine is the line that --version and version print.
func aboutLine() string {
	return fmt.Sprintf("%s, result schema %d", cli.ThisBuild().About("wirelab"), result.Schema)
}

func newVersionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Show the version, and with --json of every library too",
		Example: "  wirelab version\n  wirelab version --json",
		Args:    cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			b := cli.ThisBuild()
			return a.PrintJSON(versionInfo{b, result.Schema, b.Modules})
		}
		return a.Printf("%s\n", aboutLine())
	}
	return c
}
