package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/result/resulttest"
	"wirelab/results/store"
)

// Each command that takes --show-refused marks what was refused, in each of its forms, or
// says before it does anything that the form has no mark.
func TestShowRefusedIsObeyedOrRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s := newShell(t)
	calls, ways := resulttest.Refuse(resulttest.Closed()), resulttest.Refuse(resulttest.FourWays(12))
	a := newApp(cli.Terminal{}, nil, func(key string) string { return s.env[key] })
	if err := a.WithStore(t.Context(), func(results store.Store) error {
		return errors.Join(results.Put(t.Context(), calls), results.Put(t.Context(), ways))
	}); err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	const compared = "grpc http1-json -w routeguide.GetFeature --show-refused --fail-if cpu>+3% "
	for _, c := range []struct{ args, marks string }{
		{"results show ID", "¹"},
		{"results show ID --full", "(…) measured, and refused"},
		{"results show ID --json", `"refused": {`},
		{"report ID --format html -o -", `<s class="refused-value"`},
		{"report ID --format markdown", "(…) measured, and refused"},
		{"report ID --format csv", ",refused"},
		{"report ID --format json", `"refused": {`},
		{"report ID --format benchstat", ""},
		{"report ID --format jmh", ""},
		{"report ID --format svg", ""},
		{"explain ID", "measured, and refused by a check"},
		{"explain ID --full", "measured, and refused by a check"},
		{"explain ID --format markdown", "### Measured, and refused by a check"},
		{"explain ID --format json", `"refused": {`},
		{"explain ID --format csv", ""},
		{"decide WAYS", "("},
		{"decide WAYS --format markdown", "("},
		{"decide WAYS --format json", ""},
		{"replay ID --json", ""},
		{"compare " + compared + "--markdown -", ""},
		{"run quick --fail-if cpu>+3% --junit -", ""},
		{"curve grpc http1-json -w routeguide.GetFeature --rates 100,200,400 --fail-if p99>1s --markdown -", ""},
		{"load --help-all", "--show-refused"}, // it prints what compare does
		{"capacity --help", "--show-refused"}, // its json is what results show prints
	} {
		args := strings.Fields(strings.NewReplacer("ID", calls.ID, "WAYS", ways.ID).Replace(c.args))
		tried[args[0]] = true
		if !strings.Contains(c.args, "--show-refused") {
			args = append(args, "--show-refused")
		}
		if c.marks != "" {
			s.run(args...).wants(t, desk.ExitOK, []string{c.marks}, nil)
			continue
		}
		s.run(args...).wants(t, desk.ExitUsage, nil, []string{"--show-refused: ", "has no way to mark a refused value"})
	}
	var walk func(c *cobra.Command, first string)
	walk = func(c *cobra.Command, first string) {
		if c.Flags().Lookup("show-refused") != nil && !tried[first] {
			t.Errorf("%s takes --show-refused, and was not tried", c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below, first)
		}
	}
	for _, c := range newRootCommand(newApp(cli.Terminal{}, nil, nil)).Commands() {
		walk(c, c.Name())
	}
}
