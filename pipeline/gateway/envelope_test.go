package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab"
	"wirelab/pipeline/gateway"
	"wirelab/workload/logging"
)

// entryOf wraps the value of "log".
func entryOf(log string) string { return `{"action":"log","log":` + log + `}` }

// Every malformed request is the same coded error on every path, whether or not
// anything is behind it, and nothing is sent on: no empty record (ms-D02), no
// crash (ms-D01), 400 as was published.
func TestMalformed(t *testing.T) {
	t.Parallel()
	typed := func(media ...string) http.Header { return http.Header{"Content-Type": media} }
	const fine = `{"action":"log","log":{"name":"n","data":"d"}}`
	cases := []struct {
		why, body string
		header    http.Header
		want      string // of the message
	}{
		{"no body", "", nil, "the body is empty; want one JSON value"},
		{"blanks", " \r\n\t", nil, "the body is empty; want one JSON value"},
		{"text", "hello", nil, "the body is not JSON"},
		{"half a value", `{"action":"log","log":{"name":"n"`, nil, "the body ends within its JSON value"},
		{"a comma too many", `{"action":"log",}`, nil, "the body is not JSON"},
		{"two JSON values", fine + fine, nil, "the body holds more than one JSON value"},
		{"a value and text", fine + " and so on", nil, "the body holds more than one JSON value"},
		{"a list", `[` + fine + `]`, nil, "the body is a JSON array; want an object"},
		{"a string", `"log"`, nil, "the body is a JSON string; want an object"},
		{"null", `null`, nil, "a name of 0 bytes; want 1 to 128"},
		{
			"an action that is a number", `{"action":1,"log":{"name":"n"}}`, nil,
			"field action is a JSON number; want text",
		},
		{"an unknown action", `{"action":"burn","log":{"name":"n"}}`, nil, `unknown action "burn"; known: "log"`},
		{
			"the published action auth", `{"action":"auth","auth":{"email":"a","password":"b"}}`, nil,
			`unknown action "auth"; known: "log"`,
		},
		{
			"the published action mail", `{"action":"mail","mail":{"to":"a"}}`, nil,
			`unknown action "mail"; known: "log"`,
		},
		{"an action in capitals", `{"action":"LOG","log":{"name":"n"}}`, nil, `unknown action "LOG"; known: "log"`},
		{"no entry", `{"action":"log"}`, nil, "a name of 0 bytes; want 1 to 128"},
		{"an entry that is null", entryOf(`null`), nil, "a name of 0 bytes; want 1 to 128"},
		{"an entry that is text", entryOf(`"n"`), nil, "field log is a JSON string; want an object"},
		{"an empty entry", entryOf(`{}`), nil, "a name of 0 bytes; want 1 to 128"},
		{"no name", entryOf(`{"data":"d"}`), nil, "a name of 0 bytes; want 1 to 128"},
		{"a name that is a number", entryOf(`{"name":7}`), nil, "field log.name is a JSON number; want text"},
		{
			"data that is an object", entryOf(`{"name":"n","data":{}}`), nil,
			"field log.data is a JSON object; want text",
		},
		{
			"a name above the limit", entryOf(`{"name":"` + strings.Repeat("x", logging.NameLimit+1) + `"}`), nil,
			"a name of 129 bytes; want 1 to 128",
		},
		{
			"data above the limit", entryOf(`{"name":"n","data":"` + strings.Repeat("x", logging.DataLimit+1) + `"}`),
			nil,
			"data of 524289 bytes; want at most 524288",
		},
		{
			"an id with a slash", entryOf(`{"id":"a/b","name":"n"}`), nil,
			`id "a/b" holds other characters than A-Z a-z 0-9 . _ ~ -`,
		},
		{
			"an escaped NUL in the name", entryOf(`{"name":"n\u0000"}`), nil,
			"name holds NUL, which PostgreSQL does not store",
		},
		{
			"an escaped NUL in the data", entryOf(`{"name":"n","data":"\u0000"}`), nil,
			"data holds NUL, which PostgreSQL does not store",
		},
		{"a NUL byte in a string", entryOf("{\"name\":\"n\x00\"}"), nil, "the body is not JSON"},
		{"a NUL byte behind the value", fine + "\x00", nil, "the body holds more than one JSON value"},
		{"a byte that is no UTF-8", entryOf("{\"name\":\"n\xff\"}"), nil, "the body is not UTF-8"},
		{"half a character", entryOf("{\"name\":\"\xe2\x82\"}"), nil, "the body is not UTF-8"},
		{
			"no UTF-8 in an ignored field", "{\"action\":\"log\",\"x\":\"\xc0\x80\",\"log\":{\"name\":\"n\"}}", nil,
			"the body is not UTF-8",
		},
		{"Latin-1", "{\"log\":{\"name\":\"caf\xe9\"}}", typed("application/json"), "the body is not UTF-8"},
		{
			"half a character, escaped", entryOf(`{"name":"\ud800"}`), nil,
			"the body escapes half a character: a surrogate without its other half",
		},
		{
			"the other half", entryOf(`{"name":"a\uDC00"}`), nil,
			"the body escapes half a character: a surrogate without its other half",
		},
		{
			"halves in the wrong order", entryOf(`{"name":"\uDE00\uD83D"}`), nil,
			"the body escapes half a character: a surrogate without its other half",
		},
		{
			"half a character and text", entryOf(`{"name":"\ud83dabcdef"}`), nil,
			"the body escapes half a character: a surrogate without its other half",
		},
		{
			"a body above the limit", entryOf(`{"name":"n","data":"` + strings.Repeat("x", gateway.BodyLimit) + `"}`),
			nil,
			"the body is longer than 1048576 bytes",
		},
		{
			"a byte above the limit", fine + strings.Repeat(" ", gateway.BodyLimit+1-len(fine)), nil,
			"the body is longer than 1048576 bytes",
		},
		{
			"too long for a message, since escaped",
			entryOf(`{"name":"n","data":"` + strings.Repeat("\u2028", 174_760) + `"}`), nil,
			"the entry is 1048616 bytes as JSON; want at most 1048576",
		},
		{
			"a form", fine, typed("application/x-www-form-urlencoded"),
			`content type "application/x-www-form-urlencoded"; want application/json, or none`,
		},
		{
			"text, as any page can send", fine, typed("text/plain"),
			`content type "text/plain"; want application/json, or none`,
		},
		{
			"protobuf", fine, typed("application/protobuf"),
			`content type "application/protobuf"; want application/json, or none`,
		},
		{
			"another charset", fine, typed("application/json; charset=latin1"),
			`content type "application/json; charset=latin1"; want application/json, or none`,
		},
		{
			"no content type at all, but a header", fine, typed("nonsense/"),
			`content type "nonsense/"; want application/json, or none`,
		},
		{
			"two content types", fine, typed("application/json", "text/plain"),
			`content type "application/json, text/plain"; want application/json, or none`,
		},
		{
			"compressed", fine,
			http.Header{"Content-Encoding": {"gzip"}},
			`content encoding "gzip" is not supported; send the body without encoding`,
		},
		{"a mark of the byte order", "\xef\xbb\xbf" + fine, nil, "the body is not JSON"},
		{"UTF-16", "\xff\xfe{\x00}\x00", nil, "the body is not UTF-8"},
		{
			"an action twice: the last counts", `{"action":"log","action":"mail","log":{"name":"n"}}`, nil,
			`unknown action "mail"; known: "log"`,
		},
		{"a name twice: the last counts", entryOf(`{"name":"n","name":""}`), nil, "a name of 0 bytes; want 1 to 128"},
		{
			"an endless id", entryOf(`{"name":"n","id":"` + strings.Repeat("i", 500_000) + `"}`), nil,
			`id "` + strings.Repeat("i", 64) + `" is not 1 to 64 characters`,
		},
		{
			"an endless action", `{"action":"` + strings.Repeat("a", 500_000) + `","log":{"name":"n"}}`, nil,
			`unknown action "` + strings.Repeat("a", 64) + `"; known: "log"`,
		},
		{"nested too deep", entryOf(`{"name":"n","x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) +
			`}`), nil, "the body is not JSON"},
	}
	to := &way{}
	g := handler(t, all(to))
	for _, c := range cases {
		for _, address := range posts() {
			want := c.want
			if address == "/handle" && c.why == "null" {
				want = `unknown action ""; known: "log"` // nothing says what to do
			}
			got := ask(t, g, http.MethodPost, address, c.body, c.header)
			if got.status != http.StatusBadRequest || !got.told.Error ||
				got.told.Data.Code != wirelab.InvalidArgument.String() || got.told.Message != want {
				t.Errorf("%s to %s: %d %s, want %q", c.why, address, got.status, got.body, want)
			}
		}
	}
	if arrived := to.arrived(); len(arrived) != 0 {
		t.Errorf("sent on: %+v", arrived)
	}
}

// What looks strange and is right: it was taken by the published service too.
func TestTaken(t *testing.T) {
	t.Parallel()
	plain := logging.Entry{Name: "n", Data: "d"}
	for _, c := range []struct {
		why, body string
		media     []string
		want      logging.Entry
	}{
		{"without a content type", entryOf(`{"name":"n","data":"d"}`), nil, plain},
		{"an empty content type", entryOf(`{"name":"n","data":"d"}`), []string{""}, plain},
		{"with a charset", entryOf(`{"name":"n","data":"d"}`), []string{"Application/JSON; charset=UTF-8"}, plain},
		{"blanks around it", " \n" + entryOf(`{"name":"n","data":"d"}`) + "\r\n", nil, plain},
		{
			"unknown fields",
			`{"auth":{"email":"x"},"extra":[1],"action":"log","log":{"name":"n","data":"d","level":3}}`, nil, plain,
		},
		{"no data", entryOf(`{"name":"n"}`), nil, logging.Entry{Name: "n"}},
		{
			"fields twice: the last counts",
			`{"action":"mail","action":"log","log":{"name":"m"},"log":{"name":"n","data":"d"}}`, nil, plain,
		},
		{
			"an id and a name at their limits",
			entryOf(`{"id":"` + strings.Repeat("i", 64) + `","name":"` + strings.Repeat("é", 64) + `"}`), nil,
			logging.Entry{ID: strings.Repeat("i", 64), Name: strings.Repeat("é", 64)},
		},
		{"an id", entryOf(`{"id":"A.b_c~1-","name":"n"}`), nil, logging.Entry{ID: "A.b_c~1-", Name: "n"}},
		{
			"characters of all kinds", entryOf(`{"name":"\u00e9\ud83d\ude00\\ud800\/","data":"\"<\u2028>\u0001"}`), nil,
			logging.Entry{Name: "é😀\\ud800/", Data: "\"<\u2028>\x01"},
		},
		{"names of fields in capitals", `{"Action":"log","LOG":{"Name":"n","DATA":"d"}}`, nil, plain},
		{
			"as many bytes as may be",
			entryOf(`{"name":"n","data":"d"}`) +
				strings.Repeat(" ", gateway.BodyLimit-len(entryOf(`{"name":"n","data":"d"}`))), nil, plain,
		},
		{
			"as much data as may be", entryOf(`{"name":"n","data":"` + strings.Repeat("x", logging.DataLimit) + `"}`),
			nil,
			logging.Entry{Name: "n", Data: strings.Repeat("x", logging.DataLimit)},
		},
	} {
		for _, address := range posts()[:len(posts())-1] {
			to := &way{}
			header := http.Header{}
			if c.media != nil {
				header["Content-Type"] = c.media
			}
			got := ask(t, handler(t, all(to)), http.MethodPost, address, c.body, header)
			arrived := to.arrived()
			if got.status != http.StatusAccepted || got.told.Error || len(arrived) != 1 {
				t.Errorf("%s to %s: %d %.200s, %d arrived", c.why, address, got.status, got.body, len(arrived))
				continue
			}
			if want := got.told.Data.ID; arrived[0].ID != want || c.want.ID != "" && want != c.want.ID ||
				c.want.ID == "" && !logging.MadeID(want) {
				t.Errorf("%s to %s: replied with id %q, sent on %q", c.why, address, want, arrived[0].ID)
			}
			arrived[0].ID = c.want.ID
			if arrived[0] != c.want {
				t.Errorf("%s to %s: sent on %+v, want %+v", c.why, address, arrived[0], c.want)
			}
		}
	}
	// An address says what to do; only /handle has to be told.
	to := &way{}
	g := handler(t, all(to))
	if got := ask(t, g, http.MethodPost, "/log-http", `{"log":{"name":"n"}}`, nil); got.status != http.StatusAccepted {
		t.Errorf("no action to /log-http: %s", got.body)
	}
	if got := ask(t, g, http.MethodPost, "/handle", `{"log":{"name":"n"}}`,
		nil); got.told.Message != `unknown action ""; known: "log"` {
		t.Errorf("no action to /handle: %s", got.body)
	}
}

// FuzzGateway checks that any request to any path is answered in the envelope, that all paths answer the same, that
// an entry passed onward is valid, and that text is never altered.
func FuzzGateway(f *testing.F) {
	for _, body := range []string{
		"", "null", "{}", entryOf(`{"name":"n","data":"d"}`), entryOf(`{"name":"n"}`) + "{}",
		entryOf(`{"name":"\ud800\udc00\\\u0000"}`),
		entryOf("{\"name\":\"\xff\"}"), `{"action":7}`, `{"action":"mail"}`, entryOf(`{"id":"..","name":"n"}`), "[[[[",
		`"\ud8`, `{"log":{"name":"\ud83d\u00"}}`,
	} {
		f.Add(body, "application/json")
	}
	f.Add(entryOf(`{"name":"n"}`), "text/plain; charset=\"")
	f.Fuzz(func(t *testing.T, body, media string) {
		to := &way{}
		g := handler(t, all(to))
		routes := posts()
		var first reply
		for i, address := range routes[1:] { // the last has nothing behind it
			got := ask(t, g, http.MethodPost, address, body, http.Header{"Content-Type": {media}})
			got.told.Data.ID = ""
			switch {
			case i == 0:
				first = got
			case i == len(routes)-2 && first.status == http.StatusAccepted:
				if got.status != http.StatusServiceUnavailable {
					t.Fatalf("%s: %d", address, got.status)
				}
			case got.status != first.status || got.told.Error != first.told.Error ||
				got.told.Data.Code != first.told.Data.Code || got.told.Error && got.told.Message != first.told.Message:
				t.Fatalf("%s says %d %s; %s says %d %s", routes[1], first.status, first.body, address, got.status,
					got.body)
			}
		}
		if first.status != http.StatusAccepted {
			if first.status != http.StatusBadRequest || len(to.arrived()) != 0 {
				t.Fatalf("%d %s, and %d were sent on", first.status, first.body, len(to.arrived()))
			}
			return
		}
		entry := to.arrived()[0]
		if err := entry.Validate(); err != nil || entry.ID == "" {
			t.Fatalf("sent on %+v: %v", entry, err)
		}
		// A second decoder: a U+FFFD in the entry must have been in the body.
		if strings.ContainsRune(entry.Name+entry.Data, utf8.RuneError) && !strings.ContainsRune(body, utf8.RuneError) &&
			!strings.Contains(strings.ToLower(body), `\ufffd`) {
			t.Fatalf("%q became %+v", body, entry)
		}
		if !json.Valid([]byte(body)) {
			t.Fatalf("%q is no JSON and was taken", body)
		}
	})
}
