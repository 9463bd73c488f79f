package judge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"wirelab"
	"wirelab/workload/external/judge"
	"wirelab/workload/external/request"
)

func reply(status int, body string) request.Reply {
	return request.Reply{Status: status, Body: []byte(body)}
}

func newJudge(t testing.TB, rule judge.Rule, options ...judge.Option) *judge.Judge {
	t.Helper()
	data, err := json.Marshal(rule) // as it travels
	if err != nil {
		t.Fatal(err)
	}
	var there judge.Rule
	if err := json.Unmarshal(data, &there); err != nil {
		t.Fatal(err)
	}
	j, err := judge.New(there, options...)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// wantMismatch asks for a mismatch with these texts; "" and "": none.
func wantMismatch(t testing.TB, name string, err error, got, want string) {
	t.Helper()
	var wrong *wirelab.Mismatch
	switch {
	case err == nil && got == "" && want == "":
	case !errors.As(err, &wrong):
		t.Errorf("%s: %v, want got %q, want %q", name, err, got, want)
	case wrong.Got != got || wrong.Want != want:
		t.Errorf("%s: got %q, want %q; they should be %q and %q", name, wrong.Got, wrong.Want, got, want)
	}
}

// What differs is named by its JSON pointer, and what only looks different is equal.
func TestLearnt(t *testing.T) {
	t.Parallel()
	const first = `{"a":1,"items":[{"id":"x","price":12.5},{"id":"y","price":3}],"text":"é","none":null}`
	for _, c := range []struct {
		body, got, want string
		ignore          []string
	}{
		{first, "", "", nil},
		{
			` { "none":null, "text":"\u00e9", "a":1.0, "items":[{"price":125e-1,"id":"x"},{"id":"y","price":0.3e1}] } `,
			"", "",
			nil,
		},
		{strings.Replace(first, "12.5", "13", 1), "13 at /items/0/price", "12.5 at /items/0/price", nil},
		{strings.Replace(first, "12.5", "13", 1), "", "", []string{"/items/*/price"}},
		{strings.Replace(first, "12.5", "13", 1), "", "", []string{"/x", "/items/0"}},
		{strings.Replace(first, "12.5", "13", 1), "", "", []string{"/*"}},
		{
			strings.Replace(first, "12.5", "13", 1), "13 at /items/0/price", "12.5 at /items/0/price",
			[]string{"/items/1/price", "/price"},
		},
		{strings.Replace(first, `,"none":null`, "", 1), "none at /none", "null at /none", nil},
		{strings.Replace(first, `,"none":null`, "", 1), "", "", []string{"/none"}},
		{strings.Replace(first, `null`, `null,"new~/":[1]`, 1), "[1] at /new~0~1", "none at /new~0~1", nil},
		{strings.Replace(first, `null`, `null,"new~/":[1]`, 1), "", "", []string{"/new~0~1"}},
		{
			strings.Replace(first, `,{"id":"y","price":3}`, "", 1), "none at /items/1",
			`{"id":"y","price":3} at /items/1`,
			nil,
		},
		{
			strings.Replace(first, `,{"id":"y","price":3}`, "", 1), "none at /items/1", `_ at /items/1`,
			[]string{"/items/*"},
		},
		{strings.Replace(first, `"a":1`, `"a":"1"`, 1), `"1" at /a`, "1 at /a", nil},
		{
			strings.Replace(first, `"a":1`, `"a":10000000000000000000000001`, 1), `10000000000000000000000001 at /a`,
			"1 at /a",
			nil,
		},
		{`[1]`, `[1]`, `{"a":1,"items":[{"id":"x","price":125e-1},{"id":"y","price":…`, nil},
		{
			`oops`, "of 4 bytes with oops at byte 0",
			`85 bytes with {"a":1,"items":[{"id":"x","price":12.5},{"id":"y","price":3}…`, nil,
		},
		{
			``, "of 0 bytes with nothing at byte 0",
			`85 bytes with {"a":1,"items":[{"id":"x","price":12.5},{"id":"y","price":3}…`, nil,
		},
	} {
		j := newJudge(t, judge.Rule{Mode: judge.Learnt, Ignore: c.ignore})
		for index, body := range []string{first, "another"} {
			if err := j.Check(index, reply(200, body)); err != nil {
				t.Fatal(err)
			}
		}
		c.want = strings.Replace(c.want, "85", fmt.Sprint(len(first)), 1)
		wantMismatch(t, c.body+strings.Join(c.ignore, ","), j.Check(0, reply(200, c.body)), c.got, c.want)
		if err := j.Check(0, reply(200, first)); err != nil {
			t.Errorf("the first again: %v", err)
		}
	}
}

// One wrong field in many is found, and what a stream of values has is found by its place.
func TestLearntStream(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 10_000 {
		lines = append(lines, fmt.Sprintf(`{"n":%d,"at":"12:%d"}`, i, i%60))
	}
	j := newJudge(t, judge.Rule{Mode: judge.Learnt, Ignore: []string{"/at"}})
	if err := j.Check(0, reply(200, strings.Join(lines, "\n"))); err != nil {
		t.Fatal(err)
	}
	lines[5000] = `{"n":5000,"at":"13:00"}`
	if err := j.Check(0, reply(200, strings.Join(lines, "\n\n"))); err != nil {
		t.Error(err)
	}
	lines[7777] = `{"n":7778,"at":"13:00"}`
	wantMismatch(t, "line 7777", j.Check(0, reply(200, strings.Join(lines, "\n"))), "7778 at value 7777 /n",
		"7777 at value 7777 /n")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule      judge.Rule
		statuses  []int // each after the other
		got, want string
	}{
		{judge.Rule{Mode: judge.Learnt}, []int{200, 200}, "", ""},
		{judge.Rule{Mode: judge.Learnt}, []int{0, 0}, "", ""},
		{judge.Rule{Mode: judge.Learnt}, []int{500}, "of status 500 with x", "status OK or 2xx"},
		{judge.Rule{Mode: judge.Learnt}, []int{200, 201}, "of status 201 with x", "status 200"},
		{judge.Rule{Mode: judge.Learnt, Status: "2xx"}, []int{200, 201}, "", ""},
		{judge.Rule{Mode: judge.Learnt, Status: "404"}, []int{404, 404}, "", ""},
		{judge.Rule{Mode: judge.Status}, []int{200, 201, 299}, "", ""},
		{judge.Rule{Mode: judge.Status}, []int{304}, "of status 304 with x", "status OK or 2xx"},
		{judge.Rule{Mode: judge.Status, Status: "200, 3XX"}, []int{304, 200}, "", ""},
		{judge.Rule{Mode: judge.Status, Status: "200, 3XX"}, []int{400}, "of status 400 with x", "status 200 or 3xx"},
		{judge.Rule{Mode: judge.Status, Status: "NotFound"}, []int{5}, "", ""},
		{judge.Rule{Mode: judge.Status, Status: "OK"}, []int{5}, "of status NOT_FOUND with x", "status OK"},
	} {
		j := newJudge(t, c.rule)
		var err error
		for _, status := range c.statuses {
			err = j.Check(0, reply(status, "x"))
		}
		wantMismatch(t, fmt.Sprintf("%+v %v", c.rule, c.statuses), err, c.got, c.want)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	const schema = `{"$defs":{"n":{"type":"integer","minimum":1}},"type":"object","required":["id"],
		"properties":{"id":{"type":"string"},"items":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`
	j := newJudge(t, judge.Rule{Mode: judge.Schema, Schema: json.RawMessage(schema)})
	for body, say := range map[string]string{
		`{"id":"x"}`: "", `{"id":"y","items":[1,2]}`: "",
		`{"items":[]}`:               "missing property 'id'",
		`{"id":"x","items":[1,0]}`:   "/items/1 is wrong",
		`{"id":7}`:                   "/id is wrong: got number, want string",
		`<html>`:                     "no JSON: <html>",
		``:                           "no JSON: nothing",
		`{"id":"x"} {}`:              "no JSON",
		`{"id":"x","items":[1e400]}`: "",
	} {
		for range 2 { // the second of a right one is known by its bytes
			err := j.Check(3, reply(200, body))
			if (err == nil) != (say == "") || err != nil && !strings.Contains(err.Error(), say) {
				t.Errorf("%s: %v, want %q", body, err, say)
			}
		}
	}
	wantMismatch(t, "status", j.Check(3, reply(500, `{"id":"x"}`)), `of status 500 with {"id":"x"}`, "status OK or 2xx")
}

func TestFile(t *testing.T) {
	t.Parallel()
	j := newJudge(t, judge.Rule{
		Mode: judge.File, Ignore: []string{"/at"},
		Replies: []request.Reply{reply(200, `{"at":1,"x":2}`), reply(0, `plain`), reply(404, "")},
	})
	wantMismatch(t, "same", j.Check(0, reply(200, `{"at":5,"x":2}`)), "", "")
	wantMismatch(t, "other", j.Check(0, reply(200, `{"at":5,"x":3}`)), "3 at /x", "2 at /x")
	wantMismatch(t, "any good status", j.Check(1, reply(204, `plain`)), "", "")
	wantMismatch(t, "no good status", j.Check(1, reply(404, `plain`)), "of status 404 with plain", "status OK or 2xx")
	wantMismatch(t, "recorded failure", j.Check(2, reply(404, "")), "", "")
	if err := j.Check(3, reply(200, "")); wirelab.CodeOf(err) != wirelab.InvalidArgument ||
		!strings.Contains(err.Error(),
			"request 3") {
		t.Error(err)
	}
}

// Bodies that are not JSON are decoded where their bytes differ, and only there.
func TestDecoding(t *testing.T) {
	t.Parallel()
	decoded := 0
	j := newJudge(t, judge.Rule{Mode: judge.Learnt, Ignore: []string{"/b"}}, judge.Decoding(func(body []byte) ([]byte,
		error,
	) {
		decoded++
		if len(body) != 2 {
			return nil, errors.New("too short")
		}
		return fmt.Appendf(nil, `{"a":%d,"b":%d}`, body[0], body[1]), nil
	}))
	for _, body := range []string{"ab", "ab", "ab"} {
		wantMismatch(t, body, j.Check(0, reply(0, body)), "", "")
	}
	if decoded != 0 {
		t.Errorf("%d decoded", decoded)
	}
	wantMismatch(t, "ac", j.Check(0, reply(0, "ac")), "", "")
	wantMismatch(t, "bc", j.Check(0, reply(0, "bc")), "98 at /a", "97 at /a")
	wantMismatch(t, "x", j.Check(0, reply(0, "x")), "of 1 bytes with x at byte 0", "2 bytes with ab")
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule judge.Rule
		say  string
	}{
		{judge.Rule{}, "unknown mode"},
		{judge.Rule{Mode: "learned"}, "did you mean learnt"},
		{judge.Rule{Mode: judge.Learnt, Ignore: []string{""}}, `mode "status"`},
		{judge.Rule{Mode: judge.Learnt, Ignore: []string{"updatedAt"}}, "begins with a slash"},
		{judge.Rule{Mode: judge.Learnt, Ignore: []string{"/a~2"}}, "~0"},
		{judge.Rule{Mode: judge.Learnt, Ignore: []string{strings.Repeat("/a", 300)}}, "more than 200 parts"},
		{judge.Rule{Mode: judge.Learnt, Ignore: slices.Repeat([]string{"/a"}, 65)}, "at most 64"},
		{judge.Rule{Mode: judge.Learnt, Status: "fine"}, "a number such as 200"},
		{judge.Rule{Mode: judge.Learnt, Status: "99"}, "a number such as 200"},
		{judge.Rule{Mode: judge.Learnt, Status: "9xx"}, "a number such as 200"},
		{judge.Rule{Mode: judge.Status, Ignore: []string{"/a"}}, "nothing to ignore"},
		{judge.Rule{Mode: judge.File}, "no reply is recorded"},
		{judge.Rule{Mode: judge.Schema}, "no JSON Schema"},
		{judge.Rule{Mode: judge.Schema, Schema: json.RawMessage("{")}, "no JSON:"},
		{judge.Rule{Mode: judge.Schema, Schema: json.RawMessage(`{"type":"strng"}`)}, "JSON Schema: "},
		{judge.Rule{Mode: judge.Schema, Schema: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)}, "$defs"},
		{judge.Rule{Mode: judge.Schema, Schema: json.RawMessage(`{"$ref":"http://example.com/x.json"}`)}, "$defs"},
	} {
		if _, err := judge.New(c.rule); err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument ||
			!strings.Contains(err.Error(), c.say) {
			t.Errorf("%+v: %v, want %q", c.rule, err, c.say)
		}
	}
	if _, err := judge.New(judge.Rule{Mode: judge.Learnt, Ignore: slices.Repeat([]string{"/a"}, 64)}); err != nil {
		t.Error(err)
	}
}

