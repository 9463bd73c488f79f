// Package html writes a result as one file for people to open, share and print: the verdict first, then its validity,
// the tables, the charts and the method. The file needs no network and prevents its use. It is complete without
// scripts, which only add hints and a switch for dark colours.
//
// It knows only results. Sentences, words and digits come from package report. Every number comes from the analysis,
// with its key in an attribute, so that tests can compare the page with the result.
package html

import (
	"crypto/sha256"
	_ "embed" // for the template, the style sheet and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/results/report"
	"wirelab/results/report/block"
)

var (
	//go:embed page.gohtml
	pageText string
	//go:embed style.css
	styleText string
	//go:embed script.js
	scriptText string
)

// sheet is a result and its analysis, as the parts of a page need them.
type sheet struct {
	r *result.Result
	a *claim.Analysis
	// shown is a with visible refused values, for tables and never for charts.
	shown *claim.Analysis
	// explained is the explanation of why arms differ, once it is computed.
	explained *explain.Explanation
	asked     bool
	// tips are the page's hints. tipped has the index of each.
	tips   []string
	tipped map[string]int
}

// page is the data of the template.
type page struct {
	Title, About, Work, ID string
	Name                   string // the label of the result
	When                   string
	Policy                 string
	Style                  template.CSS
	Script                 template.JS
	Absent                 []string // arms that were not available, and why
	First                  []said
	Scenarios              *scenarios
	Early                  []string // legend of the mark after arms' names
	Verdicts               []verdict
	Decisions              []decisionTable
	Validity               validity
	Loads                  []load
	Across                 []*figure
	Undrawn                []string // charts over all loads that would be empty, and why
	Charted                bool     // there are charts other than those of the verdicts
	Published              *published
	Method                 method
	Tips                   []string
	Links                  []Link
	// Refused reports whether there are refused values, ShowRefused whether they are visible at first.
	Refused, ShowRefused bool
}

// Link leads from a page of a site to another one.
type Link struct{ Text, Address string }

// Style returns the style sheet of the pages, for programs that make similar pages.
func Style() string { return styleText }

// load is the part of a page about one load, below the verdicts.
type load struct {
	ID, Name, Sentence string
	Key                string // of the sentence
	Empty              bool
	Folded             bool // the sentence is here, and not among the verdicts
	Main               grid
	Streams            *figure  // for loads that hold streams
	Legend             []string // meaning of the marks
	Notes              []string
	Limits             []string  // what limited arms with a database
	Accounts           []*figure // accounts of what was sent, of processes and of steps
	Closed             []*figure // folded tables: every metric, each stream, counts, rates
	Figures            []*figure
	Undrawn            []string // charts that would be empty, and why
}

// Write writes the result. The error is w's.
func Write(w io.Writer, r *result.Result) error {
	a := analyse.Result(r)
	return WriteAnalysed(w, r, &a)
}

// WriteAnalysed is [Write] for callers that have the result's analysis already.
func WriteAnalysed(w io.Writer, r *result.Result, a *claim.Analysis) error {
	return WriteLinked(w, r, a, nil)
}

// WriteLinked is [WriteAnalysed] for a server of several pages: links are shown above the page, and the page is not
// meant to be saved.
func WriteLinked(w io.Writer, r *result.Result, a *claim.Analysis, links []Link) error {
	return write(w, r, a, options{links: links})
}

// options are the optional parts of a page.
type options struct {
	links   []Link
	outages []report.Outage
	refused bool // refused values are visible at first
}

func write(w io.Writer, r *result.Result, a *claim.Analysis, o options) error {
	r, a = report.Marked(r, a)
	s := &sheet{r: r, a: a, shown: a.WithRefused(), tipped: map[string]int{}}
	p := page{
		Title: title(r), About: r.Plan.About, Work: work(r), ID: r.ID, Name: r.Label,
		Refused: anyRefused(s.shown), ShowRefused: o.refused, Links: o.links, Policy: Policy(),
		Style: template.CSS(styleText), Script: template.JS(scriptText),
		Absent: report.AbsentNotes(r), First: s.first(), Scenarios: s.scenarios(), Early: report.EarlyLegend(r),
		Verdicts: s.verdicts(), Decisions: s.decisionTables(o.outages), Validity: s.validity(), Across: s.across(),
		Published: s.published(), Method: s.method(),
	}
	if !r.Began.IsZero() {
		p.When = r.Began.UTC().Format("2 January 2006, 15:04 UTC")
	}
	p.Across, p.Undrawn = withPicture(p.Across)
	for i := range a.Loads {
		one := s.load(&a.Loads[i])
		one.Figures, one.Undrawn = withPicture(one.Figures)
		p.Loads = append(p.Loads, one)
	}
	p.Charted = len(p.Across)+len(p.Undrawn) > 0 ||
		slices.ContainsFunc(p.Loads, func(l load) bool { return len(l.Figures) > 0 })
	p.Tips = s.tips
	functions := template.FuncMap{
		"toneClass": toneClass, "heading": isHeading, "tied": Tied, "tone": decisionTone, "refusable": refusable,
		"refusedWays": refusedWays,
	}
	text, err := template.New("page").Funcs(functions).Parse(pageText + decisionsText + scenariosText)
	if err != nil {
		return err
	}
	return text.Execute(w, p)
}

