package raw

import (
	"bytes"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// recorder is the http.ResponseWriter of a handler that is asked once.
type recorder struct {
	header http.Header
	sent   http.Header // as it was when the reply began
	status int         // 0: it has not
	body   bytes.Buffer
	cut    bool // the handler panicked
}

var (
	_ http.ResponseWriter = (*recorder)(nil)
	_ http.Flusher        = (*recorder)(nil)
)

// run has handler answer r. A panic cuts the reply, and nothing else.
func (w *recorder) run(handler http.Handler, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			w.cut = true
			if p != http.ErrAbortHandler { //nolint:errorlint // a panic is compared, as net/http does
				slog.ErrorContext(r.Context(), "panic in a handler", "panic", p, "stack", string(debug.Stack()))
			}
		}
	}()
	handler.ServeHTTP(w, r)
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.freeze(status)
	}
}

func (w *recorder) freeze(status int) {
	w.status, w.sent = status, w.header.Clone()
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(p) > bodyMax {
		return 0, http.ErrContentLength
	}
	return w.body.Write(p)
}

// Flush implements http.Flusher: there is no one yet to send to.
func (w *recorder) Flush() { w.WriteHeader(http.StatusOK) }

// EnableFullDuplex is what http.ResponseController looks for.
func (*recorder) EnableFullDuplex() error { return nil }

// SetReadDeadline is what http.ResponseController looks for.
func (*recorder) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is what http.ResponseController looks for.
func (*recorder) SetWriteDeadline(time.Time) error { return nil }

// trailers are those announced by the field Trailer, and those whose names
// have net/http's prefix.
func (w *recorder) trailers() http.Header {
	all := http.Header{}
	for name, values := range w.header {
		if bare, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			all[http.CanonicalHeaderKey(bare)] = values
		}
	}
	for _, line := range w.sent["Trailer"] {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if values, ok := w.header[name]; ok {
				all[name] = values
			}
		}
	}
	return all
}
