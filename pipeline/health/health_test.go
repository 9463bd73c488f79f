package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/pipeline/health"
	"wirelab/pipeline/journal"
)

func TestMain(m *testing.M) {
	ignored := []goleak.Option{
		goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
	}
	goleak.VerifyTestMain(leaktest.Patient(m, ignored...), ignored...)
}

func well(context.Context) error { return nil }

// TestHealth checks that health is the state of the dependencies rather than that the process runs (ms-D15), and
// that internal error texts are not shown.
func TestHealth(t *testing.T) {
	t.Parallel()
	hanging := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	cases := []struct {
		why    string
		checks []health.Check
		status int
		parts  []string
	}{
		{"nothing to depend on", nil, 200, []string{`{"ok":true,"checks":[]}`}},
		{
			"all there",
			[]health.Check{{Name: "database", Ask: well}},
			200,
			[]string{`{"ok":true,"checks":[{"name":"database","ok":true}]}`},
		},
		{
			"one away",
			[]health.Check{{Name: "database", Ask: well}, {Name: "broker", Ask: func(context.Context) error {
				return wirelab.Errorf(wirelab.Unavailable, "no broker answers")
			}}},
			503,
			[]string{
				`"ok":false,`, `{"name":"database","ok":true}`,
				`{"name":"broker","ok":false,"error":"no broker answers"}`,
			},
		},
		{
			"a fault with a secret", []health.Check{{Name: "database", Ask: func(context.Context) error {
				return errors.New("password=hunter2 is wrong")
			}}}, 503, []string{`"error":"internal error"`},
		},
		{
			"one that hangs hides no other",
			[]health.Check{{Name: "a", Ask: hanging}, {Name: "b", Ask: well}},
			503,
			[]string{`{"name":"a","ok":false,"error":"deadline exceeded"}`, `{"name":"b","ok":true}`},
		},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			health.Handler(nil, c.checks...).ServeHTTP(w,
				httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", http.NoBody))
			if w.Code != c.status {
				t.Errorf("status %d, want %d", w.Code, c.status)
			}
			for _, part := range c.parts {
				if !strings.Contains(w.Body.String(), part) {
					t.Errorf("%s lacks %s", w.Body, part)
				}
			}
			if strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("%s shows an internal error", w.Body)
			}
		})
	}
}

func TestOtherPages(t *testing.T) {
	t.Parallel()
	j := journal.New(4)
	j.Note("a", journal.Stored, time.Now())
	handler := health.Handler(j,
		health.Check{Name: "gone", Ask: func(context.Context) error { return errors.New("x") }})
	for _, c := range []struct {
		method, path string
		status       int
		part         string
	}{
		{"GET", "/ping", 200, "."},
		{"GET", "/journal?after=0", 200, `"id":"a","what":"stored"`},
		{"POST", "/health", 405, ""},
		{"GET", "/log", 404, ""},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.part) {
			t.Errorf("%s %s: %d %s, want %d and %s", c.method, c.path, w.Code, w.Body, c.status, c.part)
		}
	}
}

// A stop lets answers in progress end, and does not wait for those that never do.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		ends  bool
		drain time.Duration
	}{{"ends in time", true, time.Minute}, {"never ends", false, time.Millisecond}} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			began, end := make(chan struct{}), make(chan struct{})
			ctx, stop := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				served <- health.Serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					close(began)
					select {
					case <-end:
					case <-r.Context().Done():
					}
					_, _ = io.WriteString(w, "done")
				}), c.drain)
			}()
			replied := make(chan error, 1)
			go func() {
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
					"http://"+listener.Addr().String()+"/", http.NoBody)
				if err != nil {
					replied <- err
					return
				}
				response, err := client.Do(request)
				if err == nil {
					_, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				replied <- err
			}()
			<-began
			stop()
			if c.ends {
				close(end)
			}
			if err := <-served; err != nil {
				t.Errorf("served: %v", err)
			}
			if err := <-replied; (err == nil) != c.ends {
				t.Errorf("the caller got %v", err)
			}
		})
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	var sick atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		health.Handler(nil, health.Check{Name: "database", Ask: func(context.Context) error {
			if sick.Load() {
				return wirelab.Errorf(wirelab.Unavailable, "away")
			}
			return nil
		}}).ServeHTTP(w, r)
	}))
	defer server.Close()
	if err := health.Ask(t.Context(), server.URL+"/health"); err != nil {
		t.Error(err)
	}
	sick.Store(true)
	want, _ := json.Marshal("unavailable: database: away")
	if err := health.Ask(t.Context(), server.URL+"/health"); err == nil || `"`+err.Error()+`"` != string(want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := health.Ask(t.Context(), server.URL+"/other"); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("no page of health: %v", err)
	}
	if err := health.Ask(t.Context(), "http://127.0.0.1:1"); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("no server: %v", err)
	}
}
