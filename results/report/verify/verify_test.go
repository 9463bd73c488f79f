package verify_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	bounds "wirelab/lab/result/threshold"
	"wirelab/lab/stat"
	report "wirelab/results/report/json"
	"wirelab/results/report/verify"
)

// document is a document with thresholds, as people may edit it.
func document(t *testing.T, r *result.Result, threshold string) map[string]any {
	t.Helper()
	return decoded(t, written(t, r, threshold))
}

func written(t *testing.T, r *result.Result, threshold string) string {
	t.Helper()
	a := analyse.Result(r)
	one, err := bounds.ParseThreshold(threshold)
	if err != nil {
		t.Fatal(err)
	}
	j := bounds.Judge(r, &a, []bounds.Threshold{one})
	var out strings.Builder
	if err := report.WriteJudged(&out, r, &a, &j); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var all map[string]any
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

func check(t *testing.T, document map[string]any) *verify.Verification {
	t.Helper()
	text, err := json.MarshalIndent(document, "", " ") // another layout than was written
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := verify.Split(text)
	if err != nil {
		t.Fatal(err)
	}
	var r result.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	v, err := verify.File(text, &r, "a later build")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// at returns the member of a tree, and panics where the test names none.
func at(tree any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			tree = tree.(map[string]any)[key]
		case int:
			tree = tree.([]any)[key]
		}
	}
	return tree
}

func set(tree any, value any, path ...any) {
	switch last := path[len(path)-1].(type) {
	case string:
		at(tree, path[:len(path)-1]...).(map[string]any)[last] = value
	case int:
		at(tree, path[:len(path)-1]...).([]any)[last] = value
	}
}

// redigest makes the digest anew, as a careful forger would.
func redigest(t *testing.T, document map[string]any) {
	t.Helper()
	raw, err := json.Marshal(document["result"])
	if err != nil {
		t.Fatal(err)
	}
	digest, err := result.Digest(raw)
	if err != nil {
		t.Fatal(err)
	}
	document["digest"] = digest
}

// small is a result of few rounds, so that it is judged fast.
func small() *result.Result {
	return resulttest.Make(resulttest.Setting{
		Name: "small", Arms: resulttest.Arms()[:2],
		Loads: []plan.Load{{InFlight: 1}}, Rounds: 10, Seed: 3,
	})
}

