package main

import (
	"testing"

	"wirelab/cmd/internal/desk"
)

// Another machine gets nothing, not even a question, until a flag says that it may be loaded.
// 192.0.2.1 is of no network (RFC 5737).
func TestLoadElsewhere(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, target := range []string{
		"http://192.0.2.1/items", "grpc://192.0.2.1:9000/shop.Cart/Add",
		"http://shop.example:8080", "ws://[2001:db8::1]/feed",
	} {
		for _, more := range [][]string{nil, {"--i-may-load", "other.example"}, {"--curve"}} {
			o := s.run(append([]string{"load", target}, more...)...)
			o.wants(t, desk.ExitUsage, nil,
				[]string{"is not this machine: if you may load it, say so with --i-may-load"})
		}
	}
	s.run("load", "http://192.0.2.1/items?page=1", "-d", "a=b", "--dry-run").wants(t, desk.ExitOK,
		[]string{"POST /items?page=1 HTTP/1", "Host: 192.0.2.1", "\na=b\n"}, nil)
}

// The URL is sent as typed, except for placeholders of values.
func TestLoadURL(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.set("WHO=a b/c?d#e&f")
	for typed, sent := range map[string]string{
		"http://localhost:1":                      "GET / HTTP/1",
		"http://localhost:1?q=1":                  "GET /?q=1 HTTP/1",
		"http://localhost:1/a%20b?q=%41&q=+#part": "GET /a%20b?q=%41&q=+ HTTP/1",
		"http://localhost:1/of/${WHO}":            "GET /of/(secret) HTTP/1",
		"http://localhost:1/?who=${WHO}&n=1":      "GET /?who=(secret)&n=1 HTTP/1",
	} {
		s.run("load", typed, "--dry-run").wants(t, desk.ExitOK, []string{sent}, nil)
	}
	s.run("load", "http://localhost:1/${NONE}", "--dry-run").wants(t, desk.ExitUsage, nil,
		[]string{"${NONE} is not set; set it in the environment: NONE=… wirelab"})
}
