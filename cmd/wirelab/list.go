package main

import (
	"context"
	"fmt"
	"strings"

	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/store"
)

// whenColumns is where the text of a result begins in a list, after its id and time.
const whenColumns = 42

// printList prints results, each in a few lines: id and time, what was compared, what was found.
func (a *app) printList(ctx context.Context, s store.Store, list []store.Summary) error {
	if len(list) == 0 {
		a.Note("no results; wirelab presets lists experiments to run")
		return nil
	}
	for _, m := range list {
		g, err := gistOf(ctx, s, m)
		if ctx.Err() != nil {
			return err
		}
		if err != nil { // one that is damaged must not hide the others
			g = report.Gist{Arms: strings.Join(m.Protocols, ", "), Verdict: "cannot be read: " + describe(err)}
		}
		if err := a.printListed(m, g); err != nil {
			return err
		}
	}
	return nil
}

// gistOf is what a list says of a result; it is kept with the result.
func gistOf(ctx context.Context, s store.Store, m store.Summary) (report.Gist, error) {
	return report.ListedGist(m.Finding,
		func() (*result.Result, error) { return s.Get(ctx, m.ID) },
		func(text string) error { return s.SetFinding(ctx, m.ID, text) })
}

func (a *app) printListed(m store.Summary, g report.Gist) error {
	name := m.Name
	if name == "compare" {
		name = ""
	}
	if m.Label != "" {
		name = "“" + m.Label + "”"
	}
	work := m.Workload
	if len(m.Operations) == 1 {
		work += "." + m.Operations[0]
	}
	var loads string
	if g.Loads != "" {
		loads = "; " + g.Loads
	}
	var b strings.Builder
	b.WriteString(cli.Hang(fmt.Sprintf("%s  %s", m.ID, m.Began.UTC().Format("2 Jan 15:04 UTC")), whenColumns, name, a.columns()))
	b.WriteString(cli.Hang("", 2, work+": "+g.Arms+loads, a.columns()))
	found := g.Verdict
	for _, more := range []string{g.Validity, unusual(m)} {
		if more != "" {
			found += "; " + more
		}
	}
	b.WriteString(cli.Hang("  → ", 4, strings.TrimPrefix(found, "; "), a.columns()))
	return a.Printf("%s", plan.Harmless(b.String(), true)) // what was found may be in the words of an earlier wirelab
}

// unusual says how a result ended, where that was not as planned.
func unusual(m store.Summary) string {
	switch m.Ending {
	case result.Interrupted:
		return "interrupted"
	case result.Failed:
		return "ended early: too few arms were left"
	}
	return ""
}