// TestBounds checks that stored replies are bounded, and that the error names a remedy.
func TestBounds(t *testing.T) {
	t.Parallel()
	j := newJudge(t, judge.Rule{Mode: judge.Learnt})
	large := reply(200, strings.Repeat("x", 8<<20))
	for i := range 7 {
		if err := j.Check(i, large); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Check(7, large); wirelab.CodeOf(err) != wirelab.ResourceExhausted || !strings.Contains(err.Error(),
		"64 MiB: send fewer") {
		t.Error(err)
	}
	if err := j.Check(3, large); err != nil {
		t.Error(err)
	}
	if err := j.Check(8, reply(200, "small")); err != nil {
		t.Error(err)
	}
	for _, index := range []int{-1, judge.MaxRequests} {
		if err := j.Check(index, reply(200, "x")); wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%d: %v", index, err)
		}
	}
	if err := j.Check(judge.MaxRequests-1, reply(200, "x")); err != nil {
		t.Error(err)
	}
}

// Of many that come at once one is learnt, and all are compared with it.
func TestTogether(t *testing.T) {
	t.Parallel()
	j := newJudge(t, judge.Rule{Mode: judge.Learnt, Ignore: []string{"/at"}})
	const callers, indexes = 8, 600
	var all sync.WaitGroup
	errs := make([]int, callers)
	for c := range callers {
		all.Go(func() {
			for i := range indexes {
				body := fmt.Sprintf(`{"at":%d,"i":%d}`, c, i)
				if i == 300 {
					body = fmt.Sprintf(`{"at":1,"i":%d}`, c)
				}
				if j.Check(i, reply(200, body)) != nil {
					errs[c]++
				}
			}
		})
	}
	all.Wait()
	total := 0
	for _, n := range errs {
		total += n
	}
	if total != callers-1 { // all but the first differ in request 300
		t.Errorf("%d mismatches", total)
	}
	if n := len(j.Digests()); n != indexes {
		t.Errorf("%d digests", n)
	}
}

