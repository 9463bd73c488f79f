package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// named finds the settings that a text gives.
var named = regexp.MustCompile(`HERMES_[A-Z_]+`)

// Whatever deploy/ sets is a setting of the program, and the lists of members that it gives
// can be read and name each node where its service does.
func TestDeploy(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("server", pflag.ContinueOnError)
	new(config).register(flags)
	known := map[string]bool{}
	eachSetting(flags, func(f *pflag.Flag) { known[variable(f.Name)] = true })
	files, err := filepath.Glob("../../build/deploy/hermes/*")
	more, err2 := filepath.Glob("../../build/deploy/hermes/kubernetes/*")
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	lists := 0
	for _, name := range append(files, more...) {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a directory
		}
		for _, variable := range named.FindAllString(string(text), -1) {
			if !known[variable] {
				t.Errorf("%s sets %s, which is none of hermes server's settings", name, variable)
			}
		}
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for decoder := yaml.NewDecoder(strings.NewReader(string(text))); ; {
			var document any
			if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lists += members(t, name, document)
		}
	}
	if lists < 2 {
		t.Errorf("%d lists of members were found", lists)
	}
}

// members reads the lists of members there are in a document.
func members(t *testing.T, name string, document any) (n int) {
	t.Helper()
	switch d := document.(type) {
	case string:
		list := strings.Fields(d)
		if len(list) == 0 || !strings.HasPrefix(list[0], "1@") {
			return 0
		}
		for _, text := range list {
			m, err := parseMember(text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.Contains(m.Peer, m.Name[len("node"):]+":") &&
				!strings.Contains(m.Peer, m.Name[len("node"):]+".") ||
				m.GRPC == "" || m.HTTP == "" {
				t.Errorf("%s: member %+v", name, m)
			}
		}
		return 1
	case map[string]any:
		for _, v := range d {
			n += members(t, name, v)
		}
	case []any:
		for _, v := range d {
			n += members(t, name, v)
		}
	}
	return n
}

// A node tells how it is: to probes, to Prometheus, and to the origin's clients the same numbers whichever API
// the messages came by.
func TestMetricsAndProbes(t *testing.T) {
	t.Parallel()
	l := start(t, 1, dev...)
	must(t, l.at(), "", "pub", "orders", "one", "two", "--create")
	if out := must(t, nil, "", "ready", "--http", l.nodes[0].HTTP); out != "ready\n" {
		t.Errorf("ready says %q", out)
	}
	if code, _, errs := tried(t, nil, "", "ready", "--http", "127.0.0.1:1"); code != exitFailed || errs == "" {
		t.Errorf("ready of no one: %d %q", code, errs)
	}
	get := func(path string) string {
		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet,
			"http://"+l.nodes[0].HTTP+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		transport := new(http.Transport)
		defer transport.CloseIdleConnections()
		reply, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		if err != nil || reply.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %v: %s", path, reply.Status, err, text)
		}
		return string(text)
	}
	get("/livez")
	got := get("/metrics")
	for _, line := range []string{
		`hermes_topic_messages_in_total{topic="orders"} 2`, "hermes_raft_is_leader 1", "hermes_ready 1", "hermes_up 1",
		"hermes_commit_seconds_count ", "hermes_log_sync_seconds_count ", "go_goroutines ",
	} {
		if !strings.Contains(got, "\n"+line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
	var status struct {
		Stats struct{ Global map[string]any }
	}
	if err := json.Unmarshal([]byte(get("/status")), &status); err != nil {
		t.Fatal(err)
	}
	two := false
	for _, v := range status.Stats.Global {
		two = two || v == 2.0
	}
	if !two {
		t.Errorf("/status does not count what came by gRPC: %v", status.Stats.Global)
	}
}
