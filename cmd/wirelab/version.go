package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"wirelab/cli"
	"wirelab/result"
)

// versionInfo is what "version --json" shows.
type versionInfo struct {
	Version      string            `json:"version"`
	Commit       string            `json:"commit,omitempty"`
	Time         string            `json:"time,omitempty"`
	Dirty        bool              `json:"dirty,omitempty"`
	Go           string            `json:"go"`
	Platform     string            `json:"platform"`
	ResultSchema int               `json:"result_schema"`
	Libraries    map[string]string `json:"libraries"` // module to version
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
		v := version()
		if *asJSON {
			return a.PrintJSON(v)
		}
		commit := v.Commit
		if commit == "" {
			commit = "of no commit"
		} else if v.Dirty {
			commit += ", changed since"
		}
		return a.Printf("wirelab %s (%s), %s, %s, result schema %d\n", v.Version, commit, v.Go, v.Platform, v.ResultSchema)
	}
	return c
}

// version reads what the compiler put into the program.
func version() versionInfo {
	v := versionInfo{
		Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ResultSchema: result.Schema, Libraries: map[string]string{},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Dirty = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		v.Libraries[m.Path] = m.Version
	}
	return v
}
