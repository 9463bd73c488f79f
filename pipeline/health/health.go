// Package health serves the health of a process of the pipeline over HTTP. It runs checks of the dependencies of
// the process (ms-D15), and serves its journal too. It knows neither the processes nor their dependencies: callers
// supply the checks.
package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"wirelab"
	"wirelab/pipeline/journal"
)

// Limit is how long all checks of one request may take together.
const Limit = 2 * time.Second

// Check is something that a process depends on.
type Check struct {
	Name string // "database"
	// Ask returns nil if the dependency is available. It may be called concurrently.
	Ask func(ctx context.Context) error
}

// Finding is the result of a check.
type Finding struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"` // safe to show to any caller
}

// Report is the reply to GET /health.
type Report struct {
	OK     bool      `json:"ok"` // all of them are
	Checks []Finding `json:"checks"`
}

// Handler answers GET /health with a [Report], with status 200 if all checks pass and 503 otherwise; GET /ping with
// 200, without a check; and GET /journal with the contents of the journal.
func Handler(j *journal.Journal, checks ...Check) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, ".") // the caller may be gone
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		report := ask(r.Context(), checks)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !report.OK {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(report) // likewise
	})
	mux.Handle("GET /journal", j)
	return mux
}

// ask runs all checks concurrently: one that hangs must not hide the results of the others.
func ask(ctx context.Context, checks []Check) Report {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	report := Report{OK: true, Checks: make([]Finding, len(checks))}
	var asking sync.WaitGroup
	for i, check := range checks {
		asking.Go(func() {
			found := Finding{Name: check.Name, OK: true}
			if err := check.Ask(ctx); err != nil {
				found.OK, found.Error = false, wirelab.Public(err).Message
			}
			report.Checks[i] = found
		})
	}
	asking.Wait()
	for _, found := range report.Checks {
		report.OK = report.OK && found.OK
	}
	return report
}

// Limits of the server: it has few clients, all on the loopback interface.
const (
	readLimit   = 5 * time.Second
	writeLimit  = 30 * time.Second // for a page of the journal to a slow reader
	idleLimit   = 2 * time.Minute
	headerBytes = 16 << 10
)

// Serve serves a handler on a listener, which it closes, until ctx ends. It returns nil once the requests in
// progress have ended or drain has passed.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, drain time.Duration) error {
	server := &http.Server{
		Handler: handler, ReadTimeout: readLimit, WriteTimeout: writeLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: headerBytes,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close() // cuts off the rest, which is not a failure of this process
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Ask asks for the health of the process at a URL such as http://127.0.0.1:8080/health. If it is unhealthy or
// cannot be reached, the error is Unavailable and names the cause.
func Ask(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "health: %v", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return fmt.Errorf("health: %w", ended)
		}
		return wirelab.Errorf(wirelab.Unavailable, "health: %v", err)
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return wirelab.Errorf(wirelab.Unavailable, "health at %s: %v", address, err)
	}
	if response.StatusCode == http.StatusOK {
		return nil
	}
	var report struct {
		Report
		Message string `json:"message"` // of a gateway, whose replies are an envelope
	}
	if err := json.Unmarshal(body, &report); err == nil {
		for _, found := range report.Checks {
			if !found.OK {
				return wirelab.Errorf(wirelab.Unavailable, "%s: %s", found.Name, found.Error)
			}
		}
		if report.Message != "" {
			return wirelab.Errorf(wirelab.Unavailable, "%s", report.Message)
		}
	}
	return wirelab.Errorf(wirelab.Unavailable, "health at %s: %s", address, response.Status)
}
