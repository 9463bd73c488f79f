package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

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

// Connections on which nothing is said take no descriptor that the log needs, and keep out no client that has
// something to say: with 700 of them at the gRPC ports of two nodes that may open 600 files, all nodes live and
// publishes are acknowledged.
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
	if text := answerOf(t.Context(), t, c.Nodes[0], "/metrics"); !strings.Contains(text,
		`hermes_connections_refused_total{listener="grpc",reason="address"} `) ||
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

// halfPublish sends a publish over gRPC of which the second half of the message never comes.
func halfPublish(conn net.Conn, to string, bytesOf int) {
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&out, conn)
	_ = f.WriteSettings() // to memory
	var head bytes.Buffer
	e := hpack.NewEncoder(&head)
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", "/hermes.v1.Hermes/Publish"},
		{":authority", to},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		_ = e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true})
	length := make([]byte, 5)
	binary.BigEndian.PutUint32(length[1:], uint32(2*bytesOf))
	_ = f.WriteData(1, false, length)
	if _, err := conn.Write(out.Bytes()); err != nil {
		return
	}
	for window := 64 << 10; window < bytesOf; { // it opens when the length is read
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		if update, ok := frame.(*http2.WindowUpdateFrame); ok && update.StreamID == 1 {
			window += int(update.Increment)
		}
	}
	out.Reset()
	for left := bytesOf; left > 0; left -= 16 << 10 {
		_ = f.WriteData(1, false, make([]byte, 16<<10))
	}
	_, _ = conn.Write(out.Bytes()) // the node may not read it
}

// uploader sends the first half of a request, again and again whenever it is sent away, until ctx ends.
func uploader(ctx context.Context, to string, half func(net.Conn)) {
	for ctx.Err() == nil {
		conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", to)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		half(conn)
		_, _ = io.Copy(io.Discard, conn) // until the node closes it, or ctx ends
		stop()
		_ = conn.Close()
	}
}

// resident is the most memory that a process had.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	rest, _, _ = strings.Cut(rest, "kB")
	kb, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// A thousand clients that each send a half of 2 MiB and then nothing, over each API, cost a node no more memory
// than it was given: --memory-bytes, and what Go's limit does not count. In the meantime others are served.
func TestUnfinishedUploads(t *testing.T) {
	const half, memory, slack = 1 << 20, 192 << 20, 64 << 20
	text := strings.Repeat("x", half)
	for name, c := range map[string]struct {
		to  func(*local.Node) string
		say func(conn net.Conn, to string)
	}{
		"gRPC": {func(n *local.Node) string { return n.GRPC }, func(conn net.Conn, to string) {
			halfPublish(conn, to, half)
		}},
		"REST": {func(n *local.Node) string { return n.HTTP }, func(conn net.Conn, to string) {
			_, _ = fmt.Fprintf(conn, "POST /v1/topics/orders/messages HTTP/1.1\r\nHost: %s\r\nContent-Type: "+
				"application/json\r\n"+
				"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", to, 2*half, text)
		}},
		"GraphQL": {func(n *local.Node) string { return n.HTTP }, func(conn net.Conn, to string) {
			_, _ = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
				"Content-Length: %d\r\n\r\n%s", to, 2*half, text)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			// All clients are of one address: those that were just sent away and those that come again, both at once.
			cluster := small(t, "8192", "--memory-bytes=192MiB", "--request-bytes=32MiB", "--in-hand-bytes=32MiB",
				"--connections-per-address=3000", "--connections=3000")
			env := map[string]string{serverVariable: strings.Join(cluster.GRPC(), " ")}
			must(t, env, "", "topic", "create", "orders")
			n := cluster.Nodes[0]
			to := c.to(n)
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() { uploader(ctx, to, func(conn net.Conn) { c.say(conn, to) }) })
			}
			for full := false; !full; time.Sleep(10 * time.Millisecond) {
				full = strings.Contains(answerOf(t.Context(), t, n, "/metrics"),
					`hermes_requests_refused_total{reason="stalled"} `) &&
					!strings.Contains(answerOf(t.Context(), t, n, "/metrics"),
						`hermes_requests_refused_total{reason="stalled"} 0`+
							"\n")
			}
			for i := range 10 { // a client that sends all it has is served at the same node
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.HTTP+
					"/v1/topics/orders/messages",
					io.MultiReader(strings.NewReader(strings.Repeat("y", 10<<10)))) // chunked
				if err != nil {
					t.Fatal(err)
				}
				request.Header.Set("Content-Type", "application/octet-stream")
				request.Close = true
				reply, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				said, _ := io.ReadAll(reply.Body)
				reply.Body.Close()
				if reply.StatusCode != http.StatusOK {
					t.Errorf("publish %d: %s: %s", i, reply.Status, said)
				}
				must(t, map[string]string{serverVariable: n.GRPC}, "", "pub", "orders", strconv.Itoa(i))
			}
			for _, n := range cluster.Nodes {
				is := resident(t, n.PID())
				t.Logf("node %d had %d MiB", n.ID, is>>20)
				if is > memory+slack {
					t.Errorf("node %d had %d MiB of memory, and was given %d", n.ID, is>>20, memory>>20)
				}
			}
			cancel()
			all.Wait()
		})
	}
}
