package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/chaos"
	"wirelab/lab/result"
	"wirelab/pipeline/stack"
	"wirelab/results/report"
	"wirelab/results/report/html"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

// decideFormats are the forms of "wirelab decide", the first being the usual one.
func decideFormats() []string { return []string{formatText, "markdown", formatJSON} }

func newDecideCommand(a *app) *cobra.Command {
	var format string
	var files []string
	var asJSON *bool
	c := &cobra.Command{
		Use:   "decide RESULT",
		Short: "Show when to use a direct call and when a queue",
		Long: `Decide prints a table "when to use which" from a result that compares paths
through the log pipeline, such as log-grpc and log-rabbit. For each need it says
which path is best, by how much, and under which conditions:

  soonest answer, soonest stored, most per second, least CPU, nothing lost

It also says which paths have no clear difference, and which have no figure and
why. All pairs are compared. A path that answers before an entry is durable is
marked everywhere.

To show what happens when parts fail, give the files of "wirelab chaos logging
--json". These are single runs, so they are listed and not ranked. If there is no
file, the table says which command makes it.

Of a preset with published recommendations, such as ledger-balance, it prints each
of them with what was measured here.

RESULT is an id, "latest", or a file that "results export" wrote. "wirelab
report" shows the same table as a page, with --chaos too.`,
		Example: `  wirelab compare log-grpc log-rabbit log-nats -w logging.WriteLog --in-flight 50
  wirelab decide latest
  wirelab chaos logging log-grpc log-rabbit --json > chaos.json
  wirelab decide latest --chaos chaos.json --format markdown`,
		Args:              cli.Arguments(1, 1, "an id or a file of a result"),
		ValidArgsFunction: a.completeIDs,
	}
	addChaosFiles(c, &files)
	c.Flags().StringVar(&format, "format", formatText, "what to print: "+strings.Join(decideFormats(), ", "))
	a.addRefusedFlag(c.Flags())
	asJSON = cli.JSONFlag(c)
	a.addFullFlag(c.Flags())
	c.MarkFlagsMutuallyExclusive("json", "format")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *asJSON {
			format = formatJSON
		}
		if !slices.Contains(decideFormats(), format) {
			return wirelab.UnknownName("format", format, decideFormats())
		}
		if format == formatJSON {
			if err := a.cannotMark("the json of decide", "text and markdown have one, and wirelab results export --format json"); err != nil {
				return err
			}
		}
		return a.decide(c.Context(), args[0], files, format)
	}
	return c
}

// addChaosFiles adds the flag for what happened when parts failed.
func addChaosFiles(c *cobra.Command, files *[]string) {
	c.Flags().StringArrayVar(files, "chaos", nil, ``+"`file`"+` that "wirelab chaos logging --json" wrote: what happens when parts fail; may be given several times`)
}

// decide prints the tables of a result.
func (a *app) decide(ctx context.Context, name string, files []string, format string) error {
	r, err := a.Find(ctx, name)
	if err != nil {
		return err
	}
	outages, err := a.readOutages(ctx, files)
	if err != nil {
		return err
	}
	found := result.Analyse(r)
	analysis := &found
	if a.refused {
		analysis = analysis.WithRefused()
	}
	tables := report.Decisions(r, analysis, outages)
	advice := report.Advice(r, analysis)
	if len(tables) == 0 && len(advice) == 0 {
		return undecidable(r)
	}
	if len(tables) == 0 && format != formatJSON {
		return a.printAdvice(advice)
	}
	switch format {
	case formatJSON:
		return a.PrintJSON(decisions{ID: r.ID, Tables: append([]report.DecisionTable{}, tables...), Advice: advice})
	case "markdown":
		return markdown.WriteDecisions(a.Stdout, tables)
	}
	if !a.full {
		return terminal.WriteSummary(a.Stdout, report.SummariseDecisions(r.ID, tables), a.style())
	}
	return terminal.WriteDecisions(a.Stdout, tables, a.style())
}

