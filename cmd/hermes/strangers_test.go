package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"wirelab/hermes/local"
)

// small is a cluster of processes of which each may open so many files.
func small(t *testing.T, files string, args ...string) *local.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := local.Start(ctx, local.Options{
		Program: os.Args[0], Nodes: 3, Dir: t.TempDir(), Args: args,
		Wrap: func(int) []string {
			return []string{"env", playHermes + "=yes", "sh", "-c", "ulimit -n " + files + ` && exec "$0" "$@"`}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	return c
}

// alive is whether a node says that it lives.
func alive(t *testing.T, n *local.Node) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answerOf(ctx, t, n, "/livez")
	return n.Err() == nil
}

// answerOf is what a node answers at an address of HTTP.
func answerOf(ctx context.Context, t *testing.T, n *local.Node, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+n.HTTP+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("node %d at %s: %v (it ended with: %v)", n.ID, path, err, n.Err())
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		t.Fatalf("node %d at %s: %s %v: %s", n.ID, path, reply.Status, err, text)
	}
	return string(text)
}

// Connections on which nothing is said take no descriptor that the log needs, and keep nobody out who
// has something to say: with 700 of them at the gRPC ports of two nodes that may open 600 files, all nodes
// live and publishes are acknowledged.
func TestSilentConnections(t *testing.T) {
	c := small(t, "600", "--segment-bytes=64KiB")
	env := map[string]string{serverVariable: strings.Join(c.GRPC(), " ")}
	must(t, env, "", "topic", "create", "orders")
	var held []net.Conn
	defer func() {
		for _, conn := range held {
			conn.Close()
		}
	}()
	for _, n := range c.Nodes[:2] {
		for range 700 {
			conn, err := net.DialTimeout("tcp", n.GRPC, patience)
			if err != nil {
				t.Fatalf("node %d: %v (it ended with: %v)", n.ID, err, n.Err())
			}
			held = append(held, conn)
		}
	}
	big := strings.Repeat("x", 900<<10) // more than a segment: the log must open files
	for range 5 {
		must(t, env, big, "pub", "orders")
	}
	for _, n := range c.Nodes {
		if !alive(t, n) {
			t.Fatalf("node %d ended: %v", n.ID, n.Err())
		}
	}
	if text := answerOf(t.Context(), t, c.Nodes[0], "/metrics"); !strings.Contains(text, `hermes_connections_refused_total{listener="grpc",reason="address"} `) ||
		strings.Contains(text, `hermes_connections_refused_total{listener="grpc",reason="address"} 0`+"\n") {
		t.Error("the metrics do not count what was refused")
	}
	for _, conn := range held { // none of them is kept: the last ones end when they have been silent for too long
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		for {
			if _, err := conn.Read(make([]byte, 4096)); err != nil {
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Fatal("a silent connection is kept")
				}
				break
			}
		}
	}
}