// Rounds that learnt the same say so, whichever replies came first in each.
func TestDigests(t *testing.T) {
	t.Parallel()
	learn := func(rule judge.Rule, bodies ...string) judge.Digests {
		j := newJudge(t, rule)
		for i, body := range bodies {
			if body == "" {
				continue
			}
			if err := j.Check(i, reply(200, body)); err != nil {
				t.Fatal(err)
			}
		}
		return j.Digests()
	}
	rule := judge.Rule{Mode: judge.Learnt, Ignore: []string{"/at"}}
	a := learn(rule, `{"at":1,"x":1}`, `{"y":2}`, "plain")
	b := learn(rule, `{"x":1.0}`, ` {"y":2,"at":null} `, "plain")
	if a.Sum() != b.Sum() || len(a.Differ(b)) != 0 || len(a) != 3 {
		t.Errorf("%v and %v", a, b)
	}
	c := learn(rule, `{"x":1}`, `{"y":3}`, "")
	if a.Sum() == c.Sum() || !slices.Equal(a.Differ(c), []int{1}) || !slices.Equal(c.Differ(a), []int{1}) {
		t.Errorf("%v and %v: %v", a, c, a.Differ(c))
	}
	if d := learn(judge.Rule{Mode: judge.Status}, "x"); len(d) != 0 {
		t.Error(d)
	}
}

func TestSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule judge.Rule
		want string
	}{
		{judge.Rule{Mode: judge.Status, Status: "2xx"}, "replies not compared beyond their status (2xx)"},
		{
			judge.Rule{Mode: judge.Learnt},
			"status and body of replies compared with the first to the same request; header fields not compared",
		},
		{
			judge.Rule{Mode: judge.Learnt, Status: "200", Ignore: []string{"/a", "/b", "/c", "/d"}},
			"status (200) and body of replies compared with the first to the same request " +
				"without /a, /b, /c and 1 more; header fields not compared",
		},
		{
			judge.Rule{Mode: judge.File, Replies: []request.Reply{{}}},
			"status and body of replies compared with recorded ones; header fields not compared",
		},
		{
			judge.Rule{Mode: judge.Schema, Schema: json.RawMessage(`{}`)},
			"status and form of replies checked by a JSON Schema; their values not compared beyond it",
		},
	} {
		if got := newJudge(t, c.rule).Says(); got != c.want {
			t.Errorf("%+v: %s", c.rule, got)
		}
	}
}

// A reply of equal bytes costs no memory.
func TestEqualAllocatesNothing(t *testing.T) {
	j := newJudge(t, judge.Rule{Mode: judge.Learnt, Ignore: []string{"/at"}})
	r := reply(200, `{"at":1,"x":[1,2,3]}`)
	if err := j.Check(5, r); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if j.Check(5, r) != nil {
			t.Error("wrong")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	var body strings.Builder
	body.WriteString(`{"at":"2026-01-01T00:00:00Z","items":[`)
	for i := range 10 {
		fmt.Fprintf(&body, `%s{"id":"item-%d","price":%d.50,"tags":["a","b"],"stock":%d}`,
			strings.Repeat(",", min(i, 1)), i,
			i, i*7)
	}
	body.WriteString(`]}`)
	first := reply(200, body.String())
	other := reply(200, strings.Replace(body.String(), "2026", "2027", 1))
	j := newJudge(b, judge.Rule{Mode: judge.Learnt, Ignore: []string{"/at"}})
	if err := j.Check(0, first); err != nil {
		b.Fatal(err)
	}
	for name, r := range map[string]request.Reply{"equal": first, "ignored": other} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(r.Body)))
			for b.Loop() {
				if err := j.Check(0, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("encoding/json alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(other.Body, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
