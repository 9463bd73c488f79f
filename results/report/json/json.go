// Package json writes a complete result, with everything derived from it, for programs and for "wirelab verify". It
// knows only results.
//
// # Form
//
//	{
//	  "schema":    1,
//	  "digest":    "sha256:…",  of "result": result.Digest
//	  "result":    { … },       the result as stored: result.Result
//	  "analysis":  { … },       its analysis: claim.Analysis
//	  "judgement": { … },       if thresholds were given: threshold.Judgement
//	  "explanation": { … },     if it was asked for: explain.Explanation
//	  "printed":   { … }        the report as people read it: Printed
//	}
//
// Everything else is derived from the result. It can be read without wirelab, and wirelab can compute it again. The
// fields are in this order, those of the types in theirs, and maps by key, so that the same result gives the same
// bytes. Durations are text ("50ms"), metrics are in the unit of their dimension (ns, bytes, counts, 1/s), shares are
// 0 to 1 and differences ratios.
// Histograms are HdrHistogram's V2 format in base64. "schema" is result.Schema:
// it goes up when a field changes its meaning; new fields may come without.
package json

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/kind/messages"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/threshold"
	"wirelab/results/report"
	"wirelab/results/report/terminal"
)

// Document is the written document.
type Document struct {
	Schema    int                  `json:"schema"`
	Digest    string               `json:"digest"`
	Result    *result.Result       `json:"result"`
	Analysis  claim.Analysis       `json:"analysis"`
	Judgement *threshold.Judgement `json:"judgement,omitempty"`
	// Explanation is set if "wirelab explain" wrote the document.
	Explanation *explain.Explanation `json:"explanation,omitempty"`
	Printed     Printed              `json:"printed"`
}

// Printed is the report as people read it.
type Printed struct {
	// Sentences are the verdicts, one for each load. Judged is the verdict on the thresholds, if there were any.
	Sentences []string `json:"sentences"`
	Judged    string   `json:"judged,omitempty"`
	// Curves describe response times over rates. Capacity describes the highest rates, with the first line as a
	// summary.
	Curves   []string `json:"curves,omitempty"`
	Capacity []string `json:"capacity,omitempty"`
	// Decisions say which path to use when, if that was measured.
	Decisions []report.DecisionTable `json:"decisions,omitempty"`
	// Explained says why the arms differ, if there is an explanation.
	Explained []string `json:"explained,omitempty"`
	// Absent says which arms were not available, and which one replaces the first.
	Absent []string `json:"absent,omitempty"`
	Claims []Claim  `json:"claims"`
	// Terminal is the report for terminals of Width columns, line by line.
	Width    int      `json:"width"`
	Terminal []string `json:"terminal"`
}

// Claim is a claimed difference in the words of the report.
type Claim struct {
	Load     string        `json:"load"`
	Arm      string        `json:"arm"`
	Metric   string        `json:"metric"` // id
	Primary  bool          `json:"primary,omitempty"`
	Verdict  claim.Verdict `json:"verdict"`
	Change   string        `json:"change"`   // "+32.4 %"
	Interval string        `json:"interval"` // "[+31.6, +33.2]" or "exact"
	Says     string        `json:"says"`     // "costlier"
	// Early names those of the arm and the first arm that acknowledge messages before a quorum has them on disk.
	Early []string `json:"early,omitempty"`
}

// Width is the width of the report in a document.
const Width = 100

// Write writes the result, indented, with a newline at the end.
func Write(w io.Writer, r *result.Result) error {
	a := analyse.Result(r)
	return WriteJudged(w, r, &a, nil)
}

// WriteJudged is [Write] with the judgement of thresholds, which may be nil. a must be r's analysis.
func WriteJudged(w io.Writer, r *result.Result, a *claim.Analysis, j *threshold.Judgement) error {
	return write(w, r, a, j, nil)
}

// WriteExplained is [Write] with the explanation of the result. a must be r's analysis.
func WriteExplained(w io.Writer, r *result.Result, a *claim.Analysis, e *explain.Explanation) error {
	return write(w, r, a, nil, e)
}