func TestWhatIsWrittenHolds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, r := range map[string]*result.Result{
		"closed": resulttest.Short(11), "open": resulttest.Open(),
		"streams": resulttest.Streams(), "troubled": resulttest.Troubled(), "one arm": resulttest.OneArm(),
	} {
		v := check(t, document(t, r, "errors > 0.1%"))
		if !v.Holds() || len(v.Checked) != 5 || len(v.Unchecked) != 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// Whatever is edited is found and named, with a new digest or without.
func TestEditsAreNamed(t *testing.T) {
	t.Parallel()
	trial := []any{"result", "rounds", 3, "trials", 1}
	in := func(path []any, more ...any) []any { return append(append([]any{}, path...), more...) }
	histogram := func(t *testing.T, d map[string]any) string {
		t.Helper()
		var h stat.Histogram
		text, err := json.Marshal(at(d, in(trial, "response")...))
		if err == nil {
			err = json.Unmarshal(text, &h)
		}
		if err != nil {
			t.Fatal(err)
		}
		h.RecordN(1, 400) // some calls that were fast
		text, err = json.Marshal(&h)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Trim(string(text), `"`)
	}
	whole := written(t, small(), "cpu/req > +3%")
	for _, c := range []struct {
		name string
		edit func(*testing.T, map[string]any)
		// with a new digest, a difference at each of these paths; without, at "digest" too.
		paths []string
		// outside: the raw data is untouched, so the digest holds.
		outside bool
	}{
		{
			"a count", func(_ *testing.T, d map[string]any) { set(d, json.Number("1"), in(trial, "sent")...) },
			[]string{"result.rounds[3].trials[1].sent", "analysis."},
			false,
		},
		{
			"a cost", func(_ *testing.T, d map[string]any) { set(d, "1ms", in(trial, "server", "cpu")...) },
			[]string{"analysis.loads[", "judgement.findings[", "printed."},
			false,
		},
		{
			"a bucket of a histogram",
			func(t *testing.T, d map[string]any) { set(d, histogram(t, d), in(trial, "response")...) },
			[]string{"result.rounds[3].trials[1].response", "analysis."},
			false,
		},
		{"a round left out", func(_ *testing.T, d map[string]any) {
			set(d, at(d, "result", "rounds").([]any)[1:], "result", "rounds")
		}, []string{"analysis.", "printed."}, false},
		{"rounds exchanged", func(_ *testing.T, d map[string]any) {
			rounds := at(d, "result", "rounds").([]any)
			rounds[2], rounds[5] = rounds[5], rounds[2]
		}, []string{"result.rounds[3].began"}, false},
		{"the plan", func(_ *testing.T, d map[string]any) {
			set(d, json.Number("0.3"), "result", "plan", "equivalent")
		}, []string{"analysis.loads[0].rows[0].cells[1].difference.margin"}, false},
		{
			"the seed", func(_ *testing.T, d map[string]any) { set(d, json.Number("5"), "result", "plan", "seed") },
			[]string{"printed.terminal["},
			false,
		},
		{
			"the name of an arm", func(_ *testing.T, d map[string]any) { set(d, "soap", "result", "arms", 1, "name") },
			[]string{"result.arms[1]", "printed.sentences[0]"},
			false,
		},
		{
			"the machine", func(_ *testing.T, d map[string]any) {
				set(d, "A faster CPU", "result", "environment", "cpu")
			},
			[]string{"printed.terminal["},
			false,
		},
		{
			"how it ended", func(_ *testing.T, d map[string]any) { set(d, "width reached", "result", "ending") },
			[]string{"result.ending", "printed.terminal["},
			false,
		},
		{
			"an unknown field", func(_ *testing.T, d map[string]any) { set(d, "x", "result", "note") }, nil,
			false,
		},
		{"a ratio", func(_ *testing.T, d map[string]any) {
			set(d, json.Number("1.02"), "analysis", "loads", 0, "rows", 0, "cells", 1, "difference", "ratio")
		}, []string{"analysis.loads[0].rows[0].cells[1].difference.ratio"}, true},
		{"a verdict", func(_ *testing.T, d map[string]any) {
			set(d, "better", "analysis", "loads", 0, "rows", 0, "cells", 1, "difference", "verdict")
		}, []string{"analysis.loads[0].rows[0].cells[1].difference.verdict"}, true},
		{"a gate", func(_ *testing.T, d map[string]any) {
			set(d, false, "analysis", "loads", 0, "arms", 0, "checks", 0, "ok")
		}, []string{"analysis.loads[0].arms[0].checks[0].ok"}, true},
		{
			"a sentence", func(_ *testing.T, d map[string]any) {
				set(d, "grpc is cheapest.", "printed", "sentences", 0)
			},
			[]string{"printed.sentences[0]"},
			true,
		},
		{
			"a claim", func(_ *testing.T, d map[string]any) { set(d, "−31.6 %", "printed", "claims", 0, "change") },
			[]string{"printed.claims[0].change"},
			true,
		},
		{
			"a line of a table",
			func(_ *testing.T, d map[string]any) { set(d, "grpc 1.0 µs", "printed", "terminal", 9) },
			[]string{"printed.terminal[9]"},
			true,
		},
		{"a line more", func(_ *testing.T, d map[string]any) {
			set(d, append(at(d, "printed", "terminal").([]any), "PS: grpc is best"), "printed", "terminal")
		}, []string{"printed.terminal["}, true},
		{
			"an outcome", func(_ *testing.T, d map[string]any) { set(d, "pass", "judgement", "outcome") },
			[]string{"judgement.outcome"},
			true,
		},
		{
			"a threshold", func(_ *testing.T, d map[string]any) {
				set(d, "cpu/req > +60%", "judgement", "thresholds", 0)
			},
			[]string{"judgement.findings[0].limit"},
			true,
		},
		{
			"the schema", func(_ *testing.T, d map[string]any) { set(d, json.Number("7"), "schema") },
			[]string{"schema"},
			true,
		},
		{
			"the digest", func(_ *testing.T, d map[string]any) { set(d, "sha256:00", "digest") },
			[]string{"digest"},
			true,
		},
		{"no digest", func(_ *testing.T, d map[string]any) { delete(d, "digest") }, []string{"digest"}, true},
		{"no report", func(_ *testing.T, d map[string]any) { delete(d, "printed") }, []string{"printed"}, true},
	} {
		for _, careful := range []bool{false, true} {
			d := decoded(t, whole)
			c.edit(t, d)
			want := c.paths
			switch {
			case careful && c.outside:
				continue
			case careful:
				redigest(t, d)
			case !c.outside:
				want = append([]string{"digest"}, want...)
			}
			v := check(t, d)
			for _, path := range want {
				found := false
				for _, diff := range v.Differences {
					found = found || strings.HasPrefix(diff.Path, path)
				}
				if !found {
					t.Errorf("%s (new digest: %v): nothing at %s: %+v", c.name, careful, path, v.Differences)
				}
			}
			if v.Holds() != (len(want) == 0) {
				t.Errorf("%s (new digest: %v): holds: %v", c.name, careful, v.Holds())
			}
			for _, diff := range v.Differences {
				if diff.Path == "" || diff.Stored == "" && diff.Computed == "" && diff.Says == "" {
					t.Errorf("%s: says nothing: %+v", c.name, diff)
				}
			}
		}
	}
}

// Files from before there were digests and printed reports say what cannot be
// checked. The parts that are there are checked nevertheless.
func TestOlderFiles(t *testing.T) {
	t.Parallel()
	old := document(t, small(), "cpu/req > +3%")
	for _, part := range []string{"digest", "printed", "judgement"} {
		delete(old, part)
	}
	if v := check(t, old); !v.Holds() ||
		fmt.Sprint(v.Unchecked) != "[the digest: there is none printed: the file has none]" {
		t.Errorf("%+v", v)
	}
	set(old, json.Number("1.02"), "analysis", "loads", 0, "rows", 0, "cells", 1, "difference", "ratio")
	if v := check(t, old); v.Holds() {
		t.Errorf("an edited ratio: %+v", v)
	}
	alone := at(document(t, small(), "cpu/req > +3%"), "result").(map[string]any)
	if v := check(t, alone); !v.Holds() || len(v.Unchecked) != 2 {
		t.Errorf("%+v", v)
	}
}

// A figure may differ in its last digits between processors, and no more.
func TestRounding(t *testing.T) {
	t.Parallel()
	v := &verify.Verification{}
	for _, c := range []struct {
		a, b  string
		alike bool
	}{
		{"1.3162492358199351", "1.3162492358199353", true},
		{"1.3162492358199351", "1.3162492400000000", false},
		{"100", "1e2", true},
		{"0", "1e-30", false},
	} {
		before := v.Total()
		if err := v.Compare("x", json.Number(c.a), json.Number(c.b)); err != nil {
			t.Fatal(err)
		}
		if (v.Total() == before) != c.alike {
			t.Errorf("%s and %s: alike is %v", c.a, c.b, !c.alike)
		}
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	of := func(text string) string {
		digest, err := result.Digest([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		return digest
	}
	if of(`{"a":1,"b":["x<y",2.50]}`) != of(" {\n\"b\": [\"x\\u003cy\", 2.50 ],\"a\":1}\n") {
		t.Error("the layout matters")
	}
	for _, other := range []string{
		`{"a":1,"b":["x<y",2.5]}`, `{"a":1,"b":["x<y",2.50],"c":null}`,
		`{"a":1,"b":[2.50,"x<y"]}`,
	} {
		if of(`{"a":1,"b":["x<y",2.50]}`) == of(other) {
			t.Errorf("%s has the same digest", other)
		}
	}
	for _, bad := range []string{"", "{", "{} {}", "x"} {
		if digest, err := result.Digest([]byte(bad)); err == nil {
			t.Errorf("%q: %s", bad, digest)
		}
	}
}
