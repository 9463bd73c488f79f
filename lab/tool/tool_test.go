package tool_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/tool"
)

func TestPlanKnowsTheTools(t *testing.T) {
	t.Parallel()
	if !slices.Equal(plan.Tools(), tool.Names()) {
		t.Errorf("plan knows %v, and there are %v", plan.Tools(), tool.Names())
	}
	for _, name := range tool.Names() {
		if by, err := tool.Named(name); err != nil || by.Arrivals != plan.ToolArrivals(name) {
			t.Errorf("%s makes calls at a rate by %q, and plan knows %q, %v", name, by.Arrivals,
				plan.ToolArrivals(name), err)
		}
	}
	if _, err := tool.Named("ab"); err == nil || !strings.Contains(err.Error(), "wrk") {
		t.Errorf("error %v, want the known names", err)
	}
}

func TestMissingToolSaysHowToGetIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Chdir(t.TempDir())
	by, err := tool.Named("h2load")
	if err != nil {
		t.Fatal(err)
	}
	const how = "build/scripts/rivals h2load"
	if _, err := by.Find(); wirelab.CodeOf(err) != wirelab.NotFound || !strings.Contains(err.Error(), how) {
		t.Errorf("error %v", err)
	}
	if err := os.MkdirAll(tool.Installed, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tool.Installed+"/h2load", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if at, err := by.Find(); err != nil || !strings.HasSuffix(at, "/"+tool.Installed+"/h2load") {
		t.Errorf("found %q, %v", at, err)
	}
}

func TestWhatToolsCannotRepeat(t *testing.T) {
	t.Parallel()
	plain := tool.Request{Method: "POST", URL: "http://127.0.0.1:1/x", Header: http.Header{}, Body: []byte("{}")}
	second := plain
	second.HTTP2 = true
	call := second
	call.Header = http.Header{"Content-Type": {"application/grpc"}}
	call.Body, call.Schema = make([]byte, 9), []byte("schema")
	unknown := call
	unknown.Schema = nil
	sql := tool.Request{Script: "SELECT 1;"}
	for _, c := range []struct {
		tool    string
		request tool.Request
		load    tool.Load
		want    string // in the reason; "" if it can
	}{
		{"wrk", plain, tool.Load{InFlight: 4, Connections: 4}, ""},
		{"wrk", plain, tool.Load{InFlight: 4, Connections: 2}, "one call in flight on each connection"},
		{"wrk", plain, tool.Load{InFlight: 2, Connections: 4}, "each connection needs a call"},
		{"wrk", second, tool.Load{InFlight: 1, Connections: 1}, "HTTP/1.1 only"},
		{"h2load", plain, tool.Load{InFlight: 4, Connections: 4}, ""},
		{"h2load", plain, tool.Load{InFlight: 4, Connections: 1}, "one call in flight"},
		{"h2load", second, tool.Load{InFlight: 4, Connections: 1}, ""},
		{"h2load", call, tool.Load{InFlight: 5, Connections: 2}, "evenly"},
		{"ghz", plain, tool.Load{InFlight: 1, Connections: 1}, "gRPC only"},
		{"ghz", call, tool.Load{InFlight: 5, Connections: 2}, ""},
		{"ghz", unknown, tool.Load{InFlight: 1, Connections: 1}, "schema"},
		{"ghz", call, tool.Load{InFlight: 5, Connections: 2, Rate: 0.5}, "whole calls"},
		{"wrk", plain, tool.Load{InFlight: 4, Connections: 4, Rate: 10}, "cannot keep a rate"},
		{"k6", plain, tool.Load{InFlight: 4, Connections: 4, Rate: 10}, ""},
		{"k6", plain, tool.Load{InFlight: 4, Connections: 2}, "its own connection"},
		{"k6", second, tool.Load{InFlight: 1, Connections: 1}, "HTTP/1.1 and gRPC"},
		{"k6", call, tool.Load{InFlight: 2, Connections: 2}, ""},
		{"k6", unknown, tool.Load{InFlight: 1, Connections: 1}, "schema"},
		{"k6", sql, tool.Load{InFlight: 1, Connections: 1}, "pgbench"},
		{"wrk", sql, tool.Load{InFlight: 1, Connections: 1}, "pgbench"},
		{"pgbench", sql, tool.Load{InFlight: 4, Connections: 4, Rate: 10}, ""},
		{"pgbench", sql, tool.Load{InFlight: 4, Connections: 2}, "its own connection"},
		{"pgbench", plain, tool.Load{InFlight: 1, Connections: 1}, "statements of PostgreSQL"},
	} {
		by, err := tool.Named(c.tool)
		if err != nil {
			t.Fatal(err)
		}
		if why := by.Refuses(c.request, c.load); (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s, %+v: %q, want %q", c.tool, c.load, why, c.want)
		}
	}
}

