// Package json writes a result whole, with what follows from it, for programs.
// It knows only results.
//
// # Form
//
//	{
//	  "schema":   1,
//	  "result":   { … },  the result as it is stored: result.Result
//	  "analysis": { … }   what may be said of it: result.Analysis
//	}
//
// Fields come in this order and those of the types in theirs, maps by key, so
// that the same result gives the same bytes. Durations are text ("50ms"),
// metrics are in the unit of their dimension (ns, bytes, counts, 1/s), shares
// are 0 to 1 and differences ratios. Histograms are HdrHistogram's V2 format
// in base64. "schema" is result.Schema: it goes up when a field changes its
// meaning; new fields may come without.
package json

import (
	"encoding/json"
	"io"

	"wirelab/result"
)

// Document is what is written.
type Document struct {
	Schema   int             `json:"schema"`
	Result   *result.Result  `json:"result"`
	Analysis result.Analysis `json:"analysis"`
}

// Write writes the result, indented, with a newline at the end.
func Write(w io.Writer, r *result.Result) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(Document{Schema: result.Schema, Result: r, Analysis: result.Analyse(r)})
}
