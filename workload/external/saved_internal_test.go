package external

import (
	"encoding/json"
	"strings"
	"testing"

	"wirelab/workload/external/request"
)

// Where a value stands is found as RFC 6901 says, and a Location of the service itself is a path of the wire.
func TestSavedValuesAreFound(t *testing.T) {
	const body = `{"a/b": {"~c": [10, {"d": 9007199254740993}]}, "": {"": "empty"}, "no": null, "list": []}`
	w := Wire{Kind: HTTP, Version: HTTP1, Authority: "shop:80"}
	reply := request.Reply{Body: []byte(body), Fields: []request.Field{
		{Name: "Location", Value: "http://shop:80/v1/orders/7?x=1"},
		{Name: "Content-Location", Value: "http://other/v1/orders/7"},
		{Name: "X-Next", Value: "http://shop:80/v1/orders/8"},
	}}
	for text, want := range map[string]string{
		"/a~1b/~0c/0": "10", "/a~1b/~0c/1/d": "9007199254740993", "//": `"empty"`, "header:location": `"/orders/7?x=1"`,
		"header:Content-Location": `"http://other/v1/orders/7"`, "header:X-Next": `"http://shop:80/v1/orders/8"`,
		"/no": "null at /no", "/list/0": "nothing at /list/0", "/a~1b/~0c/-1": "nothing at",
		"/a~1b/~0c/x":   "nothing at",
		"/a~1b/~0c/0/y": "nothing at", "header:X": "no header X", "/list": "[]",
	} {
		all, err := sourcesOf(map[string]string{"it": text})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if value, err := all[0].find(reply, reply.Body, w, "http://shop:80/v1"); err != nil {
			got = err.Error()
		} else {
			encoded, _ := json.Marshal(value)
			got = string(encoded)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	large, _ := sourcesOf(map[string]string{"it": "/a"})
	body2 := []byte(`{"a": "` + strings.Repeat("x", savedLimit) + `"}`)
	if _, err := large[0].find(request.Reply{}, body2, w, ""); err == nil ||
		!strings.Contains(err.Error(), "more than 64 KiB") {
		t.Errorf("%v", err)
	}
}

// A secret is hidden in each form that a text has it in, and where a text was cut within it.
func TestSavedValuesAreHidden(t *testing.T) {
	secrets := []string{`a+b "c"/d`, "tok-12345678", "7"}
	for text, want := range map[string]string{
		`was a+b "c"/d!`:                  "was (secret)!",
		"/x?y=a%2Bb+%22c%22%2Fd":          "/x?y=(secret)",
		`{"z":"a+b \"c\"/d"}`:             `{"z":"(secret)"}`,
		"item 7 of 17, tok-12345678, 7":   "item (secret) of 17, (secret), (secret)",
		"permission denied for tok-12345": "permission denied for (secret)",
		`"denied for tok-123456…"`:        `"denied for (secret)…"`,
	} {
		if got := hideCut(text, secrets); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := string(hideIn([]byte(`{"n": 7, "tok-12345678": [17, "7"]}`),
		secrets)); got != `{"(secret)":[17,"(secret)"],"n":"(secret)"}` {
		t.Error(got)
	}
}

// Whatever a reply is, and whatever is saved of it, nothing panics, and the value does not show.
func FuzzSaved(f *testing.F) {
	f.Add(`{"a": [{"b": "secret"}]}`, "/a/0/b", "told secret things")
	f.Add(`[[[1]]]`, "/0/0/0", "1 and 11")
	f.Add(`{"a":`, "/a", "")
	f.Fuzz(func(t *testing.T, body, pointer, text string) {
		all, err := sourcesOf(map[string]string{"it": pointer})
		if err != nil {
			return
		}
		value, err := all[0].find(request.Reply{Body: []byte(body)}, []byte(body), Wire{}, "")
		if err != nil {
			return
		}
		secrets := secretTexts(nil, value)
		got := hideCut(text, secrets)
		_ = hideIn([]byte(body), secrets)
		for _, s := range secrets {
			if len(s) >= hidingWhole && !strings.Contains(hidden, s) && strings.Contains(got, s) && len(secrets) == 1 &&
				!strings.Contains(strings.ReplaceAll(got, hidden, "\x00"), "\x00") {
				t.Errorf("%q shows %q", got, s)
			}
		}
	})
}