// decisions is what --json prints.
type decisions struct {
	ID     string                 `json:"id"` // of the result
	Tables []report.DecisionTable `json:"tables"`
	// Advice is what was recommended with published figures, held to what was measured.
	Advice []string `json:"advice,omitempty"`
}

// printAdvice prints what was recommended with published figures, held to what was measured: a list
// in text and Markdown alike.
func (a *app) printAdvice(advice []string) error {
	var b strings.Builder
	b.WriteString(cli.Hang("", 0, "What was recommended with the published figures, and what was measured here:", a.columns()))
	b.WriteString("\n")
	for _, line := range advice {
		b.WriteString(cli.Hang("- ", 2, line, a.columns()))
	}
	return a.Printf("%s", b.String())
}

// undecidable says why there is no table of a result.
func undecidable(r *result.Result) error {
	why := "the entries of its arms were not followed until they were stored"
	switch {
	case len(r.Rounds) == 0:
		why = "no round was measured"
	case len(r.Plan.Arms) > result.ContestLimit:
		why = fmt.Sprintf("of more than %d ways so many pairs are compared that no claim is left", result.ContestLimit)
	}
	return cli.Usage("%s does not tell when to use which: %s; such as 'wirelab compare log-grpc log-rabbit -w logging.WriteLog --in-flight 50' makes a result that does", r.ID, why)
}

// chaosLimit is how many runs all files together may hold, far above what anybody makes.
const chaosLimit = 10_000

// readOutages reads files of chaos runs, all of them or none.
func (a *app) readOutages(ctx context.Context, files []string) ([]report.Outage, error) {
	var all []report.Outage
	for _, name := range files {
		data, err := a.readFile(ctx, "--chaos", name, outagesLimit)
		if err != nil {
			return nil, err
		}
		runs, err := decodeChaos(data)
		if err != nil {
			return nil, cli.Usage("--chaos %s: %v; want what 'wirelab chaos logging --json' writes", name, err)
		}
		for i := range runs {
			all = append(all, outages(&runs[i])...)
		}
		if len(all) > chaosLimit {
			return nil, cli.Usage("--chaos %s: more than %d runs", name, chaosLimit)
		}
	}
	return all, nil
}

// decodeChaos reads runs, and checks that they are whole and add up.
func decodeChaos(data []byte) ([]chaosRun, error) {
	var runs []chaosRun
	if err := json.Unmarshal(data, &runs); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a list of runs: %v", err)
	}
	if len(runs) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "no run is in it")
	}
	for i := range runs {
		if err := wholeChaos(&runs[i]); err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "run %d: %s", i+1, wirelab.Public(err).Message)
		}
	}
	return runs, nil
}

// wholeChaos is nil, or what is wrong with a run.
func wholeChaos(r *chaosRun) error {
	if r.Path == "" || r.Faults == "" {
		return wirelab.Errorf(wirelab.InvalidArgument, "it does not say of which path and faults it is")
	}
	if _, err := chaos.Parse(r.Faults); err != nil {
		return err
	}
	p := r.Report
	if p == nil {
		if r.Absent == "" && r.Failed == "" {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s, %s: there is no report, and no word on why", r.Path, r.Faults)
		}
		return nil
	}
	refused := uint64(0)
	for _, n := range p.Account.Refused {
		refused += n
	}
	c := &p.Account
	switch {
	case p.Path != r.Path:
		return wirelab.Errorf(wirelab.InvalidArgument, "a run of %s has a report of %s", r.Path, p.Path)
	case c.Accepted+refused != c.Sent || c.Stored+c.Missing != c.Accepted:
		return wirelab.Errorf(wirelab.InvalidArgument, "%s, %s: the account does not add up: %d sent, %d accepted, %d refused, %d stored, %d missing",
			r.Path, r.Faults, c.Sent, c.Accepted, refused, c.Stored, c.Missing)
	case p.Rate < 0 || p.Limit <= 0 || p.Load <= 0:
		return wirelab.Errorf(wirelab.InvalidArgument, "%s, %s: rate, limit or time are not above 0", r.Path, r.Faults)
	}
	for _, e := range p.Effects {
		if _, err := chaos.Parse(e.Fault); err != nil {
			return err
		}
		sum := 0
		for _, n := range e.Refused {
			sum += n
		}
		if sum > e.Due || e.Due < 0 || e.P99 < 0 || e.Max < e.P99 {
			return wirelab.Errorf(wirelab.InvalidArgument, "%s, %s: what callers saw of %s does not add up", r.Path, r.Faults, e.Fault)
		}
	}
	return nil
}

