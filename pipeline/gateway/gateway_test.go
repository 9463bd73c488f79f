package gateway_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wirelab"
	"wirelab/pipeline/gateway"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
)

const fine = `{"action":"log","log":{"id":"i-1","name":"n","data":"d"}}`

// Each path's success is the published status and message (ms-F12 to F15), and
// goes to the path that its address names.
func TestPaths(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ path, message string }{
		"/handle":            {"log-rpc", "logged"},
		"/log-http":          {"log-http", "logged"},
		"/log-grpc":          {"log-grpc", "logged"},
		"/log-rpc":           {"log-rpc", "logged"},
		"/log-rabbit":        {"log-rabbit", "logged via rabbitmq"},
		"/log-rabbit-direct": {"log-rabbit-direct", "logged via rabbitmq"},
		"/log-nats":          {"log-nats", "logged via nats"},
		"/log-nats-direct":   {"log-nats-direct", "logged via nats"},
		"/log-hermes":        {"log-hermes", "logged via hermes"},
		"/log-hermes-direct": {"log-hermes-direct", "logged via hermes"},
		"/log-http-2":        {"log-http-2", "logged"}, // a name of the user's choice
	} {
		to := &way{}
		g := handler(t, gateway.Options{Paths: map[string]path.Path{want.path: to}})
		got := ask(t, g, http.MethodPost, address, fine, nil)
		if got.status != http.StatusAccepted ||
			got.body != `{"error":false,"message":"`+want.message+`","data":{"id":"i-1"}}` {
			t.Errorf("%s: %d %s", address, got.status, got.body)
		}
		if arrived := to.arrived(); len(arrived) != 1 ||
			arrived[0] != (logging.Entry{ID: "i-1", Name: "n", Data: "d"}) {
			t.Errorf("%s: arrived %+v", address, arrived)
		}
	}
}

// TestFailures checks that a failure behind the gateway keeps its code and message and has the status of the code:
// never 400 for a fault of the pipeline (ms-D17), never 202.
func TestFailures(t *testing.T) {
	t.Parallel()
	statuses := map[wirelab.Code]int{
		wirelab.Internal: 500, wirelab.InvalidArgument: 400, wirelab.NotFound: 404, wirelab.Conflict: 409,
		wirelab.PermissionDenied: 403, wirelab.Unauthenticated: 401, wirelab.ResourceExhausted: 429,
		wirelab.DeadlineExceeded: 504, wirelab.Canceled: 499, wirelab.Unavailable: 503, wirelab.Unimplemented: 501,
	}
	var fails error
	g := handler(t, all(&way{log: func(context.Context, logging.Entry) error { return fails }}))
	for _, code := range wirelab.Codes() {
		fails = wirelab.Errorf(code, "told <whole> „%s“", code)
		got := ask(t, g, http.MethodPost, "/log-grpc", fine, nil)
		if got.status != statuses[code] || !got.told.Error || got.told.Message != wirelab.Public(fails).Message ||
			got.told.Data.Code != code.String() {
			t.Errorf("%v: %d %s", fails, got.status, got.body)
		}
		if retry := got.header.Get("Retry-After") != ""; retry != (got.status == 503 || got.status == 429) {
			t.Errorf("%v: Retry-After is there: %t", fails, retry)
		}
	}
	fails = errors.New("password is 1234")
	if got := ask(t, g, http.MethodPost, "/log-http", fine, nil); got.status != 500 ||
		strings.Contains(got.body, "1234") {
		t.Errorf("an error without a code: %d %s", got.status, got.body)
	}
}

// A path that is not available is 503 with the reason; one that panics is 500, and
// the next request is answered (ms-D03).
func TestAbsentAndBroken(t *testing.T) {
	t.Parallel()
	o := all(&way{log: func(context.Context, logging.Entry) error { panic("nil error formatted") }})
	g := handler(t, o)
	for range 2 {
		if got := ask(t, g, http.MethodPost, "/log-http", fine, nil); got.status != 500 ||
			got.told.Message != "internal error" {
			t.Errorf("a panic: %d %s", got.status, got.body)
		}
	}
	if got := ask(t, g, http.MethodPost, "/log-hermes-direct", fine, nil); got.status != 503 ||
		got.told.Message != "path log-hermes-direct is not available: no broker was found" ||
		got.told.Data.Code != "unavailable" {
		t.Errorf("absent: %d %s", got.status, got.body)
	} else if retry := got.header.Get("Retry-After"); retry != "" {
		t.Errorf("a path that will not be there says Retry-After: %s", retry)
	}
	none := handler(t, gateway.Options{})
	for _, address := range posts() {
		if got := ask(t, none, http.MethodPost, address, fine, nil); got.status != 503 ||
			!strings.HasSuffix(got.told.Message, " is not available") {
			t.Errorf("%s of a gateway without paths: %d %s", address, got.status, got.body)
		}
	}
	for _, bad := range []string{"http", "log-", "log-HTTP", "log-a/b", "log-" + strings.Repeat("x", 64)} {
		if _, err := gateway.New(gateway.Options{Paths: map[string]path.Path{bad: &way{}}}); err == nil ||
			wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("a path %q: %v", bad, err)
		}
	}
}

