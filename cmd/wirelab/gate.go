package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/result"
	"wirelab/results/gate"
	"wirelab/results/report"
	"wirelab/results/report/json"
	"wirelab/results/report/terminal"
)

// gateFlags are the flags that make a command a gate for continuous integration.
type gateFlags struct {
	gate.Files
	failIf []string
}

func (g *gateFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&g.failIf, "fail-if", nil, "a `threshold`, such as 'cpu/req > +3%' or 'p99 > 20ms'; can be given several times")
	flags.StringVar(&g.Markdown, "markdown", "", "write a comment for a pull request to a `file`; - prints it instead of the report")
	flags.StringVar(&g.Junit, "junit", "", "write the thresholds as JUnit XML to a `file`; - prints it instead of the report")
}

// marks refuses --show-refused where all that is printed is a form without marks: what
// CI systems read is to hold claims alone.
func (g *gateFlags) marks(a *app) error {
	if !g.OwnsOutput() {
		return nil
	}
	return a.cannotMark("what --markdown - and --junit - print", "give them a file, and the text has one; or write wirelab report --format markdown after it")
}

// outcomeError is the exit code for a judgement. said tells that the report is
// printed, so that there is nothing to add.
func outcomeError(r *result.Result, j *result.Judgement, said bool) error {
	code := map[result.Outcome]int{result.Crossed: exitFailed, result.Undecided: exitUndecided, result.Spoiled: exitNoWord}[j.Outcome]
	switch text := report.Judged(r.Plan, j); {
	case code == exitOK:
		return nil
	case said:
		return cli.With(code, nil)
	default:
		return cli.With(code, errors.New(strings.ToLower(text[:1])+strings.TrimSuffix(text[1:], ".")))
	}
}

// noWord makes of a failure, exit code 1, one of code 3 where there are
// thresholds: 1 then is a threshold crossed, and nothing else.
func (g *gateFlags) noWord(err error) error {
	if err != nil && len(g.failIf) > 0 && exitCodeOf(err) == exitFailed {
		return cli.With(exitNoWord, err)
	}
	return err
}

func newCheckCommand(a *app) *cobra.Command {
	var g gateFlags
	c := &cobra.Command{
		Use:               "check RESULT",
		Short:             "Check a stored result, or an exported file, against thresholds",
		Long:              helpText("check") + helpText("fail-if"),
		Example:           helpText("check.examples"),
		Args:              cli.Arguments(1, 1, "one id or file"),
		ValidArgsFunction: a.completeIDs,
	}
	g.register(c.Flags())
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(g.failIf) == 0 {
			return cli.Usage("nothing to check: give a threshold with --fail-if")
		}
		r, err := a.Find(c.Context(), args[0])
		if err != nil {
			return g.noWord(err)
		}
		if err := g.Prepare(r.Asked(), g.failIf, *asJSON); err != nil {
			return err
		}
		analysis := result.Analyse(r)
		j := g.Judge(r, &analysis)
		if err := g.Write(a.Stdout, r, &analysis, j); err != nil {
			return g.noWord(err)
		}
		switch {
		case *asJSON:
			err = a.PrintJSON(j)
		case !g.OwnsOutput():
			err = terminal.WriteCheck(a.Stdout, r, j, a.style())
		}
		if err != nil {
			return g.noWord(err)
		}
		return outcomeError(r, j, !*asJSON && !g.OwnsOutput())
	}
	return c
}

// printResult prints the short answer, or with --full a report with the
// judgement after it where there is one.
func (a *app) printResult(r *result.Result, analysis *result.Analysis, j *result.Judgement, asJSON bool) error {
	if asJSON {
		return json.WriteJudged(a.Stdout, r, analysis, j)
	}
	style := a.style()
	if !a.full {
		if a.refused {
			analysis = analysis.WithRefused()
		}
		return terminal.WriteSummary(a.Stdout, report.Summarise(r, analysis, j), style)
	}
	if err := terminal.WriteAnalysed(a.Stdout, r, analysis, style); err != nil || j == nil {
		return err
	}
	if err := a.Printf("\n"); err != nil {
		return err
	}
	return terminal.WriteJudgement(a.Stdout, r, j, style)
}
