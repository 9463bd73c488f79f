package report_test

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/block"
	page "wirelab/results/report/html"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

var (
	tags   = regexp.MustCompile(`(?s)<(script|style|svg).*?</(script|style|svg)>|<[^>]*>`)
	spaces = regexp.MustCompile(`[\s\x{a0}]+`)
)

// plainly is a text without line ends, ties and markup, so that one form's is another's.
func plainly(text string) string { return spaces.ReplaceAllString(text, " ") }

func fromPage(text string) string {
	return plainly(html.UnescapeString(tags.ReplaceAllString(text, " ")))
}

func fromMarkdown(text string) string {
	text = regexp.MustCompile(`\\([\\|*_\x60\[\]#])`).ReplaceAllString(strings.ReplaceAll(text, "**", ""), "$1")
	return plainly(html.UnescapeString(strings.ReplaceAll(text, "<br>", " ")))
}

// examples are a result of every kind.
func examples() map[string]*result.Result {
	return map[string]*result.Result{
		"messages": resulttest.Messages(), "scenarios": resulttest.MessageScenarios(), "streams": resulttest.Streams(),
		"chained": resulttest.Chained(), "ledger": resulttest.Ledger(), "pipeline": resulttest.Pipeline(),
		"closed": resulttest.Closed(), "open": resulttest.Open(), "troubled": resulttest.Troubled(),
		"capacity": resulttest.Capacity(), "curves": resulttest.Curves(), "absent": resulttest.Absent(),
		"decisions": resulttest.FourWays(12),
	}
}

// Every form has every text of every block. What a form leaves out by intent is listed here.
func TestEveryFormHasEveryBlock(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, r := range examples() {
		a := result.Analyse(r)
		var screen, document, web bytes.Buffer
		if err := terminal.Write(&screen, r, terminal.Style{Width: 4000}); err != nil {
			t.Fatal(err)
		}
		if err := markdown.Write(&document, r); err != nil {
			t.Fatal(err)
		}
		if err := page.Write(&web, r); err != nil {
			t.Fatal(err)
		}
		forms := map[string]string{
			"terminal": plainly(screen.String()), "markdown": fromMarkdown(document.String()), "page": fromPage(web.String()),
		}
		for _, b := range blocksOf(r, &a) {
			id := idOf(b)
			seen[id] = true
			for form, text := range forms {
				if why := leftOut[form+" "+id]; why != "" {
					continue
				}
				for _, want := range saidIn(form, b) {
					if want = plainly(want); !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
						t.Errorf("%s: %s of %s has not %q", name, id, form, want)
					}
				}
			}
		}
	}
	for _, id := range tablesOfAll {
		if !seen[id] {
			t.Errorf("no example has the table %s", id)
		}
	}
	for key := range leftOut {
		if _, id, _ := strings.Cut(key, " "); !seen[id] {
			t.Errorf("%s is left out, and is not there", key)
		}
	}
}

// blocksOf are the blocks of a report.
func blocksOf(r *result.Result, a *result.Analysis) []block.Block {
	r, a = report.Marked(r, a)
	var all []block.Block
	if t := report.ScenarioTable(r, a); t != nil {
		all = append(all, t, block.Notes{Kind: block.Mark, Lines: report.EarlyLegend(r)})
	}
	if a.Capacity != nil {
		all = append(all, report.CapacityBlocks(r, a.Capacity)...)
	}
	for i := range a.Curves {
		all = append(all, report.CurveBlocks(r, &a.Curves[i])...)
	}
	for i := range a.Loads {
		l := &a.Loads[i]
		if report.InCurve(a, l.Load) || report.Empty(l) {
			continue
		}
		for _, n := range report.LoadNotes(r, l) {
			all = append(all, n)
		}
		for _, t := range append(report.Accounts(l), report.StreamTable(l), report.ClientTable(l), report.CountTable(l)) {
			if t != nil {
				all = append(all, t)
			}
		}
	}
	return append(all, report.PublishedBlocks(r, a)...)
}

// saidIn are the texts of a block, without columns and with the short heads where there is little room.
func saidIn(form string, b block.Block) []string {
	t, ok := b.(*block.Table)
	if !ok || form == "markdown" {
		return block.Said(b)
	}
	if t = t.Without(true); form == "terminal" {
		t = t.Without(false, "source") // which a terminal lists below
	} else if t.ID != "published" {
		return block.Said(t)
	}
	all := block.Said(t)
	for _, c := range t.Columns {
		if i := slices.Index(all, c.Head); i >= 0 && c.Short != "" {
			all[i] = c.Short
		}
	}
	return all
}

func idOf(b block.Block) string {
	switch b := b.(type) {
	case *block.Table:
		return b.ID
	case block.Notes:
		return map[block.Kind]string{block.Check: "checks", block.Answer: "answer"}[b.Kind]
	}
	return ""
}

// tablesOfAll are the tables that the examples have.
var tablesOfAll = []string{
	"streams", "clients", "entries", "messages", "processes", "steps", "counts", "scenarios", "curve", "capacity",
	"published",
}

// leftOut are tables that a form does not have, and why.
var leftOut = map[string]string{
	"terminal clients": "a terminal shows the range over streams, in the table of streams",
	"terminal counts":  "its heads are shorter there",
	"page checks":      "a page has a tick for each check, with what it found",
	"page answer":      "a page has a chart of it",
}

// Terminal and Markdown have every text of the tables of why arms differ.
func TestExplanationsHaveEveryBlock(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(7, resulttest.Effects{})
	a := result.Analyse(r)
	e, err := result.ExplainBetween(r, &a, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var screen, document bytes.Buffer
	if err := terminal.WriteExplanation(&screen, r, &a, e, terminal.Style{Width: 4000}); err != nil {
		t.Fatal(err)
	}
	if err := markdown.WriteExplanation(&document, r, &a, e); err != nil {
		t.Fatal(err)
	}
	walked := 0
	for i := range e.Loads {
		x := &e.Loads[i].Metrics[0]
		m := result.MustMetric(x.Metric)
		blocks := []*block.Table{report.EffectTable(e, m, x), report.InteractionTable(e, x)}
		for k := range x.Attributions {
			blocks = append(blocks, report.ShareTable(r, m, &x.Attributions[k]))
		}
		for _, b := range blocks {
			if b == nil {
				continue
			}
			for _, row := range b.Rows {
				for _, c := range row {
					walked++
					if want := plainly(c.Text); !strings.Contains(plainly(screen.String()), want) ||
						!strings.Contains(fromMarkdown(document.String()), want) {
						t.Errorf("%s: %q is not in both", b.ID, want)
					}
				}
			}
		}
	}
	if walked < 20 {
		t.Errorf("only %d cells", walked)
	}
}
