package html_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	parse "golang.org/x/net/html"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/html"
	"wirelab/results/store"
)

var folder = flag.String("pages", "", "write the pages of the made-up results into this folder, to be looked at")

// element is one of a page, with its attributes and the text in it; struck is the
// text of the refused values in it, which is no part of text.
type element struct {
	tag, text, struck string
	attrs             map[string]string
}

// read returns a page's elements.
func read(t *testing.T, page []byte) []element {
	t.Helper()
	root, err := parse.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var all []element
	for n := range root.Descendants() {
		if n.Type != parse.ElementNode {
			continue
		}
		e := element{tag: n.Data, attrs: map[string]string{}}
		for _, a := range n.Attr {
			e.attrs[a.Key] = a.Val
		}
		var text, struck strings.Builder
		for c := range n.Descendants() {
			switch {
			case c.Type != parse.TextNode:
			case refusedIn(c):
				struck.WriteString(c.Data)
			default:
				text.WriteString(c.Data)
			}
		}
		e.text, e.struck = text.String(), struck.String()
		all = append(all, e)
	}
	return all
}

// refusedIn reports whether a node is in a value that is struck through.
func refusedIn(n *parse.Node) bool {
	for up := range n.Ancestors() {
		if up.Data == "s" && slices.ContainsFunc(up.Attr,
			func(a parse.Attribute) bool { return a.Key == "class" && a.Val == "refused-value" }) {
			return true
		}
	}
	return false
}

// page is one of the pages with its result.
type page struct {
	r      *result.Result
	charts int
	text   []byte
	err    error
}

// rendered are the pages, written once for all tests.
var rendered = sync.OnceValue(func() map[string]page {
	all := map[string]page{}
	for name, c := range pages() {
		var text bytes.Buffer
		err := html.Write(&text, c.r)
		all[name] = page{r: c.r, charts: c.charts, text: text.Bytes(), err: err}
	}
	return all
})

func render(t *testing.T, r *result.Result) []byte {
	t.Helper()
	var page bytes.Buffer
	if err := html.Write(&page, r); err != nil {
		t.Fatal(err)
	}
	return page.Bytes()
}

// plain is a text as package report wrote it, before units were tied to their numbers.
func plain(text string) string { return strings.ReplaceAll(text, "\u00a0", " ") }

// What a page says follows from the stored result: it is stored, read again,
// analysed, and every sentence and number of the page is held against that.
func TestPageFollowsFromTheResult(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, c := range rendered() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.err != nil {
				t.Fatal(c.err)
			}
			text, err := store.Encode(c.r)
			if err != nil {
				t.Skipf("such a result is not stored: %v", err)
			}
			stored, err := store.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			a := analyse.Result(stored)
			all := read(t, c.text)
			if regexp.MustCompile(`(?m)^(<<<<<<<|=======|>>>>>>>|&gt;&gt;)`).Match(c.text) {
				t.Error("a template was merged by half")
			}
			shown, named := report.Marked(stored, &a) // as arms are called on pages
			sentences(t, shown, named, all)
			numbers(t, &a, all)
			gates(t, &a, all)
		})
	}
}

