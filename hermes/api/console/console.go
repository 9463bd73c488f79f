// Package console is the web page of a node: nodes, topics and groups, and forms to try publishing and
// subscribing. The page uses only the HTTP API, so it can do no more than the holder
// of its token. This package serves the files of the page, and knows no broker.
package console

import (
	"embed"
	"net/http"
)

//go:embed pages
var files embed.FS

// policy lets the page use what this server serves and nothing else: no scripts
// or styles inside it, no other host, no frame around it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Pages are the page's files by their paths, the page itself at / and /console. They say nothing of the broker,
// so they are public, a token or not: it is the page that asks for one.
func Pages() map[string]http.Handler {
	const html, script = "text/html; charset=utf-8", "text/javascript; charset=utf-8"
	page := file("console.html", html)
	return map[string]http.Handler{
		"/": page, "/console": page,
		"/console/console.css": file("console.css", "text/css; charset=utf-8"),
		"/console/api.js":      file("api.js", script),
		"/console/console.js":  file("console.js", script),
		"/console/show.js":     file("show.js", script),
		"/console/try.js":      file("try.js", script),
	}
}

// file serves one file. It panics if it is not embedded, which the first test sees.
func file(name, media string) http.Handler {
	body, err := files.ReadFile("pages/" + name)
	if err != nil {
		panic("console: " + err.Error())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "this is a page: GET it", http.StatusMethodNotAllowed)
			return
		}
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Frame-Options", "DENY")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Content-Type", media)
		header.Set("Cache-Control", "no-cache")
		_, _ = w.Write(body) // an error is the connection's
	})
}