// outages are what a run showed of each of its faults.
func outages(r *chaosRun) []report.Outage {
	faults, _ := chaos.Parse(r.Faults) // wholeChaos has found no error
	var all []report.Outage
	for _, f := range faults {
		o := report.Outage{Path: r.Path, Fault: f.String(), Among: len(faults), Handover: r.Handover, Machine: r.Machine}
		if i := effectOf(r.Report, f.String()); i >= 0 {
			o = shown(o, r.Report, r.Report.Effects[i])
		} else {
			o.Why = cmp.Or(r.Absent, r.Failed, strings.Join(r.LeftOut, "; "), "the run was over before")
		}
		all = append(all, o)
	}
	return all
}

// effectOf is the place of a fault's effect in a report; -1 where there is none.
func effectOf(p *chaos.Report, fault string) int {
	if p == nil {
		return -1
	}
	return slices.IndexFunc(p.Effects, func(e chaos.Effect) bool { return e.Fault == fault })
}

// shown fills in what a report tells of a fault.
func shown(o report.Outage, p *chaos.Report, e chaos.Effect) report.Outage {
	recovery := func(r chaos.Recovery) report.Recovery {
		return report.Recovery{
			Already: r.Already, Left: r.Left, Back: r.Back, SinceBegin: time.Duration(r.SinceBegin), SinceEnd: time.Duration(r.SinceEnd),
		}
	}
	c := &p.Account
	o.Rate, o.Limit = p.Rate, time.Duration(p.Limit)
	o.Due, o.Refused, o.P99, o.Longest = e.Due, e.Refused, time.Duration(e.P99), time.Duration(e.Max)
	o.Answers, o.Storage = recovery(e.Response), recovery(e.Storage)
	o.Accepted, o.Missing, o.Doubled, o.Twice, o.Kept = c.Accepted, c.Missing, c.Duplicated, c.Twice, c.Kept
	o.AtLeast, o.Promised, o.Interrupted = c.AtLeast, p.Promised, p.Interrupted
	o.Database = p.About[stack.LoggerPart]
	for _, part := range slices.Sorted(maps.Keys(p.About)) {
		if slices.Contains(stack.Brokers(), part) {
			o.Broker = p.About[part]
		}
	}
	return o
}

// withChaos lets a form of "wirelab report" show what happens when parts fail.
func (a *app) withChaos(ctx context.Context, f reportFormat, files []string, results int) (reportFormat, error) {
	if len(files) == 0 {
		return f, nil
	}
	if results > 1 {
		return f, cli.Usage("--chaos belongs to one result, not to %d", results)
	}
	outages, err := a.readOutages(ctx, files)
	if err != nil {
		return f, err
	}
	switch f.name {
	case "html":
		f.write = func(w io.Writer, r *result.Result) error { return html.WriteWithOutages(w, r, outages) }
	case "markdown":
		f.write = func(w io.Writer, r *result.Result) error { return markdown.WriteWithOutages(w, r, outages) }
	default:
		return f, cli.Usage("--chaos is shown by the formats html and markdown, and by 'wirelab decide'")
	}
	return f, nil
}