// nothing is the reply to an unknown address.
const nothing = "there is nothing at this address; known: / /handle /health /journal /log-grpc /log-hermes " +
	"/log-hermes-direct /log-http /log-nats /log-nats-direct /log-rabbit /log-rabbit-direct /log-rpc /ping"

// TestOtherAddresses checks the addresses other than the paths (ms-F10, F11), and that the reply to an unknown
// address lists the known ones.
func TestOtherAddresses(t *testing.T) {
	t.Parallel()
	g := handler(t, all(&way{}))
	for _, body := range []string{"", "{}", "whatever"} {
		if got := ask(t, g, http.MethodPost, "/", body, nil); got.status != 200 ||
			got.body != `{"error":false,"message":"Hit the broker"}` {
			t.Errorf("POST /: %d %s", got.status, got.body)
		}
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ping", http.NoBody))
	if w.Code != 200 || w.Body.String() != "." || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("ping: %d %q %v", w.Code, w.Body, w.Header())
	}
	for _, address := range []string{
		"/log-smoke", "/log-http/", "//", "/Log-http", "/handle/log", "/assets/",
		"/assets/../gateway.go", "/favicon.ico",
	} {
		if got := ask(t, g, http.MethodPost, address, fine, nil); got.status != 404 ||
			got.told.Data.Code != "not_found" || got.told.Message != nothing {
			t.Errorf("%s: %d %s", address, got.status, got.body)
		}
	}
	for address, allowed := range map[string]string{
		"/log-http": "POST, OPTIONS", "/ping": "GET, HEAD, OPTIONS",
		"/": "GET, HEAD, POST, OPTIONS", "/health": "GET, HEAD, OPTIONS",
	} {
		if got := ask(t, g, http.MethodDelete, address, "", nil); got.status != 405 ||
			got.header.Get("Allow") != allowed || got.told.Data.Code != "unimplemented" {
			t.Errorf("DELETE %s: %d %s, allowed %q", address, got.status, got.body, got.header.Get("Allow"))
		}
	}
}

