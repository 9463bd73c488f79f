package dashboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/resulttest"
	"wirelab/results/store"
	"wirelab/results/store/sqlite"
)

func TestMain(m *testing.M) {
	ignored := []goleak.Option{
		// The browser's pipes, and the connections that clients of other tests keep.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	}
	goleak.VerifyTestMain(leaktest.Patient(m, ignored...), append(ignored,
		goleak.Cleanup(func(code int) {
			if folder, _ := demoFolder(); folder != "" {
				_ = os.RemoveAll(folder)
			}
			os.Exit(code)
		}))...)
}

const secret = "a-token-of-some-length"

// at moves a made-up result to a time, and gives it an id of that.
func at(r *result.Result, n int, began time.Time) *result.Result {
	shift := began.Sub(r.Began)
	r.ID = fmt.Sprintf("r-%s-%04x", began.Format("20060102-150405"), n)
	r.Began, r.Ended = r.Began.Add(shift), r.Ended.Add(shift)
	for i := range r.Rounds {
		r.Rounds[i].Began = r.Rounds[i].Began.Add(shift)
	}
	return r
}

// first is when the made-up past begins.
var first = time.Date(2026, time.September, 1, 9, 0, 0, 0, time.UTC)

// run is one of a series of equal experiments, whose second arm's server costs
// times as much as usual.
func run(n int, times float64) *result.Result {
	arms := resulttest.Arms()[:2]
	arms[1].ServerCPU = time.Duration(times * float64(arms[1].ServerCPU))
	r := resulttest.Make(resulttest.Setting{
		Name: "quick", About: "Which of two wires costs a server less?", Arms: arms, Loads: []plan.Load{{InFlight: 1}},
		Rounds: 12, Seed: uint64(n) + 1, Noise: 0.01, Drift: 0.01,
	})
	r.Environment.Commit = fmt.Sprintf("%07x", 0xabc0000+n/3)
	return at(r, n, first.Add(time.Duration(n)*26*time.Hour))
}

// past is a series with a change at the 12th and another machine from the 24th on.
func past(count int) []*result.Result {
	var all []*result.Result
	for n := range count {
		times := 1.0
		if n >= 12 {
			times = 1.12
		}
		r := run(n, times)
		if n >= 24 {
			r.Environment.Kernel = "6.12.1"
		}
		all = append(all, r)
	}
	return all
}

// demoFolder is where the store of [demo] is made, once for all tests: to make
// results up takes most of their time.
var demoFolder = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "wirelab-dashboard-")
	if err != nil {
		return "", err
	}
	s, err := sqlite.Open(context.Background(), filepath.Join(folder, "results.db"))
	if err != nil {
		return folder, err
	}
	later := first.AddDate(0, 0, 60)
	all := past(32)
	for i, r := range []*result.Result{
		resulttest.Short(10), resulttest.Open(), resulttest.Troubled(),
		resulttest.Curves(), resulttest.Capacity(),
	} {
		all = append(all, at(r, 0xd000+i, later.Add(time.Duration(i)*time.Hour)))
	}
	elsewhere := run(70, 1)
	elsewhere.Environment.Host, elsewhere.Environment.CPU, elsewhere.Ending = "tower", "another CPU", result.Interrupted
	for _, r := range append(all, elsewhere) {
		if err := s.Put(context.Background(), r); err != nil {
			return folder, errors.Join(err, s.Close())
		}
	}
	return folder, s.Close()
})

// demo is a store with a bit of everything.
func demo(t *testing.T) store.Store {
	t.Helper()
	folder, err := demoFolder()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "results.db"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "results.db")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return openFile(t, file)
}

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "results.db"))
}

func openFile(t *testing.T, file string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func put(t *testing.T, s store.Store, r *result.Result) {
	t.Helper()
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// site is a dashboard that serves.
type site struct {
	t       *testing.T
	address string
	client  *http.Client
	board   *Dashboard
	stop    func() error // at most once

	mu  sync.Mutex // guards log
	log bytes.Buffer
}

func (s *site) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *site) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func serve(t *testing.T, results store.Store, token string) *site {
	t.Helper()
	s := &site{t: t}
	var err error
	s.board, err = New(Config{
		Store: results, Token: token, Version: "test",
		Log: slog.New(slog.NewTextHandler(s, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	// the tests are of the answers, not of their times
	s.board.limits = limits{work: 5 * time.Minute, place: 5 * time.Minute, gist: 5 * time.Minute}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.board.Serve(ctx, listener) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	transport := &http.Transport{}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		transport.CloseIdleConnections()
	})
	s.address = "http://" + listener.Addr().String()
	s.client = &http.Client{
		Transport: transport, Timeout: 10 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *site) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	reply, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{reply.StatusCode, reply.Header, string(text)}
}

func (s *site) get(path string) answer {
	s.t.Helper()
	return s.ask(http.MethodGet, path, "")
}
