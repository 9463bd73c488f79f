// Package forms lists the formats in which a result is written. It knows the writer of each. It must not know where
// the output goes.
package forms

import (
	"io"
	"slices"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/results/report"
	"wirelab/results/report/benchfmt"
	"wirelab/results/report/csv"
	"wirelab/results/report/html"
	"wirelab/results/report/jmh"
	"wirelab/results/report/json"
	"wirelab/results/report/markdown"
	"wirelab/results/report/terminal"
)

// WithOutages makes a format of "wirelab report" show the results of runs with failing parts.
func WithOutages(f Report, outages []report.Outage, results int) (Report, error) {
	if len(outages) == 0 {
		return f, nil
	}
	if results > 1 {
		return f, wirelab.Errorf(wirelab.InvalidArgument, "--chaos belongs to one result, not to %d", results)
	}
	switch f.Name {
	case "html":
		f.Write = func(w io.Writer, r *result.Result) error { return html.WriteWithOutages(w, r, outages) }
	case "markdown":
		f.Write = func(w io.Writer, r *result.Result) error { return markdown.WriteWithOutages(w, r, outages) }
	default:
		return f, wirelab.Errorf(wirelab.InvalidArgument,
			"--chaos is shown by the formats html and markdown, and by 'wirelab decide'")
	}
	return f, nil
}

// The formats in which an explanation is printed.
const (
	Text     = "text"
	JSON     = "json"
	Markdown = "markdown"
	CSV      = "csv"
)

// ExplainFormats returns the formats of an explanation.
func ExplainFormats() []string {
	return []string{Text, Markdown, CSV, JSON}
}

// WriteExplanation writes why the arms of a result differ.
func WriteExplanation(
	w io.Writer, r *result.Result, analysis *claim.Analysis, e *explain.Explanation, format string, full bool,
	style terminal.Style,
) error {
	switch format {
	case JSON:
		return json.WriteExplained(w, r, analysis, e)
	case Markdown:
		if style.Refused {
			analysis = analysis.WithRefused()
		}
		return markdown.WriteExplanation(w, r, analysis, e)
	case CSV:
		return csv.WriteExplanation(w, r, e)
	}
	var err error
	if full {
		err = terminal.WriteExplanation(w, r, analysis, e, style)
	} else {
		err = terminal.WriteSummary(w, report.SummariseExplained(r, analysis, e), style)
	}
	if err != nil || !style.Refused {
		return err
	}
	return terminal.WriteRefused(w, r, analysis, style)
}

// Reports returns the formats that "wirelab report" writes, in the order of its help, with the extensions of their
// files.
func Reports() []Report {
	return []Report{
		{"html", ".html", html.Write},
		{"markdown", ".md", exporter("markdown")},
		{"csv", ".csv", exporter("csv")},
		{"json", ".json", exporter("json")},
		{"benchstat", ".txt", exporter("benchstat")},
		{"jmh", ".jmh.json", jmh.Write},
		{"svg", ".svg", html.WritePicture},
	}
}

// Report is a format with its name and the extension of its files.
type Report struct {
	Name, Ending string
	Write        func(io.Writer, *result.Result) error
}

// exporter returns the function with which "results export" writes a format.
func exporter(name string) func(io.Writer, *result.Result) error {
	all := Exports()
	return all[slices.IndexFunc(all, func(f Export) bool { return f.Name == name })].Write
}

// WithRefused makes a format of "wirelab report" show the values that checks refused.
func WithRefused(f Report, outages []report.Outage) (marked Report, can bool) {
	switch f.Name {
	case "html":
		f.Write = func(w io.Writer, r *result.Result) error { return html.WriteRefused(w, r, outages) }
	case "markdown":
		f.Write = func(w io.Writer, r *result.Result) error { return markdown.WriteRefused(w, r, outages) }
	case "json", "csv": // they always have them, in a separate member or column
	default:
		return f, false
	}
	return f, true
}

// Export is a format in which a result is exported.
type Export struct {
	Name  string
	Write func(io.Writer, *result.Result) error
}

// Exports returns the formats, in the order of the help.
func Exports() []Export {
	return []Export{
		{"json", json.Write},
		{"csv", csv.Write},
		{"markdown", markdown.Write},
		{"benchstat", benchfmt.Write},
	}
}
