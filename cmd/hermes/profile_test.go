package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// A node shows profiles when it is instructed to, on a socket that is its user's alone, and again after one
// that was killed and left it; and shows none otherwise.
func TestProfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, profileSocket)
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	node := start(t, 1, append(dev, "--data-dir", dir, "--profile")...)
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("%v, %v: others may open it", info.Mode(), err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
		_ string,
	) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", at)
	}}}
	t.Cleanup(client.CloseIdleConnections)
	for path, want := range map[string]int{
		"goroutine": http.StatusOK, "heap": http.StatusOK, "profile?seconds=1": http.StatusOK,
		"profile?seconds=0": http.StatusBadRequest, "profile?seconds=1000000": http.StatusBadRequest,
		"none": http.StatusNotFound,
	} {
		answer, err := client.Get("http://node/debug/pprof/" + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || answer.StatusCode != want || len(body) == 0 {
			t.Errorf("%s: %s and %d bytes, %v", path, answer.Status, len(body), err)
		}
	}
	for _, listener := range []string{node.nodes[0].HTTP} {
		answer, err := http.Get("http://" + listener + "/debug/pprof/heap")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			t.Error("the HTTP door shows profiles too")
		}
	}
	node.end(t)
	if out := must(t, nil, "", "check", dir); !strings.Contains(out, "whole") {
		t.Errorf("check says %q", out)
	}
	quiet := start(t, 1, append(dev, "--data-dir", dir)...)
	if _, err := os.Stat(at); err == nil {
		t.Error("a node that is not told to has a socket for profiles")
	}
	quiet.end(t)
}

// How garbage is collected is set for the node's life; who sets Go's own variables goes before.
func TestCollect(t *testing.T) { //nolint:paralleltest // it is the process's
	read := func() (percent int, most int64) {
		percent = debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent, debug.SetMemoryLimit(-1)
	}
	percent, most := read()
	a := &app{getenv: func(string) string { return "" }}
	restore := a.collect(64 << 20)
	if p, m := read(); p != collectAt || m != 64<<20 {
		t.Errorf("%d %% and %d bytes", p, m)
	}
	restore()
	if p, m := read(); p != percent || m != most {
		t.Errorf("%d %% and %d bytes were not put back", p, m)
	}
	a.getenv = func(string) string { return "50" }
	defer a.collect(64 << 20)()
	if p, m := read(); p != percent || m != most {
		t.Errorf("%d %% and %d bytes, though the user said otherwise", p, m)
	}
}