// The journal has when an entry was read and checked, and when it was confirmed
// or failed; of what was refused it has nothing, since it has no id.
func TestJournal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		to   *way
		want []journal.What
	}{
		{"confirmed", &way{}, []journal.What{journal.Accepted, journal.Confirmed}},
		{"a queue without confirms", &way{never: true}, []journal.What{journal.Accepted}},
		{
			"failed", &way{log: func(context.Context, logging.Entry) error { return errors.New("x") }},
			[]journal.What{journal.Accepted, journal.Failed},
		},
	} {
		o := all(c.to)
		g := handler(t, o)
		ask(t, g, http.MethodPost, "/log-http", `{"log":{}}`, nil)
		ask(t, g, http.MethodPost, "/log-hermes-direct", fine, nil) // absent
		before := time.Now()
		ask(t, g, http.MethodPost, "/log-http", fine, nil)
		events, _, _ := o.Journal.Since(0, 10)
		var got []journal.What
		for _, e := range events {
			got = append(got, e.What)
			if e.ID != "i-1" || e.At.Before(before) {
				t.Errorf("%s: %+v", c.why, e)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
	// It is shown, where there is one.
	server := httptest.NewServer(handler(t, all(&way{})))
	defer server.Close()
	if _, err := journal.Read(t.Context(), server.URL+"/journal", 0); err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if got := ask(t, handler(t, gateway.Options{}), http.MethodGet, "/journal", "", nil); got.status != 404 {
		t.Errorf("a journal that is not available: %d", got.status)
	}
}

// TestRequestID checks that the id of the caller is returned and passed on. Without one the id of the entry is
// used. An id that is not safe in a header or a log is replaced (ms-D18).
func TestRequestID(t *testing.T) {
	t.Parallel()
	g := handler(t, all(&way{}))
	for _, c := range []struct{ why, sent, body, want string }{
		{"the caller's", "req-7:a/b", fine, "req-7:a/b"},
		{"the caller's, of a failure", "req-8", "{}", "req-8"},
		{"none: the entry's", "", fine, "i-1"},
		{"with a blank", "a b", fine, "i-1"},
		{"with a line end", "a\r\nSet-Cookie: x", fine, "i-1"},
		{"too long", strings.Repeat("x", 129), fine, "i-1"},
	} {
		got := ask(t, g, http.MethodPost, "/log-http", c.body, http.Header{"X-Request-Id": {c.sent}})
		if id := got.header.Get("X-Request-Id"); id != c.want {
			t.Errorf("%s: %q, want %q", c.why, id, c.want)
		}
	}
	if got := ask(t, g, http.MethodPost, "/log-http", "", nil); !logging.MadeID(got.header.Get("X-Request-Id")) {
		t.Errorf("a failure without any: %v", got.header)
	}
}

// A page of another origin cannot make a browser log (ms-D14), unless its origin
// was let in; programs, which have no origin, can.
func TestOrigins(t *testing.T) {
	t.Parallel()
	const friend = "https://lab.example"
	closed, open := all(&way{}), all(&way{})
	open.Origins = []string{friend}
	for _, c := range []struct {
		why     string
		options gateway.Options
		header  http.Header
		status  int
		allowed string
	}{
		{"a program", closed, nil, 202, ""},
		{
			"the gateway's own page", closed,
			http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"http://example.com"}},
			202, "",
		},
		{"another page", closed, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {friend}}, 403, ""},
		{"another page, in an old browser", closed, http.Header{"Origin": {friend}}, 403, ""},
		{"no page at all", closed, http.Header{"Origin": {"null"}}, 403, ""},
		{
			"a page that was let in", open,
			http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {friend}},
			202,
			friend,
		},
		{
			"one that was not", open,
			http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
			403, "",
		},
	} {
		got := ask(t, handler(t, c.options), http.MethodPost, "/log-http", fine, c.header)
		if got.status != c.status || got.header.Get("Access-Control-Allow-Origin") != c.allowed ||
			got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %d %v", c.why, got.status, got.header)
		}
	}
	for options, want := range map[*gateway.Options]string{&closed: "", &open: friend} {
		r := httptest.NewRequest(http.MethodOptions, "/log-http", http.NoBody)
		r.Header.Set("Origin", friend)
		w := httptest.NewRecorder()
		handler(t, *options).ServeHTTP(w, r)
		if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != want ||
			w.Header().Get("Allow") != "POST, OPTIONS" {
			t.Errorf("asked beforehand, %q is let in: %d %v", want, w.Code, w.Header())
		}
	}
	if _, err := gateway.New(gateway.Options{Origins: []string{"lab.example/"}}); err == nil ||
		wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("an origin that is none: %v", err)
	}
}

