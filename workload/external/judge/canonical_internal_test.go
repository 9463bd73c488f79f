package judge

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/workload/external/request"
)

func canonicalOf(text string) (string, bool) {
	w := writer{ignore: new(patterns)}
	form, ok := w.canonical([]byte(text))
	return string(form), ok
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1": "1", "1.0": "1", "10e-1": "1", "100": "1e2", "-0": "0", "0.000": "0", "-0e5": "0", "-1.50E+1": "-15",
		"0.001": "1e-3", "123456789012345678901234567890.5": "1234567890123456789012345678905e-1",
		"1e999999999999999999999": "1E999999999999999999999s999999999999999",
		`"a\u0041\/\n\u00e9"`:     `"aA/\u000a` + "é\"", `"\ud83d\ude00"`: "\"😀\"", `"\ud83d"`: `"\ud83d"`,
		`"\ud83d\u0041"`: `"\ud83dA"`,
		`"\\u0041"`:      `"\\u0041"`, "\"\xff\"": "\"\xff\"",
		`{"b":1,"a":{"d":[ ],"c":{ }}}`: `{"a":{"c":{},"d":[]},"b":1}`, `{"a":2,"a":1}`: `{"a":2,"a":1}`,
		"{} [1]\n\"x\" true": "{}\n[1]\n\"x\"\ntrue",
	} {
		if got, ok := canonicalOf(text); !ok || got != want {
			t.Errorf("%s: %s %v, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{
		"", " ", "{", "}", "[1,]", "[,1]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, "01", "-", "1.", ".5", "1e", "+1",
		"tru",
		"truefalse", "1true",
		`"`, `"\x"`, `"\u12"`, "\"\n\"", "nul", "[1 2]", "_", strings.Repeat("[", 201) + strings.Repeat("]", 201),
	} {
		if got, ok := canonicalOf(text); ok {
			t.Errorf("%q is %s", text, got)
		}
	}
}

// exact decodes JSON with numbers as exact ones; false: they are too long for that.
func exact(value any) (any, bool) {
	switch v := value.(type) {
	case json.Number:
		if at := strings.IndexAny(string(v), "eE"); len(v) > 100 || at >= 0 && len(v)-at > 5 {
			return nil, false
		}
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return nil, false
		}
		return r.RatString(), true
	case []any:
		for i := range v {
			inner, ok := exact(v[i])
			if !ok {
				return nil, false
			}
			v[i] = inner
		}
	case map[string]any:
		for name := range v {
			inner, ok := exact(v[name])
			if !ok {
				return nil, false
			}
			v[name] = inner
		}
	}
	return value, true
}

func decoded(text []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil, false
	}
	return exact(value)
}

// The one form has the content that encoding/json reads, and is its own.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.50,-0],"a":"\u00e9\ud800"}`, `[[],{},"",null,true,false]`, "1\n2", `{"a":1,"a":2}`, "1e-5", "12300",
		"\"\xff\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		form, ok := canonicalOf(text)
		if valid := json.Valid([]byte(text)); valid && !ok && !strings.Contains(text, strings.Repeat("[", 3)) &&
			len(text) < 400 {
			t.Fatalf("%q is JSON", text)
		} else if !valid || !ok {
			return
		}
		if strings.Contains(form, "E") && strings.Contains(form, "s") {
			return // may have a number beyond all bounds
		}
		if again, ok := canonicalOf(form); !ok || again != form {
			t.Errorf("%q: %q, and of that %q", text, form, again)
		}
		// encoding/json makes all that is no character one, and with it different names.
		want, ok := decoded([]byte(text))
		ok = ok && utf8.ValidString(text) && !strings.Contains(strings.ToLower(text), `\ud`)
		if got, fine := decoded([]byte(form)); ok && fine && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q", text, form)
		}
		var indented bytes.Buffer
		if json.Indent(&indented, []byte(text), " ", "\t") == nil {
			if other, ok := canonicalOf(indented.String()); !ok || other != form {
				t.Errorf("%q: %q, indented %q", text, form, other)
			}
		}
	})
}

func FuzzPointers(f *testing.F) {
	f.Add("/items/*/id", `{"items":[{"id":1,"x":2}]}`)
	f.Add("/a~1b/~0", `{"a/b":{"~":1}}`)
	f.Add("/*", `[1,2]`)
	f.Fuzz(func(t *testing.T, pointer, text string) {
		p, err := parsePointers([]string{pointer})
		if err != nil {
			return
		}
		w := writer{ignore: p}
		if form, ok := w.canonical([]byte(text)); ok {
			if whole, fine := canonicalOf(text); !fine || len(whole) < len(form) {
				t.Errorf("%q without %q: %q of %q", text, pointer, form, whole)
			}
		}
	})
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":[2]}`), "/b", "200", []byte(`{"type":"object"}`))
	f.Add([]byte("1\n2"), []byte("1\n3\n"), "/*", "2xx", []byte(`{"$ref":"#"}`))
	f.Add([]byte(`{"a":{"b":"\"}"}}`), []byte(`{"a":{"b":"\"}x"}}`), "/*/c", "OK", []byte(`{"enum":[1e9999]}`))
	f.Fuzz(func(t *testing.T, first, second []byte, ignore, status string, schema []byte) {
		for _, rule := range []Rule{
			{Mode: Learnt, Ignore: []string{ignore}},
			{Mode: Learnt},
			{Mode: Status, Status: status},
			{Mode: Schema, Schema: schema},
			{Mode: File, Replies: []request.Reply{{Body: first}}},
		} {
			j, err := New(rule)
			if err != nil {
				continue
			}
			_ = j.Check(0, request.Reply{Body: first})
			err = j.Check(0, request.Reply{Body: second})
			if rule.Mode == Learnt && err == nil && rule.Ignore == nil {
				a, aOK := canonicalOf(string(first))
				if b, bOK := canonicalOf(string(second)); !bytes.Equal(first, second) && (!aOK || !bOK || a != b) {
					t.Errorf("%q and %q are equal", first, second)
				}
			}
			_ = j.Digests().Sum()
			_ = j.Says()
		}
	})
}