func write(w io.Writer, r *result.Result, a *claim.Analysis, j *threshold.Judgement, e *explain.Explanation) error {
	raw, err := text(r)
	if err != nil {
		return err
	}
	digest, err := result.Digest(raw)
	if err != nil {
		return err
	}
	printed, err := Print(r, a, j, e)
	if err != nil {
		return err
	}
	return members(w, []namedValue{
		{"schema", result.Schema},
		{"digest", digest},
		{"result", raw},
		{"analysis", a},
		{"judgement", j},
		{"explanation", e},
		{"printed", printed},
	})
}

// namedValue is a member of a [Document].
type namedValue struct {
	name string
	is   any
}

// members writes a document as the encoder would, but one member after the other: all at once needs several times the
// memory of the result.
func members(w io.Writer, all []namedValue) error {
	before := "{\n  "
	for _, m := range all {
		if is := reflect.ValueOf(m.is); is.Kind() == reflect.Pointer && is.IsNil() {
			continue // left out
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("  ", "  ")
		if err := encoder.Encode(m.is); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%q: ", before, m.name); err != nil {
			return err
		}
		if _, err := w.Write(bytes.TrimSuffix(text.Bytes(), []byte{'\n'})); err != nil {
			return err
		}
		before = ",\n  "
	}
	_, err := io.WriteString(w, "\n}\n")
	return err
}

// text returns a result as JSON. If a later version wrote it, that is its own text, since its unknown fields would be
// lost otherwise.
func text(r *result.Result) (json.RawMessage, error) {
	if len(r.Text) > 0 {
		return r.Text, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(r)
	return out.Bytes(), err
}

// Print returns the report of a result, with the judgement of thresholds if j is not nil, and the explanation if e is
// not nil.
func Print(r *result.Result, a *claim.Analysis, j *threshold.Judgement, e *explain.Explanation) (Printed, error) {
	unnamed := *r
	unnamed.Label, r = "", &unnamed // the label is not part of the result, from which everything here must follow
	p := Printed{
		Sentences: []string{}, Claims: []Claim{}, Width: Width, Decisions: report.Decisions(r, a, nil),
		Absent: report.AbsentNotes(r),
	}
	for i := range a.Loads {
		l := &a.Loads[i]
		p.Sentences = append(p.Sentences, report.Sentence(r.Plan, l))
		p.Claims = append(p.Claims, claims(l)...)
	}
	for i := range a.Curves {
		p.Curves = append(p.Curves, report.CurveSentences(&a.Curves[i])...)
	}
	found := capacity.Of(a)
	if of := report.Capacities(&found); of != "" {
		p.Capacity = append([]string{of}, report.CapacitySentences(&found)...)
	}
	var text bytes.Buffer
	style := terminal.Style{Width: Width}
	if err := terminal.WriteAnalysed(&text, r, a, style); err != nil {
		return Printed{}, err
	}
	if j != nil {
		p.Judged = report.Judged(r.Plan, j)
		text.WriteString("\n")
		if err := terminal.WriteJudgement(&text, r, j, style); err != nil {
			return Printed{}, err
		}
	}
	if e != nil {
		for i := range e.Loads {
			for _, said := range report.Explained(r, e, &e.Loads[i]) {
				p.Explained = append(p.Explained, report.Load(r.Plan, e.Loads[i].Load)+": "+said)
			}
		}
		text.WriteString("\n")
		if err := terminal.WriteExplanation(&text, r, nil, e, style); err != nil {
			return Printed{}, err
		}
	}
	p.Terminal = strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	return p, nil
}

func claims(l *claim.LoadAnalysis) []Claim {
	var all []Claim
	for _, row := range l.Rows {
		m, err := kinds.MetricByID(row.Metric)
		if err != nil {
			continue // not reached: the rows were made from these metrics
		}
		for a, c := range row.Cells {
			if d := c.Difference; d != nil && d.Verdict.Claim() {
				all = append(all, Claim{
					Early: early(l, a, 0), Load: l.Name, Arm: l.Arms[a].Name, Metric: m.ID, Primary: row.Primary,
					Verdict: d.Verdict, Change: report.Change(d), Interval: report.Interval(d),
					Says: report.Verdict(m, d),
				})
			}
		}
	}
	return all
}

// early names the arms that acknowledge before a message is on disk.
func early(l *claim.LoadAnalysis, arms ...int) []string {
	var names []string
	for _, a := range arms {
		if messages.StateOf(&l.Arms[a]).Early != "" {
			names = append(names, l.Arms[a].Name)
		}
	}
	return names
}
