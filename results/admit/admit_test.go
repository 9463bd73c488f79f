package admit_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/admit"
	report "wirelab/results/report/json"
	"wirelab/results/store"
)

// document is an export of a result, and alone the result in it.
func document(t *testing.T) (whole, alone string) {
	t.Helper()
	r := resulttest.Short(2)
	var out strings.Builder
	if err := report.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	text, err := store.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), string(text)
}

// changed has the first of a pattern replaced, which must be there.
func changed(t *testing.T, text, old, now string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q", old)
	}
	return strings.Replace(text, old, now, 1)
}

func TestWholeIsAdmitted(t *testing.T) {
	t.Parallel()
	whole, alone := document(t)
	var wide bytes.Buffer
	wide.Write([]byte{0xff, 0xfe})
	for _, unit := range utf16.Encode([]rune(whole)) {
		wide.Write([]byte{byte(unit), byte(unit >> 8)})
	}
	for name, c := range map[string]struct {
		text   string
		sealed bool
	}{
		"a document":             {whole, true},
		"the result alone":       {alone, false},
		"with a byte-order mark": {"\ufeff" + whole, true},
		"in UTF-16":              {wide.String(), true},
		"in another layout":      {strings.ReplaceAll(whole, "\n", "\r\n\t"), true},
	} {
		in, err := admit.Result([]byte(c.text))
		if err != nil || in.Sealed != c.sealed || in.Result.ID != resulttest.Short(2).ID {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}

// What was edited, cannot be, or is not whole, stays outside; the reason names the place.
func TestEditedIsRefused(t *testing.T) {
	t.Parallel()
	whole, alone := document(t)
	first := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindString(alone)
		if found == "" {
			t.Fatalf("there is no %s", pattern)
		}
		return found
	}
	others, window := first(`"others": [0-9.e-]+`), first(`"window": "[^"]+"`)
	cpu, sent := first(`"cpu": "[0-9.]+m?s"`), first(`"wire_sent": [0-9]+`)
	for name, c := range map[string]struct{ text, says string }{
		"another host":       {changed(t, whole, `"host": "lab"`, `"host": "den"`), "digest"},
		"no digest":          {changed(t, whole, `"digest": `, `"digset": `), "digest: it was taken out"},
		"null for noise":     {changed(t, alone, others, `"others": null`), "others is null"},
		"more noise":         {changed(t, alone, others, `"others": 7.5`), "noise.others: 7.5: a share is 0 to 1"},
		"noise below 0":      {changed(t, alone, others, `"others": -0.5`), "noise.others: -0.5"},
		"a call more":        {changed(t, alone, `"sent": `, `"sent": 1`), "sent"},
		"time below 0":       {changed(t, alone, window, `"window": "-5s"`), "window"},
		"CPU below 0":        {changed(t, alone, cpu, `"cpu": "-3s"`), "no time is below 0"},
		"a time of for ever": {changed(t, alone, cpu, `"cpu": "2000000h"`), "no measurement gives such a figure"},
		"bytes without end": {
			changed(t, alone, sent, `"wire_sent": 9007199254740999`),
			"no measurement gives such a figure",
		},
		"no number":          {changed(t, alone, others, `"others": NaN`), "not a result"},
		"infinity":           {changed(t, alone, others, `"others": 1e400`), "not a result"},
		"cut off":            {alone[:len(alone)/2], "it ends in the middle"},
		"a document cut off": {whole[:len(whole)/2], "not a result"},
		"too few rounds":     {changed(t, alone, `"ending": "interrupted"`, `"ending": "rounds done"`), "ending"},
		"ended before":       {changed(t, alone, `"ended": "2026`, `"ended": "2025`), "ended"},
		"no such plan":       {changed(t, alone, `"slices": `, `"slices": 9999`), "no experiment can have this plan"},
		"another schema":     {changed(t, whole, `"schema": 1`, `"schema": 2`), "schema: stored 2, computed 1"},
		"UTF-16 unmarked":    {"{\x00\"\x00", "UTF-16"},
	} {
		_, err := admit.Result([]byte(c.text))
		if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
	if _, err := admit.Result([]byte(changed(t, alone, `"schema": 1`,
		`"schema": 2`))); wirelab.CodeOf(err) != wirelab.Unimplemented {
		t.Errorf("a later schema: %v", err)
	}
}

// A file that a full store left is as safe against edits as an export.
func TestRescuedIsSealed(t *testing.T) {
	t.Parallel()
	_, alone := document(t)
	raw := json.RawMessage(alone)
	digest, err := result.Digest(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(store.Rescued{Schema: 1, Digest: digest, Rescued: true, Result: raw})
	if err != nil {
		t.Fatal(err)
	}
	if in, err := admit.Result(text); err != nil || !in.Sealed {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := admit.Result([]byte(changed(t, string(text), `"host":"lab"`, `"host":"den"`))); err == nil {
		t.Error("an edited one is taken in")
	}
	if _, err := admit.Result([]byte(changed(t, string(text), digest, ""))); err == nil {
		t.Error("one without its digest is taken in")
	}
}