// sentences holds the sentences of a page against those of package report.
func sentences(t *testing.T, r *result.Result, a *claim.Analysis, all []element) {
	t.Helper()
	said := map[string]string{}
	whole := map[string]bool{}
	for _, e := range all {
		if key := e.attrs["data-sentence"]; key != "" {
			said[key] = plain(e.text)
		}
		if e.tag == "li" || e.tag == "dd" || e.tag == "p" {
			whole[plain(e.text)] = true
		}
	}
	if len(said) != len(a.Loads) && a.Capacity == nil {
		t.Errorf("%d sentences for %d loads", len(said), len(a.Loads))
	}
	if e, err := explain.Between(r, a, "", ""); err == nil && len(e.Factors) > 1 && report.Factorial(r) {
		for i := range e.Loads {
			for _, text := range report.Explained(r, e, &e.Loads[i]) {
				if !whole[plain(text)] {
					t.Errorf("the page does not say %q", text)
				}
			}
		}
	}
	for i := range a.Loads {
		l := &a.Loads[i]
		if a.Capacity != nil && report.Empty(l) {
			continue
		}
		if got, want := said[fmt.Sprintf("load-%d", i+1)], report.Sentence(r.Plan, l); got != want {
			t.Errorf("load %d: the page says %q, the result %q", i+1, got, want)
		}
		for _, want := range append(append(report.Notes(l), report.Libraries(r, l)...), report.Legend(l)...) {
			if !whole[want] && !report.Empty(l) {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
	for _, f := range report.Facts(r, a) {
		if f.Name != "question" && !whole[f.Text] {
			t.Errorf("the page lacks the fact %s: %q", f.Name, f.Text)
		}
	}
	for i := range a.Curves {
		for _, want := range append(report.CurveSentences(&a.Curves[i]), report.CurveNotes(r, &a.Curves[i])...) {
			if !whole[want] {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
	if a.Capacity != nil {
		for _, want := range report.CapacitySentences(a.Capacity) {
			if !whole[want] {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
	for _, part := range report.PublishedParts(r, a) {
		for _, want := range part.Lines {
			if !whole[want] {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
}

// numbers compares every number of a page with the analysis: those in tables by
// value, those of marks by finding them in the table. It also checks that a
// refused figure has no value anywhere.
func numbers(t *testing.T, a *claim.Analysis, all []element) {
	t.Helper()
	var tips []string
	inTable, marked := map[string]bool{}, map[string]bool{}
	for _, e := range all {
		if e.attrs["id"] == "tips" {
			if err := json.Unmarshal([]byte(e.text), &tips); err != nil {
				t.Fatalf("the hints: %v", err)
			}
		}
	}
	for _, e := range all {
		key := e.attrs["data-n"]
		switch {
		case key == "":
			continue
		case e.tag == "g" || e.tag == "path" || e.tag == "circle":
			marked[key] = true
		default:
			inTable[key] = true
			compare(t, a, key, e)
		}
		if at, err := strconv.Atoi(e.attrs["data-t"]); err != nil || at < 0 || at >= len(tips) ||
			!strings.Contains(tips[at], "\n") {
			t.Errorf("%s: %s has no hint", e.tag, key)
		}
	}
	for key := range marked {
		if !inTable[key] {
			t.Errorf("a mark shows %s, which no table has", key)
		}
		if d := differs(a, key); d != nil && !d.Estimate.Known && (d.Difference == nil || !d.Difference.Known) {
			t.Errorf("%s is refused and has a mark", key)
		}
	}
	for i := range a.Loads {
		for _, row := range a.Loads[i].Rows {
			for arm := range row.Cells {
				if key := fmt.Sprintf("%d/%d/%s", i, arm, row.Metric); !inTable[key] && !report.Empty(&a.Loads[i]) {
					t.Errorf("the page lacks %s", key)
				}
			}
		}
	}
}

// differs is the number that a key names; nil for those of curves.
func differs(a *claim.Analysis, key string) *claim.Cell {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return nil
	}
	l, _ := strconv.Atoi(parts[0])
	arm, _ := strconv.Atoi(parts[1])
	if l >= len(a.Loads) || a.Loads[l].Row(parts[2]) == nil || arm >= len(a.Loads[l].Arms) {
		return nil
	}
	return &a.Loads[l].Row(parts[2]).Cells[arm]
}

// compare holds a number's attributes against the analysis.
func compare(t *testing.T, a *claim.Analysis, key string, e element) {
	t.Helper()
	var estimate claim.Estimate
	var d *claim.Difference
	if rest, ok := strings.CutPrefix(key, "capacity/"); ok {
		arm, err := strconv.Atoi(rest)
		if err != nil {
			t.Fatal(err)
		}
		estimate = a.Capacity.Arms[arm].Rate
	} else if rest, ok := strings.CutPrefix(key, "curve/"); ok {
		var i, arm, level int
		var what string
		if _, err := fmt.Sscanf(strings.ReplaceAll(rest, "/", " "), "%d %d %d %s", &i, &arm, &level,
			&what); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		p := a.Curves[i].Arms[arm].Points[level]
		estimate = map[string]claim.Estimate{"achieved": p.Achieved, "p50": p.P50, "p99": p.P99}[what]
	} else {
		c := differs(a, key)
		if c == nil {
			t.Errorf("there is no number %s", key)
			return
		}
		estimate, d = c.Estimate, c.Difference
	}
	want := map[string]string{"data-rounds": strconv.Itoa(estimate.Rounds)}
	if estimate.Known {
		want["data-v"] = strconv.FormatFloat(estimate.Value, 'g', -1, 64)
	}
	if estimate.Interval() {
		want["data-lo"], want["data-hi"] = strconv.FormatFloat(estimate.Low, 'g', -1, 64),
			strconv.FormatFloat(estimate.High, 'g', -1, 64)
	}
	if d != nil && d.Known {
		want["data-ratio"], want["data-rlo"], want["data-rhi"] = strconv.FormatFloat(d.Ratio, 'g', -1, 64),
			strconv.FormatFloat(d.Low, 'g', -1, 64), strconv.FormatFloat(d.High, 'g', -1, 64)
	}
	for _, name := range []string{"data-v", "data-lo", "data-hi", "data-ratio", "data-rlo", "data-rhi", "data-rounds"} {
		if e.attrs[name] != want[name] {
			t.Errorf("%s: %s is %q, the analysis has %q", key, name, e.attrs[name], want[name])
		}
	}
	if shown := strings.TrimSpace(e.text); !estimate.Known && (d == nil || !d.Known) &&
		strings.ContainsAny(strings.TrimPrefix(shown, report.Absent), "0123456789") &&
		!strings.Contains(shown, "not measured") {
		t.Errorf("%s is refused, and the page shows %q", key, shown)
	}
	if e.struck != "" && (estimate.Refused == nil ||
		!strings.Contains(plain(e.struck), "refused: "+estimate.Refused.Why)) {
		t.Errorf("%s: the page strikes through %q, the analysis has %+v", key, e.struck, estimate)
	}
}

// gates holds the strip of gates against the analysis: each that was applied
// is there, with how often it passed.
func gates(t *testing.T, a *claim.Analysis, all []element) {
	t.Helper()
	passed, total := map[string]int{}, map[string]int{}
	for i := range a.Loads {
		for _, arm := range a.Loads[i].Arms {
			for _, c := range arm.Checks {
				total[string(c.Gate)]++
				if c.OK {
					passed[string(c.Gate)]++
				}
			}
		}
	}
	shown := map[string]string{}
	for _, e := range all {
		if class := e.attrs["class"]; e.tag == "li" && (class == "ok" || class == "failed" || class == "limited") {
			shown[strings.TrimSpace(e.text)] = class
		}
	}
	for name := range total {
		found := false
		for text, class := range shown {
			if strings.Contains(text, name+" ") && strings.Contains(text, fmt.Sprintf("of %d", total[name])) {
				found = found || (class == "failed") == (passed[name] < total[name])
			}
		}
		if !found {
			t.Errorf("the strip does not tell how %q went: %d of %d passed", name, passed[name], total[name])
		}
	}
}

// The page holds all it needs and may ask for nothing, and its ids are each one's own.
func TestPageIsWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, c := range rendered() {
		page := c.text
		ids := map[string]bool{}
		for _, e := range read(t, page) {
			if id := e.attrs["id"]; id != "" {
				if ids[id] {
					t.Errorf("%s: two elements are %q", name, id)
				}
				ids[id] = true
			}
			for _, ref := range []string{"src", "href", "srcset", "action", "data"} {
				if v := e.attrs[ref]; v != "" && !strings.HasPrefix(v, "#") && !strings.HasPrefix(v, "data:") {
					t.Errorf("%s: %s refers to %q", name, e.tag, v)
				}
			}
			for attr := range e.attrs {
				if strings.HasPrefix(attr, "on") || attr == "style" {
					t.Errorf("%s: %s has %s, which the policy forbids", name, e.tag, attr)
				}
			}
			if e.tag == "meta" && e.attrs["http-equiv"] == "Content-Security-Policy" &&
				!strings.HasPrefix(e.attrs["content"], "default-src 'none'; style-src 'sha256-") {
				t.Errorf("%s: the policy is %q", name, e.attrs["content"])
			}
			if e.tag == "svg" && e.attrs["role"] == "img" {
				for _, ref := range strings.Fields(e.attrs["aria-labelledby"]) {
					if !strings.Contains(string(page), `id="`+ref+`"`) {
						t.Errorf("%s: a chart's name %q is not there", name, ref)
					}
				}
			}
		}
		if regexp.MustCompile(`(?i)(https?:)?//[a-z]`).Match(bytes.ReplaceAll(page, []byte("http://www.w3.org"),
			nil)) && !strings.Contains(c.r.Command, "//") {
			t.Errorf("%s: the page names an address", name)
		}
	}
}

// Each chart has data to save, which is CSV of as many columns in each row.
func TestDataLinks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, c := range rendered() {
		links := 0
		for _, e := range read(t, c.text) {
			if e.tag != "a" || e.attrs["download"] == "" {
				continue
			}
			links++
			text, ok := strings.CutPrefix(e.attrs["href"], "data:text/csv;charset=utf-8,")
			body, err := url.PathUnescape(text)
			if !ok || err != nil {
				t.Errorf("%s: %s: %v", name, e.attrs["download"], err)
				continue
			}
			rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
			if err != nil || len(rows) < 2 {
				t.Errorf("%s: %s has %d rows: %v", name, e.attrs["download"], len(rows), err)
			}
		}
		if links < c.charts/3 {
			t.Errorf("%s: %d charts, %d downloads", name, c.charts, links)
		}
	}
}

// Names come from the author of the plan.
func TestNamesAreNotMarkup(t *testing.T) {
	t.Parallel()
	r := resulttest.Closed()
	const bad = `</script><script>alert(1)</script><b onclick="x">"'&`
	for i := range r.Arms {
		r.Arms[i].Name = bad + strconv.Itoa(i)
		r.Plan.Arms[i].Name = r.Arms[i].Name
		r.Arms[i].Transport = bad
	}
	r.Plan.About, r.Command, r.Plan.Operation, r.Environment.CPU, r.ID = bad, bad, bad, bad, bad
	for i := range r.Plan.Published {
		r.Plan.Published[i].Source, r.Plan.Published[i].Arm = bad, bad+"0"
	}
	scripts := 0
	for _, e := range read(t, render(t, r)) {
		if e.tag == "script" {
			scripts++
		}
		if e.attrs["onclick"] != "" {
			t.Error("a name became an element")
		}
	}
	if scripts != 2 {
		t.Errorf("%d scripts, 2 are the page's", scripts)
	}
}

// With -pages the pages are written, for eyes.
func TestWritePages(t *testing.T) {
	if *folder == "" {
		t.Skip("no -pages")
	}
	for name, c := range rendered() {
		if err := os.WriteFile(filepath.Join(*folder, strings.ReplaceAll(name, " ", "-")+".html"), c.text,
			0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Links are shown where there are any, and a page with them does not call
// itself whole.
func TestLinks(t *testing.T) {
	t.Parallel()
	r := resulttest.Short(4)
	a := analyse.Result(r)
	var alone, linked bytes.Buffer
	if err := html.WriteAnalysed(&alone, r, &a); err != nil {
		t.Fatal(err)
	}
	if err := html.WriteLinked(&linked, r, &a, []html.Link{{Text: "All <results>", Address: "/?a=b&c=d"}}); err != nil {
		t.Fatal(err)
	}
	const link, whole = `<a href="/?a=b&amp;c=d">All &lt;results&gt;</a>`, "This file is whole"
	if text := linked.String(); !strings.Contains(text, link) || strings.Contains(text, whole) {
		t.Error("the page lacks its link, or calls itself whole")
	}
	if text := alone.String(); strings.Contains(text, `aria-label="Results"`) || !strings.Contains(text, whole) {
		t.Error("the page has links although none were given")
	}
	if !strings.Contains(alone.String(), html.Style()) {
		t.Error("the style is not that of the page")
	}
}
