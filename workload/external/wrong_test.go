package external_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// one describes a service with one call of HTTP.
func one(url, call, more string) string {
	return fmt.Sprintf("service: shop\nwires: {w: {target: '%s'}}\noperations: {op: {calls: {w: {%s}}%s}}\n", url,
		call, more)
}

// One wrong field in 10,000 replies is found, and none is called wrong that is right.
func TestOneWrongReply(t *testing.T) {
	t.Parallel()
	const calls = 10_000
	for name, by := range both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			url := website(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				price := 17
				if n.Add(1) == calls*2/3 {
					price = 18
				}
				fmt.Fprintf(w, `{"id": "a1", "price": %d, "stock": [1, 2, 3]}`, price)
			})
			ended := by(t, files{}.prepared(t, one(url, "path: /items/a1", "")), "op", calls)
			mismatched, failed, first := wrong(ended)
			if mismatched != 1 || failed != 0 || !strings.Contains(first.Error(), "18 at /price, want 17") {
				t.Errorf("%d wrong, %d failed: %v", mismatched, failed, first)
			}
		})
	}
}

// A time in replies makes them wrong, unless the description says that it may differ.
func TestIgnoredTime(t *testing.T) {
	t.Parallel()
	for name, by := range both() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			url := website(t, func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"items": [{"id": 1, "seen": %d}], "at": %d}`, n.Add(1), n.Load())
			})
			ended := by(t, files{}.prepared(t, one(url, "path: /", ", ignore: [/at, '/items/*/seen']")), "op", 200)
			if mismatched, failed, first := wrong(ended); mismatched != 0 || failed != 0 {
				t.Errorf("%d wrong, %d failed: %v", mismatched, failed, first)
			}
			ended = by(t, files{}.prepared(t, one(url, "path: /", "")), "op", 200)
			if mismatched, failed, first := wrong(ended); mismatched != 199 || failed != 0 {
				t.Errorf("%d wrong, %d failed: %v", mismatched, failed, first)
			}
		})
	}
}

// TestReplies checks the error messages for wrong replies of a server, with both kinds of clients.
func TestReplies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call, more string
		answer     http.HandlerFunc
		want       string // in the error of each call; "": all are right
	}{
		"chunked": {answer: func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3 {
				fmt.Fprintf(w, "part %d", i)
				w.(http.Flusher).Flush()
			}
		}},
		"redirect": {
			answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new", http.StatusFound) },
			want:   `status 302 Found, which points to "/new"`,
		},
		"redirect that is right": {
			more:   ", status: '302'",
			answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new", http.StatusFound) },
		},
		"missing":               {answer: http.NotFound, want: "status 404 Not Found"},
		"missing that is right": {more: ", status: '404'", answer: http.NotFound},
		"no content": {
			call: "method: DELETE, path: /", answer: func(w http.ResponseWriter,
				_ *http.Request,
			) {
				w.WriteHeader(http.StatusNoContent)
			},
		},
		"not modified": {
			more: ", status: '304'", answer: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", `"a"`)
				w.WriteHeader(http.StatusNotModified)
			},
		},
		"head": {call: "method: HEAD, path: /", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
		}},
		"empty": {answer: func(http.ResponseWriter, *http.Request) {}},
		"early hints": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			fmt.Fprint(w, "done")
		}},
		"compressed": {
			call: "path: /, headers: {Accept-Encoding: gzip}",
			answer: func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Accept-Encoding") != "gzip" {
					http.Error(w, "not asked for gzip", http.StatusNotAcceptable)
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write([]byte("\x1f\x8b\x08 bytes that are compared as they are"))
			},
		},
		"huge": {answer: func(w http.ResponseWriter, _ *http.Request) {
			part := make([]byte, 1<<20)
			for range 17 {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}, want: "of more than 16777216 bytes"},
		"empty body": {call: "method: POST, path: /, body: ''", answer: func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.ContentLength, r.TransferEncoding)
		}},
		"header and host": {
			call: "path: /, headers: {X-Shop: 'a, b', Host: 'shop.example'}",
			answer: func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Shop") != "a, b" || r.Host != "shop.example" || r.Header.Get("User-Agent") == "" {
					http.Error(w, "not the fields", http.StatusBadRequest)
				}
			},
		},
	} {
		for way, by := range both() {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				call := c.call
				if call == "" {
					call = "path: /"
				}
				p := files{}.prepared(t, one(website(t, c.answer), call, c.more))
				if why := p.RawWhy("op", "w"); way == "raw" && why != "" {
					t.Skip(why)
				}
				for _, err := range by(t, p, "op", 5) {
					if c.want == "" && err != nil ||
						c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
						t.Errorf("%v, want %q", err, c.want)
					}
				}
			})
		}
	}
}

// GraphQL answers errors with status 200.
func TestGraphQLErrors(t *testing.T) {
	t.Parallel()
	url := website(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data": null, "errors": [{"message": "no field \"idd\""}]}`)
	})
	for way, by := range both() {
		t.Run(way, func(t *testing.T) {
			text := strings.Replace(one(url+"/graphql", "document: 'query { idd }'", ""), "target",
				"kind: graphql, target", 1)
			for _, err := range by(t, files{}.prepared(t, text), "op", 3) {
				if err == nil || !strings.Contains(err.Error(), `GraphQL: no field "idd"`) {
					t.Error(err)
				}
			}
		})
	}
}
