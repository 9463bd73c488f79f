package measure

import (
	"context"
	"fmt"
	"strings"

	"wirelab/internal/fault"
	"wirelab/internal/paragraph"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/store"
)

// whenColumns is the column at which the text of a result begins in a list, after its id and time.
const whenColumns = 42

// ListText writes results in a few lines each: id and time, what was compared, and what was found.
func ListText(ctx context.Context, s store.Store, list []store.Summary, columns int) (string, error) {
	var b strings.Builder
	for _, m := range list {
		g, err := gistOf(ctx, s, m)
		if ctx.Err() != nil {
			return "", err
		}
		if err != nil { // a damaged result must not hide the others
			g = report.Gist{Arms: strings.Join(m.Protocols, ", "), Verdict: "cannot be read: " + fault.Describe(err)}
		}
		b.WriteString(listedText(m, g, columns))
	}
	return b.String(), nil
}

// gistOf returns the gist of a result, which is stored with the result.
func gistOf(ctx context.Context, s store.Store, m store.Summary) (report.Gist, error) {
	return report.ListedGist(m.Finding,
		func() (*result.Result, error) { return s.Get(ctx, m.ID) },
		func(text string) error { return s.SetFinding(ctx, m.ID, text) })
}

func listedText(m store.Summary, g report.Gist, columns int) string {
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
	b.WriteString(paragraph.Hang(fmt.Sprintf("%s  %s", m.ID, m.Began.UTC().Format("2 Jan 15:04 UTC")), whenColumns,
		name, columns))
	b.WriteString(paragraph.Hang("", 2, work+": "+g.Arms+loads, columns))
	found := g.Verdict
	for _, more := range []string{g.Validity, unusual(m)} {
		if more != "" {
			found += "; " + more
		}
	}
	b.WriteString(paragraph.Hang("  → ", 4, strings.TrimPrefix(found, "; "), columns))
	return plan.Harmless(b.String(), true) // the finding may have been stored by an earlier version
}

// unusual says how a result ended if that was not as planned.
func unusual(m store.Summary) string {
	switch m.Ending {
	case result.Interrupted:
		return "interrupted"
	case result.Failed:
		return "ended early: too few arms were left"
	}
	return ""
}
