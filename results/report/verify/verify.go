// Package verify computes the contents of a document of results/report/json again and compares both: the digest, the
// consistency of the raw data, the analysis, the judgement, and every sentence and table. It knows results and their
// reports. It must not know how either was made.
//
// It proves that everything printed follows from the raw data. It does not prove that the raw data was measured. An
// editor who changes the data and derives everything else again leaves no trace, since there is no secret key.
package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/consistency"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/threshold"
	report "wirelab/results/report/json"
)

// Difference is something that does not agree.
type Difference struct {
	// Path is the place in the document: "analysis.loads[0].rows[2].cells[1].difference.ratio".
	Path string `json:"path"`
	// Stored is the value in the document and Computed the one that follows from the raw data, both as JSON and "" if
	// missing. Both are "" if Says describes the difference.
	Stored   string `json:"stored,omitempty"`
	Computed string `json:"computed,omitempty"`
	Says     string `json:"says,omitempty"`
}

// Verification is the outcome of a verification.
type Verification struct {
	ID string `json:"id"`
	// From says where the result came from, if that was recorded.
	From string `json:"from,omitempty"`
	// Checked and Unchecked say in words what was checked, what could not be checked, and why.
	Checked     []string     `json:"checked"`
	Unchecked   []string     `json:"unchecked,omitempty"`
	Differences []Difference `json:"differences"`
	// More is the number of differences that are not listed, by part.
	More map[string]int `json:"more,omitempty"`

	// Digest is the computed digest of the raw data.
	Digest string `json:"-"`
	// Sealed reports that there was a digest, and that it matches.
	Sealed bool `json:"-"`

	count map[string]int // by part
}

// listed is how many differences are listed for each part of a document. One edited bucket changes hundreds of
// figures, of which the first are enough.
const listed = 50

// Part returns the part of a document that a difference is in: "analysis".
func (d Difference) Part() string {
	if end := strings.IndexAny(d.Path, ".["); end >= 0 {
		return d.Path[:end]
	}
	return d.Path
}

// Total is the number of differences, listed or not.
func (v *Verification) Total() int {
	n := len(v.Differences)
	for _, more := range v.More {
		n += more
	}
	return n
}

// Holds reports whether no difference was found.
func (v *Verification) Holds() bool { return len(v.Differences) == 0 }

// Add adds a difference.
func (v *Verification) Add(d Difference) {
	if v.count == nil {
		v.count, v.More = map[string]int{}, map[string]int{}
	}
	part := d.Part()
	if v.count[part]++; v.count[part] > listed {
		v.More[part]++
		return
	}
	v.Differences = append(v.Differences, d)
}

// parts are the members of a document; nil for a missing one.
type parts struct {
	Schema    json.RawMessage
	Digest    *string
	Result    json.RawMessage
	Analysis  json.RawMessage
	Judgement json.RawMessage
	// Explanation names the corners that it explains.
	Explanation json.RawMessage
	// Rescued reports that the file was written because the store could not take the result. Nothing was printed
	// then.
	Rescued bool
	Printed json.RawMessage
}

// Split returns the raw part of a file: that of a document, or all of a file
// that is a result alone. An error is InvalidArgument.
func Split(data []byte) (raw []byte, document bool, err error) {
	var p parts
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, false, wirelab.Errorf(wirelab.InvalidArgument, "not a result: %s", result.NotJSON(data, err))
	}
	if p.Result == nil {
		return data, false, nil
	}
	return p.Result, true, nil
}

// File checks a file: data is the whole file, r its decoded raw part. commit names the build that checks, for the
// message if words may have changed since; "" if it is not known.
func File(data []byte, r *result.Result, commit string) (*Verification, error) {
	v := &Verification{ID: r.ID, Checked: []string{}, Differences: []Difference{}}
	var p parts
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "not a result: %s", result.NotJSON(data, err))
	}
	raw, document := []byte(p.Result), p.Result != nil
	if !document {
		raw, p = data, parts{}
	}
	if err := v.digest(raw, p.Digest, p.Printed != nil || p.Rescued); err != nil {
		return nil, err
	}
	v.Consistent(r)
	if !document || p.Rescued && p.Printed == nil {
		v.Unchecked = append(v.Unchecked, "what was printed: the file is the raw data alone")
		return v, nil
	}
	if err := v.follows(r, p); err != nil {
		return nil, err
	}
	ofRaw := func(d Difference) bool { return d.Part() == "digest" || d.Part() == "result" }
	if !v.Holds() && !slices.ContainsFunc(v.Differences, ofRaw) && r.Environment.Commit != commit {
		v.Unchecked = append(v.Unchecked,
			fmt.Sprintf("whether only words or methods have changed since: it was measured by wirelab %s, this is %s; "+
				"its own build can tell",
				named(r.Environment.Commit), named(commit)))
	}
	return v, nil
}

// Stored checks the text of a result in a store. A store keeps only a digest besides; "" if there is none.
func Stored(raw []byte, digest string, r *result.Result) (*Verification, error) {
	v := &Verification{ID: r.ID, Checked: []string{}, Differences: []Difference{}}
	var taken *string
	if digest != "" {
		taken = &digest
	}
	if err := v.digest(raw, taken, false); err != nil {
		return nil, err
	}
	v.Consistent(r)
	return v, nil
}

