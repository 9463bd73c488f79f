package gateway

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzPlain holds plain against encoding/json: what it takes must be a request
// there too, and the same one, or the quick way would let in what the slow one
// refuses (ms-D01, ms-D02).
func FuzzPlain(f *testing.F) {
	for body := range requests() {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		if !utf8.ValidString(body) {
			return // decode asks no further
		}
		got, ok := plain([]byte(body))
		if !ok {
			return
		}
		if want, err := unmarshal([]byte(body)); err != nil || got != want {
			t.Errorf("plain takes %q for %+v; encoding/json: %+v, %v", body, got, want, err)
		}
	})
}

// TestPlain tells what goes the quick way, so that nothing is slow unnoticed, and
// what must not.
func TestPlain(t *testing.T) {
	t.Parallel()
	for body, want := range requests() {
		if _, got := plain([]byte(body)); got != want {
			t.Errorf("plain(%.80q): %v, want %v", body, got, want)
		}
	}
}

// A text must not be kept alive by, or change with, the body it was in.
func TestPlainCopies(t *testing.T) {
	t.Parallel()
	body := []byte(`{"action":"log","log":{"name":"n","data":"d"}}`)
	got, ok := plain(body)
	for i := range body {
		body[i] = 'x'
	}
	if !ok || got.Action != "log" || got.Log.Name != "n" || got.Log.Data != "d" {
		t.Errorf("after the body was written over: %+v, %v", got, ok)
	}
}

// requests are bodies, and whether they are plain.
func requests() map[string]bool {
	const published = `{"action":"log","log":{"name":"event","data":"Grüße 日本語 ` + "\x7f" + `"}}`
	return map[string]bool{
		published: true,
		" {\t\"log\" :\r\n{ } , \"action\" : \"log\" } ": true,
		`{}`: true,
		`{"log":{"id":"a","data":"","name":"<b>"}}`: true,
		published + "{}":               false,
		published[:len(published)-1]:   false,
		published[:len(published)-4]:   false,
		"":                             false,
		`null`:                         false,
		`[]`:                           false,
		`{"log":null}`:                 false,
		`{"log":"text"}`:               false,
		`{"action":7}`:                 false,
		`{"action":"log",}`:            false,
		`{,}`:                          false,
		`{"action" "log"}`:             false,
		`{"action":"log" "log":{}}`:    false,
		`{"action":"log","action":""}`: false, // the later counts
		`{"log":{"name":"a"},"log":{"data":"b"}}`:           false, // the two are one
		`{"log":{"name":"a","name":"b"}}`:                   false,
		`{"Action":"log"}`:                                  false, // encoding/json takes it for action
		`{"log":{"NAME":"n"}}`:                              false,
		`{"log":{"name":"n"},"more":1}`:                     false,
		`{"log":{"name":"n\n"}}`:                            false,
		`{"\u0061ction":"log"}`:                             false,
		"{\"log\":{\"name\":\"a\nb\"}}":                     false, // no JSON
		"{\"log\":{\"name\":\"a\x00b\"}}":                   false,
		"{\"a\x01\":\"\"}":                                  false,
		strings.Repeat(`{"log":`, 1_000):                    false,
		"\ufeff" + published:                                false,
		`{"log":{"name":"n"}` + "\v" + `}`:                  false,
		`{"log":{"name":"n` + "\u2028" + `"}}`:              true,
		`{"log":{"id":"` + strings.Repeat("x", 100) + `"}}`: true, // what it may be is for others to say
	}
}