// At a rate, the calls in flight are a bound. A tool with one call on each connection has as many as connections.
func TestLoadsAtARateFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool string
		rate float64
		http bool
		want int
	}{
		{"h2load", 9, false, 4},
		{"h2load", 9, true, 256},
		{"h2load", 0, false, 256},
		{"k6", 9, true, 4},
		{"ghz", 9, true, 256},
	} {
		by, err := tool.Named(c.tool)
		if err != nil {
			t.Fatal(err)
		}
		l := by.Fit(tool.Request{HTTP2: c.http}, tool.Load{InFlight: 256, Connections: 4, Rate: c.rate})
		if l.InFlight != c.want {
			t.Errorf("%+v: %d calls in flight", c, l.InFlight)
		}
	}
}

// A run has the calls that the tool counted, and the CPU time that the kernel counted.
func TestRun(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	defer server.Close()
	request := tool.Request{Method: "POST", URL: server.URL, Header: http.Header{"X": {"y"}}, Body: []byte("a\"\x00")}
	load := tool.Load{InFlight: 4, Connections: 4, Threads: 1, For: time.Second}
	for what, c := range map[string]struct {
		right, wrong uint64
		says         string // in its error
	}{
		"reports": {right: 1000},
		"wrong":   {right: 993, wrong: 7},
		"fails":   {says: "unable to connect"},
		"babbles": {says: "not as wrk prints it"},
	} {
		t.Run(what, func(t *testing.T) {
			by, program := wrk(t, what)
			run, err := by.Prepare(program, request)
			if err != nil {
				t.Fatal(err)
			}
			told, err := run.Do(t.Context(), load)
			switch {
			case c.says != "":
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want one with %q", err, c.says)
				}
			case err != nil || told.Right != c.right || told.Wrong != c.wrong || told.Elapsed != 1010*time.Millisecond:
				t.Errorf("told %+v, %v", told, err)
			case told.Usage.CPU <= 0 || told.Usage.ResidentBytes == 0 || told.Usage.Allocations != nil:
				t.Errorf("used %+v: want CPU and memory, and no allocations, which are not measured", told.Usage)
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls were made, want one of each tool that ran", calls.Load())
	}
}

// A tool ends when its context does.
func TestRunIsGivenUp(t *testing.T) {
	by, program := wrk(t, "stays")
	run, err := by.Prepare(program, tool.Request{Method: "GET", URL: "http://127.0.0.1:1/", Header: http.Header{}})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrUnexpectedEOF)
	_, err = run.Do(ctx, tool.Load{InFlight: 1, Connections: 1, For: time.Second})
	if err == nil || !strings.Contains(err.Error(), io.ErrUnexpectedEOF.Error()) {
		t.Errorf("error %v", err)
	}
}

// The watcher records requests unchanged, over both versions of HTTP, and passes replies on.
func TestWatch(t *testing.T) {
	t.Parallel()
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(reply http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = reply.Write(append(body, " back"...))
	}))
	server.Config.Protocols = &both
	server.Start()
	defer server.Close()
	address := server.Listener.Addr().String()
	for _, second := range []bool{false, true} {
		between, err := tool.Watch(address, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(between.Requests()) > 0 {
			t.Error("it recorded a request that was not made")
		}
		var by http.Protocols
		by.SetHTTP1(!second)
		by.SetUnencryptedHTTP2(second)
		transport := &http.Transport{Protocols: &by}
		for _, body := range []string{"first", "second"} {
			at := "http://" + between.Address() + "/a/b?c=d"
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			reply, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := io.ReadAll(reply.Body); err != nil || string(back) != body+" back" {
				t.Errorf("answered %q, %v", back, err)
			}
			_ = reply.Body.Close()
		}
		all := between.Requests()
		transport.CloseIdleConnections()
		if err := between.Close(); err != nil {
			t.Error(err)
		}
		if len(all) != 1 {
			t.Fatalf("%d requests seen, want the first", len(all))
		}
		seen := all[0]
		if seen.Method != http.MethodPost || seen.URL != "http://"+address+"/a/b?c=d" ||
			string(seen.Body) != "first" || seen.HTTP2 != second {
			t.Fatalf("seen %+v", seen)
		}
		if len(seen.Header) != 1 || seen.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", seen.Header)
		}
	}
}
