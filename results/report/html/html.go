// Package html writes a result as one file for people to open, share and
// print: the verdict first, then what makes it valid, the tables, the charts
// and how it was measured. The file needs no network and lets none be used; it
// is whole without scripts, which only add hints and a switch for the dark.
//
// It knows only results: sentences, words and digits are those of package
// report, and every number is one of the analysis, under its key in an
// attribute, so that the page can be held against the result.
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

// sheet is a result with what follows from it, as the parts of a page need it.
type sheet struct {
	r *result.Result
	a *claim.Analysis
	// shown is a with the refused values to be seen: of tables, and never of charts.
	shown *claim.Analysis
	// explained is why arms differ, once it was asked for.
	explained *explain.Explanation
	asked     bool
	// tips are the page's hints, and tipped where each of them is.
	tips   []string
	tipped map[string]int
}

// page is what the template is filled with.
type page struct {
	Title, About, Work, ID string
	Name                   string // that somebody gave the result
	When                   string
	Policy                 string
	Style                  template.CSS
	Script                 template.JS
	Absent                 []string // arms that could not be had, and why
	First                  []said
	Scenarios              *scenarios
	Early                  []string // what the mark behind arms' names means
	Verdicts               []verdict
	Decisions              []decisionTable
	Validity               validity
	Loads                  []load
	Across                 []*figure
	Undrawn                []string // charts over all loads that would be empty, and why
	Charted                bool     // there are charts beside those of the verdicts
	Published              *published
	Method                 method
	Tips                   []string
	Links                  []Link
	// Refused is whether there are values that a check refused, and ShowRefused
	// whether the page begins with them to be seen.
	Refused, ShowRefused bool
}

// Link leads from a page to others beside it, where somebody serves them.
type Link struct{ Text, Address string }

// Style is the style sheet of the pages, for those who make pages like them.
func Style() string { return styleText }

// load is what is shown of one load below the verdicts.
type load struct {
	ID, Name, Sentence string
	Key                string // of the sentence
	Empty              bool
	Folded             bool // said here, and not among the verdicts
	Main               grid
	Streams            *figure  // of loads that hold streams
	Legend             []string // what marks mean
	Notes              []string
	Limits             []string  // what limited arms with a database
	Accounts           []*figure // what became of what was sent, and what each process used and each step took
	Closed             []*figure // tables that are folded away: every metric, each stream, counts, rates
	Figures            []*figure
	Undrawn            []string // those that would be empty, and why
}

// Write writes the result. The error is w's.
func Write(w io.Writer, r *result.Result) error {
	a := analyse.Result(r)
	return WriteAnalysed(w, r, &a)
}

// WriteAnalysed is [Write] for those who have the result's analysis already.
func WriteAnalysed(w io.Writer, r *result.Result, a *claim.Analysis) error {
	return WriteLinked(w, r, a, nil)
}

// WriteLinked is [WriteAnalysed] for those who serve the page among others: links
// are shown above it, and the page is not one to save.
func WriteLinked(w io.Writer, r *result.Result, a *claim.Analysis, links []Link) error {
	return write(w, r, a, options{links: links})
}

// options are what a page may have beside a result.
type options struct {
	links   []Link
	outages []report.Outage
	refused bool // the page begins with refused values to be seen
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

// isHeading reports whether a block is one.
func isHeading(b block.Block) bool {
	_, is := b.(block.Heading)
	return is
}

// Policy lets the page use its own style sheet and script, known by their
// digests, and nothing else: no network, no frames, no forms. It is in the page,
// and for who serves it to send along.
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

// work names what was measured: "routeguide.GetFeature".
func work(r *result.Result) string {
	if operations := r.Plan.Operations(); len(operations) > 1 {
		return strings.Trim(r.Plan.Workload+": "+report.List(operations), ": ")
	}
	return strings.Trim(r.Plan.Workload+"."+r.Plan.Operation, ".")
}

// load makes the part of one load: what is said by its analysis, tables with the refused values to be seen.
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
		return p // so many rates are shown as a curve
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

// withPicture parts charts from those with nothing to draw, of which one sentence each is left.
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

// briefly is the first of many reasons, which are alike; all of them are in tables.
func briefly(reasons []string) []string {
	if more := len(reasons) - 1; more > 1 {
		return []string{reasons[0], fmt.Sprintf("and %d more for such reasons", more)}
	}
	return reasons
}

// across are the charts over all loads.
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

// file is the name of a download: of what, of which result and load.
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
