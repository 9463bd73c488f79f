package desk

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/threshold"
	"wirelab/results/gate"
	"wirelab/results/report"
	"wirelab/results/report/json"
	"wirelab/results/report/terminal"
)

// Gate has the flags that make a command a gate for continuous integration.
type Gate struct {
	gate.Files
	FailIf []string
}

// Register adds the flags.
func (g *Gate) Register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&g.FailIf, "fail-if", nil,
		"a `threshold`, such as 'cpu/req > +3%' or 'p99 > 20ms'; can be given several times")
	flags.StringVar(&g.Markdown, "markdown", "",
		"write a comment for a pull request to a `file`; - prints it instead of the report")
	flags.StringVar(&g.Junit, "junit", "",
		"write the thresholds as JUnit XML to a `file`; - prints it instead of the report")
}

// Marks refuses --show-refused if only formats without marks are printed, since CI systems must read only claims.
func (g *Gate) Marks(a *Desk) error {
	if !g.OwnsOutput() {
		return nil
	}
	return a.CannotMark("what --markdown - and --junit - print",
		"give them a file, and the text has one; or write wirelab report --format markdown after it")
}

// OutcomeError returns the exit code for a judgement. said reports that the report is printed, so that the error
// needs no text.
func OutcomeError(r *result.Result, j *threshold.Judgement, said bool) error {
	code := map[threshold.Outcome]int{
		threshold.Crossed: ExitFailed, threshold.Undecided: ExitUndecided,
		threshold.Spoiled: ExitNoWord,
	}[j.Outcome]
	switch text := report.Judged(r.Plan, j); {
	case code == ExitOK:
		return nil
	case said:
		return cli.With(code, nil)
	default:
		return cli.With(code, errors.New(strings.ToLower(text[:1])+strings.TrimSuffix(text[1:], ".")))
	}
}

// NoWord changes a failure, exit code 1, to exit code 3 if there are thresholds: then 1 means only that a threshold
// is exceeded.
func (g *Gate) NoWord(err error) error {
	if err != nil && len(g.FailIf) > 0 && ExitCodeOf(err) == ExitFailed {
		return cli.With(ExitNoWord, err)
	}
	return err
}

// PrintResult prints the short answer, or with --full a report, followed by the judgement if there is one.
func (d *Desk) PrintResult(r *result.Result, analysis *claim.Analysis, j *threshold.Judgement, asJSON bool) error {
	if asJSON {
		return json.WriteJudged(d.Stdout, r, analysis, j)
	}
	style := d.Style()
	if !d.Full {
		if d.Refused {
			analysis = analysis.WithRefused()
		}
		return terminal.WriteSummary(d.Stdout, report.Summarise(r, analysis, j), style)
	}
	if err := terminal.WriteAnalysed(d.Stdout, r, analysis, style); err != nil || j == nil {
		return err
	}
	if err := d.Printf("\n"); err != nil {
		return err
	}
	return terminal.WriteJudgement(d.Stdout, r, j, style)
}

// AddNameFlag adds the flag of every command that stores a result.
func AddNameFlag(flags *pflag.FlagSet, name *string) {
	flags.StringVar(name, "name", "",
		"a `name` for the result, such as 'before cache'; use it in lists and in place of the id")
}
