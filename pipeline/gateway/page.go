package gateway

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"
)

//go:embed pages
var pages embed.FS

// policy restricts the page to what this server serves: no inline scripts or styles, no other host, no embedding in
// a frame.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// way is a path as the page shows it.
type way struct {
	Name   string
	Hops   []string // after the gateway, in order
	Told   string   // the meaning of a success
	Absent bool
	Why    string // why it is absent
}

// makePage renders the page once: it only depends on the options of the gateway.
func (g *Gateway) makePage() ([]byte, error) {
	t, err := template.ParseFS(pages, "pages/gateway.gohtml")
	if err != nil {
		return nil, err
	}
	var ways []way
	for _, name := range g.names() {
		w := way{Name: name, Why: g.options.Absent[name], Absent: g.options.Paths[name] == nil}
		w.Hops, w.Told = describe(name)
		if w.Absent && w.Why == "" {
			w.Why = "this gateway was started without it"
		}
		ways = append(ways, w)
	}
	var page bytes.Buffer
	err = t.Execute(&page, struct{ Ways []way }{ways})
	return page.Bytes(), err
}

// publishedSuffix ends the names of paths that behave like the published client.
const publishedSuffix = "-published"

// describe returns the hops of a path and the meaning of its 202. It depends on the name only, for display: a path
// with an unknown name has no description and works the same.
func describe(name string) (hops []string, told string) {
	if stem, ok := strings.CutSuffix(name, publishedSuffix); ok {
		hops, told = describe(stem)
		return hops, strings.TrimPrefix(told+"; done as the published client did", "; ")
	}
	broker, rest := "", ""
	switch {
	case strings.HasPrefix(name, "log-rabbit"):
		broker, rest = "RabbitMQ", strings.TrimPrefix(name, "log-rabbit")
	case strings.HasPrefix(name, "log-nats"):
		broker, rest = "NATS JetStream", strings.TrimPrefix(name, "log-nats")
	case strings.HasPrefix(name, "log-hermes"):
		broker, rest = "Hermes", strings.TrimPrefix(name, "log-hermes")
	}
	const queued = "202: the broker has it, as far as its queue promises"
	switch {
	case broker != "" && strings.HasPrefix(rest, "-direct"):
		return []string{broker, "listener, which stores"}, queued
	case broker != "":
		return []string{broker, "listener", "logger, which stores"}, queued
	case name == "log-http":
		return []string{"HTTP", "logger, which stores"}, "202: it is stored"
	case name == "log-grpc":
		return []string{"gRPC", "logger, which stores"}, "202: it is stored"
	case name == handlePath:
		return []string{"net/rpc", "logger, which stores"}, "202: it is stored"
	}
	return nil, ""
}

// servePage answers GET /.
func (g *Gateway) servePage(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	serveFile(w, "text/html; charset=utf-8", g.page)
}

// assets returns the handlers of the files that the page loads, by address.
func assets() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{}
	for name, media := range map[string]string{
		"gateway.css": "text/css; charset=utf-8",
		"gateway.js":  "text/javascript; charset=utf-8",
	} {
		all["/assets/"+name] = func(w http.ResponseWriter, _ *http.Request) {
			body, err := pages.ReadFile("pages/" + name)
			if err != nil {
				fail(w, err) // a mistake in the source, which the test of the page finds
				return
			}
			serveFile(w, media, body)
		}
	}
	return all
}

func serveFile(w http.ResponseWriter, media string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", media)
	header.Set("Cache-Control", "no-cache")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	_, _ = w.Write(body) // a write error belongs to the connection
}
