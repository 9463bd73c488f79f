package report_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"html"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/block"
	sheet "wirelab/results/report/csv"
	page "wirelab/results/report/html"
	document "wirelab/results/report/json"
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

// Every form has every text of every block of the whole report. What a form leaves out by intent is listed here.
func TestEveryFormHasEveryBlock(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, r := range examples() {
		a := analyse.Result(r)
		var screen, text, web bytes.Buffer
		if err := terminal.WriteAnalysed(&screen, r, &a, terminal.Style{Width: 4000}); err != nil {
			t.Fatal(err)
		}
		if err := markdown.Write(&text, r); err != nil {
			t.Fatal(err)
		}
		if err := page.WriteAnalysed(&web, r, &a); err != nil {
			t.Fatal(err)
		}
		forms := map[string]string{
			"terminal": plainly(screen.String()), "markdown": fromMarkdown(text.String()),
			"page": fromPage(web.String()),
		}
		for form := range forms {
			forms[form] = strings.ToLower(forms[form])
		}
		marked, named := report.Marked(r, &a)
		for _, part := range report.Document(marked, named, nil) {
			for _, b := range part.Blocks {
				id := idOf(part.ID, b)
				seen[id] = true
				for form, text := range forms {
					if why := leftOut[form+" "+id]; why != "" {
						continue
					}
					for _, want := range saidIn(form, b) {
						if want = plainly(want); !strings.Contains(text, strings.ToLower(want)) {
							t.Errorf("%s: %s of %s has not %q", name, id, form, want)
						}
					}
				}
			}
		}
		numbers(t, name, r, &a, web.String())
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

// saidIn are the texts of a block that a form must have: without columns that it leaves out, and with the short heads
// where it has little room. Units stand in the head or with the figure; titles of tables only where several follow.
func saidIn(form string, b block.Block) (all []string) {
	switch b := b.(type) {
	case block.Heading:
		all = []string{b.Text}
	case block.Facts:
		for _, f := range b {
			all = append(all, f.Text)
		}
	case block.Notes:
		all = append([]string{b.Title}, b.Lines...)
	case *block.Metrics:
		for _, m := range b.Columns {
			title := m.Short
			if form == "markdown" || form == "page" && b.ID != "main" {
				title = m.Title
			}
			all = append(all, title)
			for i, f := range m.Figures {
				value := f.Text
				if form == "terminal" || form == "page" && b.ID == "main" {
					value = f.Value + f.Marks // the head has the unit
				}
				if f.Why != "" && form == "page" {
					value = "" // which says why, without a mark
				}
				all = append(all, b.Arms[i].Name, value)
				if f.Claimed() {
					all = append(all, f.Change)
				}
				if b.ID == "main" && f.Tone != block.Plain {
					all = append(all, f.Verdict, f.Interval)
				}
			}
		}
	case *block.Table:
		t := b
		switch form {
		case "terminal":
			t = t.Without(true, "source", "threshold") // which a terminal lists below, or puts above
		case "page":
			t = t.Without(true)
			if t.ID == "decisions" && t.Columns[2].Head == "each run" {
				t = t.Without(false, "each run", "no figure") // a page has a line for each way
			}
		}
		for _, c := range t.Columns {
			if c.Short != "" && (form == "terminal" || form == "page" && t.ID == "published") {
				all = append(all, c.Short)
			} else {
				all = append(all, c.Head)
			}
		}
		if t.ID == "arms" || t.ID == "decisions" {
			all = nil // the heads are words of the form
		}
		for _, row := range t.Rows {
			for _, c := range row {
				all = append(append(all, c.Text), c.List...)
			}
		}
		if all = append(all, t.Caption); t.Notes.Kind != block.Source {
			all = append(all, t.Notes.Lines...)
		}
	}
	return slices.DeleteFunc(all, func(text string) bool { return strings.TrimSpace(text) == "" })
}

func idOf(part string, b block.Block) string {
	switch b := b.(type) {
	case *block.Table:
		return b.ID
	case *block.Metrics:
		return b.ID
	case block.Heading:
		return "heading of " + part
	case block.Notes:
		return map[block.Kind]string{
			block.Check: "checks", block.Answer: "answer", block.RefusedMark: "refused",
		}[b.Kind] + map[bool]string{true: part}[part == "method" || part == "absent"]
	}
	return part
}

// tablesOfAll are the tables that the examples have.
var tablesOfAll = []string{
	"main", "others", "rates", "streams", "clients", "entries", "messages", "processes", "steps", "counts", "scenarios",
	"curve", "capacity", "published", "decisions", "arms",
}

// leftOut are blocks that a form does not have, and why.
var leftOut = map[string]string{
	"terminal clients": "a terminal shows the range over streams, in the table of streams",
	"terminal method":  "where no load is shown by itself there is nothing to compare",
	"terminal absent":  "the arms in the head say it",
	"page checks":      "a page has a tick for each check, with what it found",
	"page answer":      "a page has a chart of it",

	"page heading of decisions": "a page has one heading over all of them",
	"page heading of load":      "a page names the load above its verdict",
}

// numbers holds what programs read against the blocks: the JSON document, the CSV export and the downloads of the page.
func numbers(t *testing.T, name string, r *result.Result, a *claim.Analysis, web string) {
	t.Helper()
	var text, rows bytes.Buffer
	if err := document.WriteJudged(&text, r, a, nil); err != nil {
		t.Fatal(err)
	}
	if err := sheet.Write(&rows, r); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Analysis claim.Analysis
		Printed  document.Printed
	}
	if err := json.Unmarshal(text.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	cells := cellsOf(t, rows.String())
	found := &doc.Analysis
	saved(t, name, r, a, web)
	for _, part := range report.Document(r, a, nil) {
		for _, b := range part.Blocks {
			if b, ok := b.(*block.Metrics); ok {
				for _, m := range b.Columns {
					for i, f := range m.Figures {
						load, _, _ := strings.Cut(f.Key, "/")
						at, err := strconv.Atoi(load)
						if err != nil {
							t.Fatal(err)
						}
						l := &found.Loads[at]
						metric, row := kinds.MustMetric(m.ID), l.Row(m.ID)
						if got := report.Value(row.Cells[i].Estimate, report.RowUnit(metric, row)); got != f.Value {
							t.Errorf("%s: %s is %s in JSON, %s in a block", name, f.Key, got, f.Value)
						}
						claim := document.Claim{
							Load: l.Name, Arm: b.Arms[i].Name, Metric: m.ID, Change: f.Change, Interval: f.Interval,
							Says: f.Verdict,
						}
						if f.Claimed() && !slices.ContainsFunc(doc.Printed.Claims, func(c document.Claim) bool {
							c.Primary, c.Verdict, c.Early = false, "", nil
							return reflect.DeepEqual(c, claim)
						}) {
							t.Errorf("%s: JSON has no claim %+v", name, claim)
						}
						c := cells[l.Name+"\t"+b.Arms[i].Name+"\t"+m.ID]
						if f.Why == "" && c.values == 0 || l.Arms[i].Spoiled(metric) != "" && c.values > 0 {
							t.Errorf("%s: %s is %q in a block, the sheet has %d values", name, f.Key, f.Value, c.values)
						}
					}
				}
			}
		}
	}
	accounted(t, name, a, cells)
}

// saved holds the downloads of the page against the data of the tables.
func saved(t *testing.T, name string, r *result.Result, a *claim.Analysis, web string) {
	t.Helper()
	marked, named := report.Marked(r, a)
	for _, part := range report.Document(marked, named, nil) {
		for _, b := range part.Blocks {
			if table, ok := b.(*block.Table); ok && len(table.Data) > 1 {
				var data bytes.Buffer
				if err := sheet.NewSheet(&data).WriteAll(table.Data); err != nil {
					t.Fatal(err)
				}
				if !downloads(web)[data.String()] {
					t.Errorf("%s: no download of the page is that of %s", name, table.ID)
				}
			}
		}
	}
}

// accounted holds the sheet's counts of messages against the account of each arm.
func accounted(t *testing.T, name string, a *claim.Analysis, cells map[string]exported) {
	t.Helper()
	for i := range a.Loads {
		for _, arm := range a.Loads[i].Arms {
			if arm.Messages == nil {
				continue
			}
			for metric, n := range map[string]uint64{
				"sent": arm.Messages.Sent, "delivered": arm.Messages.Delivered, "missing": arm.Messages.Missing,
			} {
				if c := cells[a.Loads[i].Name+"\t"+arm.Name+"\t"+metric]; c.sum != float64(n) {
					t.Errorf("%s: %s of %s adds up to %v in the sheet, the account has %d", name, metric, arm.Name,
						c.sum, n)
				}
			}
		}
	}
}

// exported are the rows that a sheet has of one arm's metric under one load.
type exported struct {
	values int
	sum    float64
}

func cellsOf(t *testing.T, text string) map[string]exported {
	t.Helper()
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	load, arm, metric := slices.Index(all[0], "load"), slices.Index(all[0], "arm"), slices.Index(all[0], "metric")
	value, invalid := slices.Index(all[0], "value"), slices.Index(all[0], "invalid")
	cells := map[string]exported{}
	for _, row := range all[1:] {
		key := row[load] + "\t" + row[arm] + "\t" + row[metric]
		c := cells[key]
		if v, err := strconv.ParseFloat(row[value], 64); err == nil && row[invalid] == "" {
			c.values, c.sum = c.values+1, c.sum+v
		}
		cells[key] = c
	}
	return cells
}

// downloads are the data that a page offers.
func downloads(web string) map[string]bool {
	all := map[string]bool{}
	for _, link := range regexp.MustCompile(`href="data:text/csv;charset=utf-8,([^"]*)"`).FindAllStringSubmatch(web,
		-1) {
		if text, err := url.PathUnescape(html.UnescapeString(link[1])); err == nil {
			all[text] = true
		}
	}
	return all
}

// Terminal and Markdown have every text of the tables of why arms differ, and the page those of the metric that
// decides.
func TestExplanationsHaveEveryBlock(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(7, resulttest.Effects{})
	a := analyse.Result(r)
	e, err := explain.Between(r, &a, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var screen, text, web bytes.Buffer
	if err := terminal.WriteExplanation(&screen, r, &a, e, terminal.Style{Width: 4000}); err != nil {
		t.Fatal(err)
	}
	if err := markdown.WriteExplanation(&text, r, &a, e); err != nil {
		t.Fatal(err)
	}
	if err := page.WriteAnalysed(&web, r, &a); err != nil {
		t.Fatal(err)
	}
	forms := []string{plainly(screen.String()), fromMarkdown(text.String()), fromPage(web.String())}
	walked := 0
	for i := range e.Loads {
		x := &e.Loads[i].Metrics[0]
		m := kinds.MustMetric(x.Metric)
		blocks := []*block.Table{report.EffectTable(e, m, x), report.InteractionTable(e, x)}
		for k := range x.Attributions {
			blocks = append(blocks, report.ShareTable(r, m, &x.Attributions[k]))
		}
		for _, b := range slices.DeleteFunc(blocks, func(t *block.Table) bool { return t == nil }) {
			for _, row := range b.Rows {
				for _, c := range row {
					walked++
					for form, text := range forms {
						if want := plainly(c.Text); !strings.Contains(text, want) {
							t.Errorf("%s: %q is not in form %d", b.ID, want, form)
						}
					}
				}
			}
		}
	}
	if walked < 20 {
		t.Errorf("only %d cells", walked)
	}
}
