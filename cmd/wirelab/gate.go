package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/internal/fault"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/report/json"
	"wirelab/results/report/junit"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

// gate is the flags that make a command a gate for continuous integration.
type gate struct {
	failIf          []string
	markdown, junit string // files; "-" is standard output
	thresholds      []result.Threshold
}

func (g *gate) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&g.failIf, "fail-if", nil, "a `threshold`, such as 'cpu/req > +3%' or 'p99 > 20ms'; can be given several times")
	flags.StringVar(&g.markdown, "markdown", "", "write a comment for a pull request to a `file`; - prints it instead of the report")
	flags.StringVar(&g.junit, "junit", "", "write the thresholds as JUnit XML to a `file`; - prints it instead of the report")
}

// prepare reads the thresholds and checks that the plan has what they are
// about, before anything is run.
func (g *gate) prepare(p plan.Plan, asJSON bool) error {
	onOutput := 0
	for _, taken := range []bool{asJSON, g.markdown == "-", g.junit == "-"} {
		if taken {
			onOutput++
		}
	}
	switch {
	case onOutput > 1:
		return cli.Usage("only one of --json, --markdown - and --junit - can have standard output")
	case g.junit != "" && len(g.failIf) == 0:
		return cli.Usage("--junit tells how thresholds stand; give one with --fail-if")
	}
	g.thresholds = nil
	for _, text := range g.failIf {
		t, err := result.ParseThreshold(text)
		if err != nil {
			return err
		}
		if err := t.Check(p); err != nil {
			return err
		}
		g.thresholds = append(g.thresholds, t)
	}
	return nil
}

// judge is nil without thresholds.
func (g *gate) judge(r *result.Result, a *result.Analysis) *result.Judgement {
	if len(g.thresholds) == 0 {
		return nil
	}
	j := result.Judge(r, a, g.thresholds)
	return &j
}

// ownsOutput reports whether a file of the gate is standard output, so that
// nothing else may be written there.
func (g *gate) ownsOutput() bool { return g.markdown == "-" || g.junit == "-" }

// marks refuses --show-refused where all that is printed is a form without marks: what
// CI systems read is to hold claims alone.
func (g *gate) marks(a *app) error {
	if !g.ownsOutput() {
		return nil
	}
	return a.cannotMark("what --markdown - and --junit - print", "give them a file, and the text has one; or write wirelab report --format markdown after it")
}

// write writes the files that were asked for.
func (g *gate) write(a *app, r *result.Result, analysis *result.Analysis, j *result.Judgement) error {
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{g.markdown, func(w io.Writer) error { return markdown.WriteComment(w, r, analysis, j) }},
		{g.junit, func(w io.Writer) error { return junit.Write(w, r, j) }},
	} {
		var err error
		switch file.name {
		case "":
		case "-":
			err = file.write(a.Stdout)
		default:
			err = overwrite(file.name, file.write)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overwrite writes a file as a shell's redirection would: it may be a device,
// or one that a CI system made and holds open, so it is not replaced.
func overwrite(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
		return fault.Write(name, err)
	}
	return nil
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
func (g *gate) noWord(err error) error {
	if err != nil && len(g.failIf) > 0 && exitCodeOf(err) == exitFailed {
		return cli.With(exitNoWord, err)
	}
	return err
}

func newCheckCommand(a *app) *cobra.Command {
	var g gate
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
		if err := g.prepare(r.Asked(), *asJSON); err != nil {
			return err
		}
		analysis := result.Analyse(r)
		j := g.judge(r, &analysis)
		if err := g.write(a, r, &analysis, j); err != nil {
			return g.noWord(err)
		}
		switch {
		case *asJSON:
			err = a.PrintJSON(j)
		case !g.ownsOutput():
			err = terminal.WriteCheck(a.Stdout, r, j, a.style())
		}
		if err != nil {
			return g.noWord(err)
		}
		return outcomeError(r, j, !*asJSON && !g.ownsOutput())
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
