package dashboard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"wirelab"
)

// policy lets pages use only what this server serves: no scripts or styles inside a page, no other host, and no frame
// around it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// protect sets the headers that every answer has.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-cache")
}

// route is one path, with "{id}" for a segment of any text, and its actions by method. GET answers HEAD too.
type route struct {
	path    string
	methods map[string]action
}

// action answers a request, or returns why not.
type action struct {
	do func(w http.ResponseWriter, r *http.Request) error
	// writes: it needs the token. streams: it has no time limit and takes no place.
	writes, streams bool
}

type routing []route

// serve finds the action. Paths are not cleaned: a path that does not match exactly is not found, so nothing can be
// reached by another name.
func (all routing) serve(d *Dashboard, w http.ResponseWriter, r *http.Request) {
	for _, one := range all {
		if !one.matches(r) {
			continue
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		a, ok := one.methods[method]
		if !ok {
			w.Header().Set("Allow", one.allowed())
			d.fail(w, r, &failure{
				http.StatusMethodNotAllowed, wirelab.Unimplemented,
				r.Method + " is not done here; " + one.allowed() + " is",
			})
			return
		}
		if err := d.run(a, w, r); err != nil {
			d.fail(w, r, err)
		}
		return
	}
	d.fail(w, r, &failure{http.StatusNotFound, wirelab.NotFound, "there is nothing at this address"})
}

func (one *route) allowed() string {
	var all []string
	for method := range one.methods {
		all = append(all, method)
		if method == http.MethodGet {
			all = append(all, http.MethodHead)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// matches compares the segments as they were sent: an escaped slash does not separate segments.
func (one *route) matches(r *http.Request) bool {
	want, have := strings.Split(one.path, "/"), strings.Split(r.URL.EscapedPath(), "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		name, wild := strings.CutPrefix(want[i], "{")
		if !wild {
			if want[i] != have[i] {
				return false
			}
			continue
		}
		text, err := url.PathUnescape(have[i])
		if err != nil || text == "" {
			return false
		}
		r.SetPathValue(strings.TrimSuffix(name, "}"), text)
	}
	return true
}

// run runs an action within its limits.
func (d *Dashboard) run(a action, w http.ResponseWriter, r *http.Request) error {
	if a.writes {
		if err := d.authorize(w, r); err != nil {
			return err
		}
	}
	if a.streams {
		return a.do(w, r)
	}
	release, err := d.take(r.Context(), d.busy, "too many requests at once")
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithTimeout(r.Context(), d.limits.work)
	defer cancel()
	// The deadline ends answers that are not read. A test without a server has no deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * d.limits.work))
	return a.do(w, r.WithContext(ctx))
}

// take takes one of a limited number of places.
func (d *Dashboard) take(ctx context.Context, places chan struct{}, full string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, d.limits.place)
	defer cancel()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, wirelab.Errorf(wirelab.Unavailable, "%s; try again in a moment", full)
	}
}

// authorize allows requests that write only to bearers of the token.
func (d *Dashboard) authorize(w http.ResponseWriter, r *http.Request) error {
	if d.config.Token == "" {
		return &failure{
			http.StatusForbidden, wirelab.PermissionDenied,
			"this dashboard is read-only: it was started without a token",
		}
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Hashes have equal lengths, so the comparison does not reveal the length of the token.
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(sum[:], d.token[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
		w.Header().Set("WWW-Authenticate", `Bearer realm="wirelab"`)
		return &failure{
			http.StatusUnauthorized, wirelab.Unauthenticated,
			"this needs the token that the dashboard was started with, as Authorization: Bearer TOKEN",
		}
	}
	return nil
}

// failure is an error as an answer.
type failure struct {
	status  int
	code    wirelab.Code
	message string
}

func (f *failure) Error() string { return f.message }

// failureOf turns an error into an answer. Errors about the caller's request keep their message. Of others, which may
// name files and hosts, callers see only the kind.
func (d *Dashboard) failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	message := wirelab.Public(err).Message
	switch code := wirelab.CodeOf(err); code {
	case wirelab.InvalidArgument:
		return &failure{http.StatusBadRequest, code, message}
	case wirelab.NotFound:
		return &failure{http.StatusNotFound, code, message}
	case wirelab.Conflict:
		return &failure{http.StatusConflict, code, message}
	case wirelab.Unimplemented:
		return &failure{http.StatusUnprocessableEntity, code, message}
	case wirelab.Unavailable:
		return &failure{http.StatusServiceUnavailable, code, message}
	case wirelab.ResourceExhausted:
		return &failure{http.StatusInsufficientStorage, code, "the store has no room; nothing stored before is lost"}
	case wirelab.DeadlineExceeded, wirelab.Canceled:
		return &failure{
			http.StatusServiceUnavailable, wirelab.DeadlineExceeded,
			fmt.Sprintf("it took more than %v; ask for less, or again: what was read is kept for a while",
				d.limits.work),
		}
	default:
		return &failure{
			http.StatusInternalServerError, code,
			"the store cannot do this; the log of the dashboard says why",
		}
	}
}

// problem is the body of an error.
type problem struct {
	Error problemText `json:"error"`
}

type problemText struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// fail answers with an error: JSON for programs, a page for people.
func (d *Dashboard) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := d.failureOf(err)
	if f.status >= http.StatusInternalServerError {
		// Only the path, since a query may contain something that must not be logged.
		d.config.Log.Warn("request failed", "path", r.URL.EscapedPath(), "status", f.status, "error", err)
	}
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	if strings.HasPrefix(r.URL.Path, "/api/") {
		d.json(w, f.status, problem{problemText{f.code.String(), f.message}})
		return
	}
	page := errorPage{frame: d.frame("", http.StatusText(f.status)), Status: f.status, Message: f.message}
	if err := d.render(w, f.status, "error", page); err != nil {
		d.config.Log.Warn("error page", "error", err)
	}
}

// json answers with JSON. A write error is not reported, since the connection has failed.
func (d *Dashboard) json(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		d.config.Log.Warn("answer", "error", err)
		status, text = http.StatusInternalServerError,
			[]byte(`{"error":{"code":"internal","message":"the answer cannot be written"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
