package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/audit"
	"wirelab/lab/audit/trial"
	"wirelab/lab/inject"
	"wirelab/lab/progress"
)

const auditExample = `  wirelab audit --tool "hey -z 20s -q 20 -c 10 -m POST -T application/json -d {body} {target}"
  wirelab audit --tool "ghz --insecure --rps 200 -c 10 -n 4000 --call {method} -d {data} {address}"
  wirelab audit --tool "k6 run -e RATE=200 -e DURATION=20s --summary-trend-stats 'avg,max,p(50),p(90),p(95),p(99)' {script}"`

// auditFlags are the flags of "audit".
type auditFlags struct {
	trial.Trial
	json, markdown, verbose bool
}

func newAuditCommand(a *app) *cobra.Command { return auditCommand(a, trial.Run) }

// auditRunner runs the tool against a service, and records the command line.
type auditRunner func(
	ctx context.Context, tell progress.Teller, cell wirelab.Cell, f trial.Trial, truth inject.Truth, tool string,
	done *trial.Audited,
) (audit.Output, error)

// auditCommand makes the command. run runs the tool.
func auditCommand(a *app, run auditRunner) *cobra.Command {
	var f auditFlags
	command := &cobra.Command{
		Use:     "audit --tool 'COMMAND with {target}'",
		Short:   "Check whether another load generator reports true latencies",
		Long:    desk.HelpText("audit"),
		Example: auditExample,
		Args:    cli.Arguments(0, 0, "no arguments"),
		RunE: func(command *cobra.Command, _ []string) error {
			return a.audit(command.Context(), f, run)
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.Tool, "tool", "", "the tool's `command`, with placeholders (required)")
	flags.StringVar(&f.Protocol, "protocol", "",
		"`protocol` of the service (default: grpc for ghz and fortio -grpc, h2c-proto for h2load, else http1-json)")
	flags.StringVar(&f.Inject, "inject", "frozen 1ms 500ms 5s", "`behaviour` of the service; see wirelab serve --help")
	flags.StringVar(&f.Parser, "parser", "",
		"read the output as that of this `tool` (default: recognised by its command or output)")
	flags.StringVar(&f.Rate, "rate", "",
		"calls per `second` in all that the command asks for (default: read from its options)")
	flags.DurationVar(&f.Length, "for", 0, "how long the command sends (default: read from its options)")
	flags.DurationVar(&f.Timeout, "timeout", 5*time.Minute, "stop the tool after this time")
	flags.BoolVar(&f.Alone, "alone", false,
		"without the 20 calls a second that wirelab makes to tell a busy machine from a wrong tool")
	flags.BoolVar(&f.json, "json", false, "print JSON, for programs")
	flags.BoolVar(&f.markdown, "markdown", false, "print the rows of a Markdown table")
	flags.BoolVar(&f.verbose, "verbose", false, "print what the tool printed, on standard error")
	if err := command.MarkFlagRequired("tool"); err != nil {
		panic(err) // the flag is defined above
	}
	command.MarkFlagsMutuallyExclusive("json", "markdown")
	cli.Explain(command, desk.HelpText("audit.details"))
	return command
}

// audit runs the tool against the service and prints the outcome.
func (a *app) audit(ctx context.Context, f auditFlags, run auditRunner) error {
	if f.Timeout <= 0 {
		return cli.Usage("--timeout %v: want more than 0", f.Timeout)
	}
	if !audit.Uses(f.Tool, "target", "get", "address", "script") {
		return cli.Usage("--tool %q: it does not say what to call; put {target} where the URL belongs, or {address}",
			f.Tool)
	}
	truth, err := trial.Truth(f.Inject)
	if err != nil {
		return err
	}
	parser, asked, err := f.Known()
	if err != nil {
		return err
	}
	if _, err := trial.Files("", "", "", parser.Name).Values.Fill(f.Tool); err != nil {
		return err
	}
	if f.Protocol == "" {
		f.Protocol = trial.GuessProtocol(f.Tool, parser.Name)
	}
	cell, err := a.Cell("routeguide", f.Protocol, "", "")
	if err != nil {
		return err
	}
	f.Quiet = f.json || f.markdown
	done := trial.Audited{Protocol: f.Protocol, Inject: f.Inject}
	output, err := run(ctx, a.Tell, cell, f.Trial, truth, parser.Name, &done)
	if f.verbose {
		for _, text := range []string{output.File, output.Stdout, output.Stderr} {
			if text != "" {
				a.Note("%s", strings.TrimRight(text, "\n"))
			}
		}
	}
	if err != nil {
		return unjudged(err)
	}
	if f.Parser == "" {
		if found, ok := audit.ParserOfOutput(output); ok && (parser.Name == "" || !parser.Reads(output)) {
			parser = found
		}
	}
	if parser.Name == "" {
		return unjudged(wirelab.Errorf(wirelab.Unavailable,
			"the tool's output is of no known form; known are those of %s; --parser forces one, --verbose shows it",
			strings.Join(audit.Names(), ", ")))
	}
	report, err := parser.Parse(output)
	if err != nil {
		return unjudged(fmt.Errorf("%w; --verbose shows what it printed", err))
	}
	done.Finding = audit.Compare(audit.Run{
		Tool: parser.Name, Report: report, Asked: asked, Took: done.Took,
		ControlClient: done.ControlClient,
	}, truth)
	if err := a.printAudit(done, f); err != nil {
		return err
	}
	switch done.Verdict {
	case audit.Truthful:
		return nil
	case audit.Untruthful:
		return cli.With(desk.ExitFailed, nil)
	}
	return cli.With(desk.ExitNoWord, nil)
}

// unjudged returns the error of an audit without a verdict. The command line was right by then, except that the tool
// may not be installed.
func unjudged(err error) error {
	if wirelab.CodeOf(err) == wirelab.NotFound {
		return cli.With(desk.ExitUsage, err)
	}
	return cli.With(desk.ExitNoWord, err)
}
