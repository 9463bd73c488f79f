package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wirelab/cmd/internal/desk"
	"wirelab/internal/porttest"
)

// shopHandler answers as services do that people try first.
func shopHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, `{"items":[]}`) })
	mux.HandleFunc("GET /items/{sku}",
		func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, `{"sku":%q}`, r.PathValue("sku")) })
	mux.HandleFunc("POST /items", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"want JSON with sku"}`, http.StatusBadRequest)
	})
	mux.Handle("GET /moved", http.RedirectHandler("/items", http.StatusFound))
	mux.HandleFunc("GET /closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("GET /secret",
		func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) })
	return mux
}

// A wrong command line gets an error that quotes it and says what to type instead, before anything is measured.
func TestLoadSaysWhatToType(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(shopHandler())
	t.Cleanup(plain.Close)
	secure := httptest.NewUnstartedServer(shopHandler())
	secure.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	host, tlsHost, nothing := strings.TrimPrefix(plain.URL, "http://"), strings.TrimPrefix(secure.URL, "https://"),
		porttest.Refusing(t)
	s := newShell(t)
	for _, c := range []struct{ typed, says string }{
		{"http://" + nothing + "/items", "nothing listens at " + nothing},
		{host + "/items", "has no scheme; write http://" + host + "/items"},
		{"localhost:8080", "write http://localhost:8080, or grpc://localhost:8080 for gRPC"},
		{"shop.yaml", "wirelab compare shop.yaml:WIRE measures it"},
		{"shop.yaml:rest", "wirelab compare shop.yaml:WIRE measures it"},
		{plain.URL + " " + secure.URL, "to compare two, describe them"},
		{"grapql " + plain.URL, "did you mean graphql?"},
		{"ftp://" + host, `unknown scheme "ftp"`},
		{"htpp://" + host, "did you mean http?"},
		{"graphql", "its URL is missing"},
		{"graphql " + plain.URL, "--data is missing; write for example -d 'query { items { id } }'"},
		{"https://" + host + "/items", "write http://" + host + "/items"},
		{"http://" + tlsHost + "/items", "write https://" + tlsHost + "/items"},
		{"https://" + tlsHost + "/items", "--ca FILE trusts its authority"},
		{plain.URL + "/items -X DELETE", "status 405 Method Not Allowed"},
		{plain.URL + "/items -d {", `status 400 Bad Request: {"error":"want JSON with sku"}`},
		{plain.URL + "/items -d @absent.json", "--data: there is no file or folder absent.json"},
		{plain.URL + "/items --rows absent.csv", "--rows: there is no file or folder absent.csv"},
		{plain.URL + "/items --expect absent.json", "--expect: there is no file or folder absent.json"},
		{plain.URL + "/nowhere", "status 404 Not Found"},
		{plain.URL + "/moved", "redirects are not followed"},
		{plain.URL + "/secret", "-H 'Authorization: ${TOKEN}'"},
		{plain.URL + "/closed", "closed the connection before its reply was whole"},
		{plain.URL + "/items/${UNSET_ITEM}", "${UNSET_ITEM} is not set"},
		{"grpc://" + host + "/shop.Cart/Add -d {}", "if it speaks HTTP, write http://"},
		{strings.Replace(plain.URL, "http", "ws", 1) + "/items", "it accepts no WebSocket at this path"},
		{strings.Replace(plain.URL, "http", "sse", 1) + "/items", "it sends no events at this path"},
	} {
		t.Run(strings.ReplaceAll(c.typed, "/", "_"), func(t *testing.T) {
			t.Parallel()
			o := s.run(append([]string{"load"}, strings.Fields(c.typed)...)...)
			if o.code == desk.ExitOK || !strings.Contains(o.stderr, c.says) {
				t.Errorf("exit code %d; want %q in\n%s", o.code, c.says, o.stderr)
			}
			for _, inner := range []string{"operations.", "wires.target", "description:"} {
				if strings.Contains(o.stderr, inner) {
					t.Errorf("it names %q, which was not typed:\n%s", inner, o.stderr)
				}
			}
		})
	}
}

// The error of an HTTP/2 server that is called in HTTP/1.1 differs from that of a broken one.
func TestLoadFindsAnotherVersion(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:   shopHandler(),
		Protocols: new(http.Protocols),
	} //nolint:gosec // it has one caller, and ends with the test
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	o := newShell(t).run("load", "http://"+l.Addr().String()+"/items")
	if o.code == desk.ExitOK || !strings.Contains(o.stderr, "--http 2") {
		t.Errorf("exit code %d:\n%s", o.code, o.stderr)
	}
}

// Fields of rows, and variables, are filled in where they stand in a URL.
func TestLoadFillsInTheURL(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := filepath.Join(t.TempDir(), "items.csv")
	if err := os.WriteFile(file, []byte("sku\na1\nb 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env["SHOP_PAGE"] = "7"
	for typed, says := range map[string]string{
		"http://localhost:8080/items/{{.sku}}?page=1":    "GET /items/a1?page=1 ",
		"http://localhost:8080/items?page=${SHOP_PAGE}":  "GET /items?page=7 ",
		"http://localhost:8080?sku={{.sku}}":             "GET /?sku=a1 ",
		"http://localhost:8080/items/a%20b?x={{.sku}}#y": "GET /items/a%20b?x=a1 ",
	} {
		args := []string{"load", typed, "--dry-run"}
		if strings.Contains(typed, "{{") {
			args = append(args, "--rows", file)
		}
		o := s.run(args...)
		if o.code != desk.ExitOK || !strings.Contains(o.stdout, says) {
			t.Errorf("%s: exit code %d; want %q in\n%s%s", typed, o.code, says, o.stdout, o.stderr)
		}
	}
}
