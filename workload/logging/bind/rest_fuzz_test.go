package bind

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/wire/httprpc"
	"wirelab/workload/logging"
)

// FuzzPostLog posts arbitrary bodies: one is stored as the entry that a separate decoder finds in it, or is
// refused, and then nothing is stored (ms-D02).
func FuzzPostLog(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `""`, `{"name":"a"}`, `{"name":"a","data":"b","id":"c"}`, `{"name":"a"}{}`,
		`{"name":"a"`, `{"name":null}`,
		`{"name":"\u0000"}`, `{"name":"\ud800"}`, "{\"name\":\"\xff\"}", `{"NAME":"a"}`, `{"name":"a","name":""}`,
		`{"name":1}`, `{"name":"a","id":".."}`,
		"\x0a\x00", "\x0a\x03\x0a\x01a", "\x0a\x06\x0a\x01a\x12\x01b", "\x0a\x04\x0a\x02\xff\xff", "\ufeff{}",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, proto bool) {
		memory := logging.New()
		asked := httptest.NewRequest(http.MethodPost, pathLog, strings.NewReader(string(body)))
		if proto {
			asked.Header.Set("Content-Type", httprpc.MediaProto)
		}
		reply := httptest.NewRecorder()
		restHandler(memory).ServeHTTP(reply, asked)
		list, err := memory.ListEntries(t.Context(), logging.Query{})
		if err != nil {
			t.Fatal(err)
		}
		switch reply.Code {
		case http.StatusBadRequest:
			if len(list.Entries) > 0 {
				t.Fatalf("%q is refused and stored as %+v", body, list)
			}
		case http.StatusAccepted:
			if len(list.Entries) != 1 || list.Entries[0].Validate() != nil || list.Entries[0].Name == "" {
				t.Fatalf("%q is stored as %+v", body, list)
			}
			if proto {
				return
			}
			var read struct{ Name, Data, ID string }
			stored := list.Entries[0]
			said := strings.ToLower(string(body))
			if strings.ContainsRune(stored.Name+stored.Data, utf8.RuneError) &&
				!strings.ContainsRune(said, utf8.RuneError) &&
				!strings.Contains(said, `\ufffd`) {
				t.Fatalf("%q is stored as another text: %+v", body, stored)
			}
			if err := json.Unmarshal(body, &read); err != nil || !utf8.Valid(body) ||
				read.Name != stored.Name || read.Data != stored.Data || read.ID != "" && read.ID != stored.ID {
				t.Fatalf("%q is stored as %+v, and read %+v, %v", body, stored, read, err)
			}
		default:
			t.Fatalf("%q: %d, %s", body, reply.Code, reply.Body)
		}
	})
}

