package httprpc_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"wirelab/wire/endpoint"
	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// span is a request of counts and times in a URL.
type span struct {
	From  time.Time
	Count int64
}

func spanParameters() []httprpc.Parameter[span] {
	return []httprpc.Parameter[span]{
		httprpc.Time("from", func(s *span) *time.Time { return &s.From }),
		httprpc.Count("count", func(s *span) *int64 { return &s.Count }),
	}
}

// logbook takes entries with 202, returns and removes spans, and says
// "error" in its failures.
func logbook() *httprpc.Handler {
	tell := func(what string) func(context.Context, span) (string, error) {
		return func(_ context.Context, s span) (string, error) {
			if s.Count < 0 {
				return "", status.Errorf(status.NotFound, "fewer than none")
			}
			return fmt.Sprintf("%s %d from %s", what, s.Count, s.From.Format(time.RFC3339Nano)), nil
		}
	}
	return httprpc.NewREST(map[string][]httprpc.Route{
		"/log": {
			httprpc.Unary(words(), words(), func(_ context.Context, s string) (string, error) {
				return "took " + s, nil
			}).Accepted(),
			httprpc.Get(spanParameters(), words(), tell("read")),
			httprpc.Delete(spanParameters(), words(), tell("removed")),
		},
		"/plain": {httprpc.Unary(words(), words(),
			func(_ context.Context, s string) (string, error) { return s, nil })},
	}).Enveloped()
}

// An accepted entry is 202, a removal is named by the URL, and failures begin with the member that older
// clients look for.
func TestLogbook(t *testing.T) {
	t.Parallel()
	address, _ := http1Version().start(t, logbook(), 0)
	const year1 = "0001-01-01T00:00:00Z"
	for _, c := range []struct {
		why, method, path, body string
		status                  int
		want                    string
	}{
		{"accepted", "POST", "/log", `{"text":"x"}`, 202, `{"text":"took x"}`},
		{"next to it a success as usual", "POST", "/plain", `{"text":"x"}`, 200, `{"text":"x"}`},
		{"removed", "DELETE", "/log?count=9223372036854775807", "", 200, `{"text":"removed 9223372036854775807 from ` +
			year1 + `"}`},
		{
			"a time in another zone", "DELETE", "/log?from=2024-01-31T12:00:00.000001%2B01:00", "", 200,
			`{"text":"removed 0 from 2024-01-31T11:00:00.000001Z"}`,
		},
		{"empty ones", "GET", "/log?from=&count=", "", 200, `{"text":"read 0 from ` + year1 + `"}`},
		{
			"a body", "DELETE", "/log", "{}", 400,
			`{"error":true,"code":400,"message":"a DELETE has no body here: its request is in the URL","details":{"wirelab.code":"invalid_argument"}}`,
		},
		{
			"no time", "DELETE", "/log?from=now", "", 400,
			`{"error":true,"code":400,"message":"from: \"now\" is not a time as of RFC 3339, such as 2024-01-31T12:00:00.000001Z",` +
				`"details":{"wirelab.code":"invalid_argument"}}`,
		},
		{
			"no count", "GET", "/log?count=9223372036854775808", "", 400,
			`{"error":true,"code":400,"message":"count is \"9223372036854775808\"; want a whole number of 64 bits",` +
				`"details":{"wirelab.code":"invalid_argument"}}`,
		},
		{
			"the service's own", "DELETE", "/log?count=-1", "", 404,
			`{"error":true,"code":404,"message":"fewer than none","details":{"wirelab.code":"not_found"}}`,
		},
		{
			"no such method", "PUT", "/log", "", 405,
			`{"error":true,"code":405,"message":"/log takes DELETE, GET, HEAD, POST, not PUT","details":{"wirelab.code":"unimplemented"}}`,
		},
	} {
		got, body := ask(t, c.method, "http://"+address+c.path, c.body)
		if got.StatusCode != c.status || body != c.want {
			t.Errorf("%s: %d %s\nwant %d %s", c.why, got.StatusCode, body, c.status, c.want)
		}
	}
}

// The stubs find the same: a success of another status than theirs is none.
func TestLogbookCalls(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, v version) {
		address, _ := v.start(t, logbook(), 0)
		client := v.dial(endpoint.Dialing{Address: address}, false)
		t.Cleanup(func() { _ = client.Close() })
		for _, codec := range []httprpc.Codec[string]{words().JSON, words().Proto} {
			if got, err := httprpc.CallAccepted(client, "/log", codec, codec)(t.Context(), "x"); err != nil ||
				got != "took x" {
				t.Errorf("accepted: %q, %v", got, err)
			}
			if got, err := httprpc.CallAccepted(client, "/plain", codec, codec)(t.Context(), "x"); err == nil {
				t.Errorf("200 for 202: %q", got)
			}
			if got, err := httprpc.CallUnary(client, "/log", codec, codec)(t.Context(), "x"); err == nil {
				t.Errorf("202 for 200: %q", got)
			}
			remove := httprpc.CallDelete(client, "/log", spanParameters(), codec)
			at := time.Date(2024, 1, 31, 12, 0, 0, 1000, time.FixedZone("", 3600))
			got, err := remove(t.Context(), span{From: at, Count: 1<<63 - 1})
			if err != nil || got != "removed 9223372036854775807 from 2024-01-31T11:00:00.000001Z" {
				t.Errorf("removed: %q, %v", got, err)
			}
			if _, err := remove(t.Context(), span{Count: -1}); !is(err, status.NotFound, "fewer than none") {
				t.Errorf("removed: %v", err)
			}
		}
	})
}