// More messages at once than may be are pushed back, and the places come free.
func TestLimit(t *testing.T) {
	t.Parallel()
	in, out := make(chan struct{}), make(chan struct{})
	o := all(&way{log: func(context.Context, logging.Entry) error { in <- struct{}{}; <-out; return nil }})
	o.Limit = 2
	g := handler(t, o)
	done := make(chan int, o.Limit)
	for range o.Limit {
		go func() { done <- ask(t, g, http.MethodPost, "/log-http", fine, nil).status }()
		<-in
	}
	if got := ask(t, g, http.MethodPost, "/log-grpc", fine, nil); got.status != 429 ||
		got.told.Data.Code != "resource_exhausted" {
		t.Errorf("one more: %d %s", got.status, got.body)
	}
	if got := ask(t, g, http.MethodPost, "/log-grpc", "{}", nil); got.status != 400 {
		t.Errorf("a bad one in between: %d %s", got.status, got.body)
	}
	close(out)
	for range o.Limit {
		if status := <-done; status != 202 {
			t.Errorf("one of those that were there: %d", status)
		}
	}
	go func() { <-in }()
	if got := ask(t, g, http.MethodPost, "/log-grpc", fine, nil); got.status != 202 {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

// TestHealth checks that health asks the peer of each path (ms-D15). A path that is not set up is listed and is no
// failure; one whose check fails or panics is.
func TestHealth(t *testing.T) {
	t.Parallel()
	o := all(&way{})
	got := get(t, handler(t, o), "/health")
	if got.Code != 200 || !strings.Contains(got.Body.String(), `{"path":"log-http","ok":true}`) ||
		!strings.Contains(got.Body.String(),
			`{"path":"log-hermes-direct","ok":false,"absent":true,"message":"path log-hermes-direct is not available: no broker was found"}`) {
		t.Errorf("all is well: %d %s", got.Code, got.Body)
	}
	o.Paths = maps.Clone(o.Paths)
	o.Paths["log-grpc"] = &way{check: wirelab.Errorf(wirelab.Unavailable, "no peer")}
	got = get(t, handler(t, o), "/health")
	if got.Code != 503 || !strings.Contains(got.Body.String(),
		`"message":"path log-grpc does not work: no peer"`) ||
		!strings.Contains(got.Body.String(), `{"path":"log-http","ok":true}`) {
		t.Errorf("one is away: %d %s", got.Code, got.Body)
	}
	o.Paths["log-grpc"] = broken{}
	if got = get(t, handler(t, o), "/health"); got.Code != 503 ||
		!strings.Contains(got.Body.String(), `"code":"internal"`) {
		t.Errorf("one is broken: %d %s", got.Code, got.Body)
	}
}

// TestHealthIsShared checks that concurrent requests for health share one check, which continues if the caller that
// started it leaves, and that the next request starts a new one.
func TestHealthIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		way := &looked{leave: make(chan struct{})}
		g := handler(t, gateway.Options{Paths: map[string]path.Path{"log-http": way}})
		const callers = 20
		told := make(chan int, callers+1)
		begin := func(ctx context.Context) {
			w := httptest.NewRecorder()
			g.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/health", http.NoBody))
			told <- w.Code
		}
		first, goes := context.WithCancel(t.Context())
		second, leaves := context.WithCancel(t.Context())
		go begin(first)
		synctest.Wait()
		go begin(second)
		for range callers - 1 {
			go begin(t.Context())
		}
		synctest.Wait()
		goes()
		leaves()
		if status := <-told; status != 499 {
			t.Errorf("one who had gone: %d", status)
		}
		way.leave <- struct{}{}
		for range callers {
			if status := <-told; status != 200 {
				t.Errorf("status %d", status)
			}
		}
		if looks := way.looks.Load(); looks != 1 {
			t.Errorf("%d looks for %d callers", looks, callers+1)
		}
		go begin(t.Context())
		way.leave <- struct{}{}
		if status := <-told; status != 200 || way.looks.Load() != 2 {
			t.Errorf("afterwards: %d after %d looks", status, way.looks.Load())
		}
	})
}

// looked is a path whose check is counted, and waits.
type looked struct {
	path.Path
	looks atomic.Int32
	leave chan struct{}
}

func (p *looked) Check(ctx context.Context) error {
	p.looks.Add(1)
	select {
	case <-p.leave:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// broken is a path whose check panics.
type broken struct{ path.Path }

func (broken) Check(context.Context) error { panic("broken") }

func get(t *testing.T, g http.Handler, address string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return w
}

// The page lists every path with where it leads, or why it does not, as text;
// its policy lets nothing in from elsewhere, and no script or style be inline.
func TestPage(t *testing.T) {
	t.Parallel()
	o := all(&way{})
	o.Absent["log-hermes-direct"] = "<b>no</b> broker"
	o.Paths["log-rabbit-published"], o.Paths["log-mine"] = &way{}, &way{}
	g := handler(t, o)
	page := get(t, g, "/")
	for _, want := range []string{
		"POST /log-http<", "HTTP → logger, which stores", "&lt;b&gt;no&lt;/b&gt; broker", "POST /log-mine<",
		"POST /log-rabbit-published<", "RabbitMQ → listener → logger", "; done as the published client did",
		`href="/assets/gateway.css"`, `src="/assets/gateway.js"`,
	} {
		if !strings.Contains(page.Body.String(), want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	if strings.Contains(page.Body.String(), "<style") || strings.Contains(page.Body.String(), "<script>") ||
		strings.Contains(page.Body.String(), "//") {
		t.Error("something is inline, or elsewhere")
	}
	policy := page.Header().Get("Content-Security-Policy")
	if page.Code != 200 || !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") ||
		strings.Contains(policy, "*") ||
		page.Header().Get("X-Frame-Options") != "DENY" || page.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", page.Code, page.Header())
	}
	for address, media := range map[string]string{
		"/assets/gateway.css": "text/css; charset=utf-8",
		"/assets/gateway.js":  "text/javascript; charset=utf-8",
	} {
		if got := get(t, g, address); got.Code != 200 || got.Header().Get("Content-Type") != media ||
			got.Body.Len() == 0 {
			t.Errorf("%s: %d %v", address, got.Code, got.Header())
		}
	}
	if script := get(t, g, "/assets/gateway.js").Body.String(); strings.Contains(script, "innerHTML") ||
		strings.Contains(script, "insertAdjacentHTML") {
		t.Error("the page's script makes markup of text")
	}
}