// FuzzRESTMessages decodes arbitrary bodies in each encoding: a decoded value must survive encoding and decoding.
func FuzzRESTMessages(f *testing.F) {
	c := newRESTCodecs()
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"error":false,"message":"logged","data":{"id":"a"}}`, `{"error":true}`, `{"data":null}`,
		`{"id":"a","name":"b","data":"c","position":9223372036854775807,"stored_at":"2024-01-31T12:00:00.1234567+01:00"}`,
		`{"entries":[{},null],"next":-1}`, `{"entries":null}`, `{"count":9223372036854775807}`,
		`{"stored_at":"0001-01-01T00:00:00+23:59"}`,
		"\x0a\x06\x0a\x01a\x12\x01b", "\x0a\x08\x0a\x00\x10\x01\x1a\x02??",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range []httprpc.Encoding{httprpc.JSON, httprpc.Proto} {
			restAgain(t, c.entry.In(e), data)
			restAgain(t, c.written.In(e), data)
			restAgain(t, c.stored.In(e), data)
			restAgain(t, c.list.In(e), data)
			restAgain(t, c.deleted.In(e), data)
		}
	})
}

func restAgain[T any](t *testing.T, codec *httprpc.Codec[T], data []byte) {
	t.Helper()
	v, err := codec.Decode(data)
	if err != nil {
		return
	}
	written, err := codec.Encode(v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	// A decoded time may be finer than the encoding writes, or outside the valid years: our servers never reply
	// with one.
	back, err := codec.Decode(written)
	if err != nil {
		return
	}
	if rewritten, err := codec.Encode(back); err != nil || string(rewritten) != string(written) {
		t.Fatalf("%#v is written %q, and that is read and written %q, %v", v, written, rewritten, err)
	}
}

// FuzzRESTQuery parses arbitrary queries: a parsed query is in the contract or refused by it, and is written to the
// same URL again.
func FuzzRESTQuery(f *testing.F) {
	for _, seed := range []string{
		"", "name=a&since=2024-01-31T12:00:00Z&until=2024-01-31T12:00:00.0000001Z&before=5&limit=7",
		"before=2024-01-31T12:00:00Z", "before=-1",
		"limit=2147483648", "before=9223372036854775808", "before=+1", "since=9999-12-31T23:59:59-23:59", "%zz",
		"name=a&name=b", "name=%00", "name=%ff",
	} {
		f.Add(seed)
	}
	var queries []logging.Query
	var retentions []logging.Retention
	handler := httprpc.NewREST(map[string][]httprpc.Route{pathEntries: {
		httprpc.Get(queryParameters(), newRESTCodecs().list,
			func(_ context.Context, q logging.Query) (logging.EntryList, error) {
				queries = append(queries, q)
				return logging.EntryList{}, nil
			}),
		httprpc.Delete(retentionParameters(), newRESTCodecs().deleted,
			func(_ context.Context, r logging.Retention) (logging.Deleted, error) {
				retentions = append(retentions, r)
				return logging.Deleted{}, nil
			}),
	}})
	send := func(method string, at *url.URL) int {
		r := httptest.NewRequest(method, "/", http.NoBody)
		r.URL = at
		reply := httptest.NewRecorder()
		handler.ServeHTTP(reply, r)
		return reply.Code
	}
	client := httprpc.NewClient(nil, "http", "x", 1, nil)
	again := httprpc.Asking(client, pathEntries, queryParameters(), "")
	removed := httprpc.Asking(client, pathEntries, retentionParameters(), "")
	f.Fuzz(func(t *testing.T, text string) {
		queries, retentions = nil, nil
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			if code := send(method, &url.URL{Path: pathEntries, RawQuery: text}); code != 200 && code != 400 {
				t.Fatalf("%s %q: %d", method, text, code)
			}
		}
		if len(queries) == 1 && queries[0].Validate() == nil {
			r, err := again(t.Context(), &queries[0])
			if err != nil {
				t.Fatal(err)
			}
			if send(http.MethodGet, r.URL); len(queries) != 2 || queries[0] != queries[1] {
				t.Fatalf("%q: %+v", text, queries)
			}
		}
		if len(retentions) == 1 && retentions[0].Validate() == nil {
			r, err := removed(t.Context(), &retentions[0])
			if err != nil {
				t.Fatal(err)
			}
			if send(http.MethodDelete, r.URL); len(retentions) != 2 || retentions[0] != retentions[1] {
				t.Fatalf("%q: %+v", text, retentions)
			}
		}
	})
}

// FuzzRESTRequests sends the handler anything: it answers, never with the status
// of a fault, and in a type that it has.
func FuzzRESTRequests(f *testing.F) {
	for _, seed := range [][3]string{
		{"POST", "/log", `{"name":"a","data":"b"}`},
		{"GET", "/entries/a", ""},
		{"HEAD", "/entries?limit=2", ""},
		{"DELETE", "/entries?before=2024-01-31T12:00:00Z", ""},
		{"DELETE", "/entries", "{}"},
		{"GET", "/health", ""},
		{"HEAD", "/ping", ""},
		{"GET", "/entries/%2e%2e?%", "x"},
		{"PUT", "//", "x"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	handler := restHandler(logging.New())
	f.Fuzz(func(t *testing.T, method, target, body string) {
		at, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		asked := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		asked.Method, asked.URL = method, at
		if body == "" {
			asked.Body, asked.ContentLength = http.NoBody, 0
		}
		reply := httptest.NewRecorder()
		handler.ServeHTTP(reply, asked)
		kind := reply.Header().Get("Content-Type")
		if reply.Code >= 500 ||
			kind != httprpc.MediaJSON && (kind != "text/plain; charset=utf-8" || at.Path != pathPing) {
			t.Fatalf("%s %s: %d, %v, %s", method, target, reply.Code, reply.Header(), reply.Body)
		}
		if failed := strings.Contains(reply.Body.String(), `{"error":true,`); failed != (reply.Code >= 400) {
			t.Fatalf("%s %s: %d, %s", method, target, reply.Code, reply.Body)
		}
	})
}
