package kept

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/paragraph"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/rank"
	"wirelab/results/outages"
	"wirelab/results/report"
	"wirelab/results/report/forms"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

// decideFormats returns the formats of "wirelab decide". The first is the default.
func decideFormats() []string { return []string{forms.Text, "markdown", forms.JSON} }

func newDecideCommand(a *commands) *cobra.Command {
	var format string
	var files []string
	var asJSON *bool
	c := &cobra.Command{
		Use:               "decide RESULT",
		Short:             "Show when to use a direct call and when a queue",
		Long:              desk.HelpText("decide"),
		Example:           desk.HelpText("decide.examples"),
		Args:              cli.Arguments(1, 1, "an id or a file of a result"),
		ValidArgsFunction: a.CompleteIDs,
	}
	addChaosFiles(c, &files)
	c.Flags().StringVar(&format, "format", forms.Text, "what to print: "+strings.Join(decideFormats(), ", "))
	a.AddRefusedFlag(c.Flags())
	asJSON = cli.JSONFlag(c)
	a.AddFullFlag(c.Flags())
	c.MarkFlagsMutuallyExclusive("json", "format")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *asJSON {
			format = forms.JSON
		}
		if !slices.Contains(decideFormats(), format) {
			return wirelab.UnknownName("format", format, decideFormats())
		}
		if format == forms.JSON {
			if err := a.CannotMark("the json of decide",
				"text and markdown have one, and wirelab results export --format json"); err != nil {
				return err
			}
		}
		return a.decide(c.Context(), args[0], files, format)
	}
	return c
}

// addChaosFiles adds the flag for files of chaos runs.
func addChaosFiles(c *cobra.Command, files *[]string) {
	c.Flags().StringArrayVar(files, "chaos", nil,
		``+"`file`"+` that "wirelab chaos logging --json" wrote: what happens when parts fail; may be given several times`)
}

// decide prints the tables of a result.
func (k *commands) decide(ctx context.Context, name string, files []string, format string) error {
	r, err := k.Find(ctx, name)
	if err != nil {
		return err
	}
	outages, err := outages.Read(ctx, k.ReadFile, files)
	if err != nil {
		return err
	}
	found := analyse.Result(r)
	analysis := &found
	if k.Refused {
		analysis = analysis.WithRefused()
	}
	tables := report.Decisions(r, analysis, outages)
	advice := report.Advice(r, analysis)
	if len(tables) == 0 && len(advice) == 0 {
		return undecidable(r)
	}
	if len(tables) == 0 && format != forms.JSON {
		return k.printAdvice(advice)
	}
	switch format {
	case forms.JSON:
		return k.PrintJSON(Decisions{ID: r.ID, Tables: append([]report.DecisionTable{}, tables...), Advice: advice})
	case "markdown":
		return markdown.WriteDecisions(k.Stdout, tables)
	}
	if !k.Full {
		return terminal.WriteSummary(k.Stdout, report.SummariseDecisions(r.ID, tables), k.Style())
	}
	return terminal.WriteDecisions(k.Stdout, tables, k.Style())
}

// Decisions is the output of --json.
type Decisions struct {
	ID     string                 `json:"id"` // of the result
	Tables []report.DecisionTable `json:"tables"`
	// Advice compares published recommendations with the measurements.
	Advice []string `json:"advice,omitempty"`
}

// printAdvice prints published recommendations and the measurements for them: a list, the same in text and Markdown.
func (k *commands) printAdvice(advice []string) error {
	var b strings.Builder
	b.WriteString(paragraph.Hang("", 0, "The published recommendations, and the measurements here:",
		k.Columns()))
	b.WriteString("\n")
	for _, line := range advice {
		b.WriteString(paragraph.Hang("- ", 2, line, k.Columns()))
	}
	return k.Printf("%s", b.String())
}

// undecidable says why there is no table for a result.
func undecidable(r *result.Result) error {
	why := "the entries of its arms were not followed until they were stored"
	switch {
	case len(r.Rounds) == 0:
		why = "no round was measured"
	case len(r.Plan.Arms) > rank.ContestLimit:
		why = fmt.Sprintf("more than %d ways have so many pairs that no claim is left", rank.ContestLimit)
	}
	return cli.Usage("%s does not show when to use which: %s; 'wirelab compare log-grpc log-rabbit -w "+
		"logging.WriteLog --in-flight 50' makes a result that does", r.ID, why)
}