// isHeading reports whether a block is a heading.
func isHeading(b block.Block) bool {
	_, is := b.(block.Heading)
	return is
}

// Policy returns a content security policy that allows only the page's style sheet and script, by their digests: no
// network, no frames, no forms. It is in the page, and servers of the page should send it too.
func Policy() string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + digest(styleText) + "; script-src " + digest(scriptText) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

func title(r *result.Result) string {
	if r.Plan.About != "" {
		return r.Plan.About
	}
	return work(r)
}

// work names the operation that was measured: "routeguide.GetFeature".
func work(r *result.Result) string {
	if operations := r.Plan.Operations(); len(operations) > 1 {
		return strings.Trim(r.Plan.Workload+": "+report.List(operations), ": ")
	}
	return strings.Trim(r.Plan.Workload+"."+r.Plan.Operation, ".")
}

// load makes the part of one load: sentences from its analysis, and tables with visible refused values.
func (s *sheet) load(l *claim.LoadAnalysis) load {
	id := "load-" + itoa(l.Load+1)
	p := load{ID: id + "-more", Key: id, Name: report.LoadName(s.r.Plan, l.Load), Empty: report.Empty(l)}
	for _, b := range report.LoadBlocks(s.r, l) {
		n, _ := b.(block.Notes)
		switch n.Kind {
		case block.Claim:
			p.Sentence = strings.Join(n.Lines, " ")
		case block.Mark:
			p.Legend = append(p.Legend, n.Lines...)
		case block.Limit:
			p.Limits = append(p.Limits, n.Lines...)
		case block.Remark:
			p.Notes = append(p.Notes, n.Lines...)
		}
	}
	if p.Empty {
		return p
	}
	shown := s.shownLoad(l)
	for _, b := range report.LoadBlocks(s.r, shown) {
		switch b := b.(type) {
		case *block.Metrics:
			if b.ID == "main" {
				p.Main = s.mainTable(shown, b)
			} else {
				p.Closed = append(p.Closed, s.allNumbers(shown))
			}
		case *block.Table:
			switch f := s.table(shown, b); b.ID {
			case "streams":
				p.Streams = f
			case "clients", "counts", "rates":
				p.Closed = append(p.Closed, f)
			default:
				p.Accounts = append(p.Accounts, f)
			}
		}
	}
	if p.Folded = report.InCurve(s.a, l.Load); p.Folded {
		return p // this many rates are shown as a curve
	}
	if l.Slow {
		return p // all of it is in a table, and none of it ranks arms
	}
	if s.large() {
		p.Notes = append(p.Notes,
			"The charts of each load are left out: with so many arms and loads they would make the page too large "+
				"to open.")
		return p
	}
	for _, f := range []*figure{
		s.stagePlot(l), s.backlog(l), s.processBars(l), s.spectrum(l), s.rounds(l),
		s.cpuBars(l), s.byteBars(l), s.allocationBars(l), s.radar(l),
	} {
		if f != nil {
			p.Figures = append(p.Figures, f)
		}
	}
	return p
}

// withPicture separates charts from those with nothing to draw, and returns a sentence for each of the latter.
func withPicture(all []*figure) (charts []*figure, empty []string) {
	for _, f := range all {
		if len(f.Views) > 0 {
			charts = append(charts, f)
			continue
		}
		empty = append(empty, f.Title+": "+strings.Join(briefly(f.Refused), "; "))
	}
	return charts, empty
}

// briefly returns the first of many similar reasons. Tables have all of them.
func briefly(reasons []string) []string {
	if more := len(reasons) - 1; more > 1 {
		return []string{reasons[0], fmt.Sprintf("and %d more for such reasons", more)}
	}
	return reasons
}

// across returns the charts over all loads.
func (s *sheet) across() []*figure {
	var all []*figure
	if !s.large() {
		all = s.groupedBars()
	}
	if f := s.profile(); f != nil {
		all = append(all, f)
	}
	return append(all, s.factors()...)
}

// file returns the name of a download: its content, the result and the load.
func (s *sheet) file(what string, l *claim.LoadAnalysis) string {
	name := s.r.ID + "-" + what
	if l != nil && len(s.a.Loads) > 1 {
		name += "-" + report.LoadName(s.r.Plan, l.Load)
	}
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
			return c
		}
		return '-'
	}, name)
}