func named(commit string) string {
	if commit == "" {
		return "of an unknown commit"
	}
	return commit
}

// digest checks the digest. must reports that there must be one.
func (v *Verification) digest(raw []byte, taken *string, must bool) error {
	computed, err := result.Digest(raw)
	if err != nil {
		return err
	}
	v.Digest = computed
	switch {
	case taken == nil && must:
		v.Add(Difference{Path: "digest", Computed: computed, Says: "it was taken out"})
	case taken == nil:
		v.Unchecked = append(v.Unchecked, "the digest: there is none")
	case *taken != computed:
		v.Add(Difference{
			Path: "digest", Stored: *taken, Computed: computed,
			Says: "the raw data, or the digest, was edited",
		})
	default:
		v.Checked, v.Sealed = append(v.Checked, "digest "+computed), true
	}
	return nil
}

// Consistent checks that the raw data does not contradict itself.
func (v *Verification) Consistent(r *result.Result) {
	flaws := consistency.Flaws(r)
	for _, f := range flaws {
		v.Add(Difference{Path: "result." + f.Path, Says: f.Says})
	}
	if len(flaws) == 0 {
		v.Checked = append(v.Checked,
			"raw data: counts add up, histograms hold as many times, rounds and trials fit the plan")
	}
}

// follows checks everything that is derived from the raw data.
func (v *Verification) follows(r *result.Result, p parts) error {
	analysis := analyse.Result(r)
	var judged *threshold.Judgement
	if p.Judgement != nil {
		var err error
		if judged, err = v.judge(r, &analysis, p.Judgement); err != nil {
			return err
		}
	}
	var explained *explain.Explanation
	if p.Explanation != nil {
		var err error
		if explained, err = v.explain(r, &analysis, p.Explanation); err != nil {
			return err
		}
	}
	printed, err := report.Print(r, &analysis, judged, explained)
	if err != nil {
		return err
	}
	schema := result.Schema
	for _, part := range []struct {
		name   string
		stored json.RawMessage
		again  any
		ok     string
	}{
		{"schema", p.Schema, schema, ""},
		{"analysis", p.Analysis, analysis, "analysis: every estimate, interval, p-value and verdict computed again"},
		{"judgement", p.Judgement, judged, "judgement: every threshold judged again"},
		{"explanation", p.Explanation, explained, "explanation: every effect, interaction and share computed again"},
		{
			"printed", p.Printed, printed,
			fmt.Sprintf("printed: %d claims, %d sentences and %d lines of the report made again", len(printed.Claims),
				len(printed.Sentences), len(printed.Terminal)),
		},
	} {
		switch {
		case part.stored == nil && part.name == "printed" && p.Digest != nil:
			v.Add(Difference{Path: part.name, Says: "it was taken out"})
			continue
		case part.stored == nil && part.name != "judgement" && part.name != "explanation":
			v.Unchecked = append(v.Unchecked, part.name+": the file has none")
			continue
		case part.stored == nil:
			continue
		}
		before := v.Total()
		if err := v.compare(part.name, part.stored, part.again); err != nil {
			return err
		}
		if v.Total() == before && part.ok != "" {
			v.Checked = append(v.Checked, part.ok)
		}
	}
	return nil
}

// judge judges again with the thresholds that a judgement names.
func (v *Verification) judge(r *result.Result, a *claim.Analysis,
	stored json.RawMessage,
) (*threshold.Judgement, error) {
	var names struct {
		Thresholds []string `json:"thresholds"`
	}
	if err := json.Unmarshal(stored, &names); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "judgement: %v", err)
	}
	var all []threshold.Threshold
	for i, text := range names.Thresholds {
		t, err := threshold.ParseThreshold(text)
		if err == nil {
			err = t.Check(r.Plan)
		}
		if err != nil {
			v.Add(Difference{Path: fmt.Sprintf("judgement.thresholds[%d]", i), Says: wirelab.Public(err).Message})
			continue
		}
		all = append(all, t)
	}
	j := threshold.Judge(r, a, all)
	return &j, nil
}

// explain explains again, between the corners that an explanation names; nil if nothing explains the result.
func (v *Verification) explain(r *result.Result, a *claim.Analysis,
	stored json.RawMessage,
) (*explain.Explanation, error) {
	var corners struct{ From, To string }
	if err := json.Unmarshal(stored, &corners); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "explanation: %v", err)
	}
	e, err := explain.Between(r, a, corners.From, corners.To)
	if err != nil {
		v.Add(Difference{Path: "explanation", Says: wirelab.Public(err).Message})
	}
	return e, nil
}

// Compare compares a stored value with the expected one, both as JSON.
func (v *Verification) Compare(path string, stored, again any) error {
	text, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	return v.compare(path, text, again)
}

// compare compares a stored part with the expected value.
func (v *Verification) compare(path string, stored json.RawMessage, again any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(again); err != nil {
		return err
	}
	was, err := tree(stored)
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: %v", path, err)
	}
	is, err := tree(text.Bytes())
	if err != nil {
		return err
	}
	walk(path, was, is, v.Add)
	return nil
}
