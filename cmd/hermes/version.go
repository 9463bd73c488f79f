package main

import (
	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
)

// versionInfo is what "version --json" shows.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // "of no commit" where it was built outside of one
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "Show the version", Example: "  hermes version\n  hermes version --json",
		Args: cli.Arguments(0, 0, "no arguments"),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(*cobra.Command, []string) error {
		b := cli.ThisBuild()
		if *asJSON {
			return a.PrintJSON(versionInfo{b.Version, b.CommitText(), b.Go, b.Platform})
		}
		return a.Printf("%s\n", b.About("hermes"))
	}
	return c
}
