package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/internal/porttest"
	"wirelab/pipeline/gateway"
	"wirelab/workload/logging"
)

// serve serves a gateway until stop, or the end of the test. Afterwards nothing listens there.
func serve(t *testing.T, g http.Handler, timeouts gateway.Timeouts) (address string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", porttest.Held(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := gateway.Serve(ctx, l, g, timeouts); err != nil {
			t.Error(err)
		}
	})
	stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// The published benchmark's loop: a client for each worker, a POST with its
// content type, success is 202 alone, and bodies are closed unread (ms-M03). All
// of its requests arrive, on each path that it has (ms-P01, ms-P02).
func TestPublishedBenchmark(t *testing.T) {
	t.Parallel()
	const requests, workers = 100, 10
	to := &way{}
	address, _ := serve(t, handler(t, all(to)), gateway.Timeouts{})
	var failed sync.Map
	for _, method := range []string{"http", "rabbit", "grpc"} {
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
				defer client.CloseIdleConnections()
				for j := range requests / workers {
					body, _ := json.Marshal(map[string]any{"action": "log", "log": map[string]string{
						"name": fmt.Sprintf("%s-test-%d", method, j), "data": fmt.Sprintf("benchmark data %d", j),
					}})
					r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/log-"+method,
						bytes.NewBuffer(body))
					r.Header.Set("Content-Type", "application/json")
					reply, err := client.Do(r)
					if err != nil || reply.StatusCode != http.StatusAccepted {
						failed.Store(fmt.Sprintf("%s %v", method, err), true)
						continue
					}
					_ = reply.Body.Close()
				}
			})
		}
		wg.Wait()
	}
	failed.Range(func(what, _ any) bool { t.Error(what); return true })
	ids := map[string]bool{}
	for _, e := range to.arrived() {
		ids[e.ID] = true
	}
	if len(ids) != 3*requests {
		t.Errorf("%d entries arrived, each with its id; want %d", len(ids), 3*requests)
	}
}

// Bodies that are too long are answered, and end their connection; the next one
// is served.
func TestOversizedOnTheWire(t *testing.T) {
	t.Parallel()
	address, _ := serve(t, handler(t, all(&way{})), gateway.Timeouts{})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		why    string
		body   io.Reader
		status int
	}{
		{
			"a length above the limit",
			strings.NewReader(entryOf(`{"name":"n","data":"` + strings.Repeat("x", 2*gateway.BodyLimit) + `"}`)), 400,
		},
		{
			"no length, and no end",
			io.MultiReader(strings.NewReader(`{"log":{"name":"n","data":"`),
				io.LimitReader(forever{}, 2*gateway.BodyLimit)), 400,
		},
		{"a good one", strings.NewReader(fine), 202},
	} {
		reply, err := client.Post("http://"+address+"/log-http", "application/json", c.body)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		body, _ := io.ReadAll(reply.Body)
		_ = reply.Body.Close()
		if reply.StatusCode != c.status || !json.Valid(body) {
			t.Errorf("%s: %d %s", c.why, reply.StatusCode, body)
		}
	}
}

// forever is an endless text.
type forever struct{}

func (forever) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Who sends slowly is cut off or answered, in time that is bounded: half a
// header, half a body, nothing at all (ms-D15).
func TestSlowClients(t *testing.T) {
	t.Parallel()
	// On a slow machine even a timely request may be late, so each attempt allows more time.
	for short := 400 * time.Millisecond; ; short *= 4 {
		wrong := slowClients(t, gateway.Timeouts{Header: short, Body: short * 5 / 4, Idle: short})
		if wrong == nil {
			return
		}
		if short > 10*time.Second {
			t.Fatal(wrong)
		}
	}
}

func slowClients(t *testing.T, timeouts gateway.Timeouts) (wrong error) {
	t.Helper()
	to := &way{}
	address, stop := serve(t, handler(t, all(to)), timeouts)
	defer stop()
	for why, sent := range map[string]string{
		"nothing":       "",
		"half a header": "POST /log-http HTTP/1.1\r\nHost: x\r\n",
		"half a body":   "POST /log-http HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{\"log\":",
		"one, then nothing": fmt.Sprintf("POST /log-http HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
			len(fine), fine),
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, sent)
		told, err := io.ReadAll(conn) // returns once the server has closed
		_ = conn.Close()
		want := map[string]string{"half a body": " 400 ", "one, then nothing": " 202 "}[why]
		if !strings.Contains(string(told), want) {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %q, %v", why, told, err))
		}
	}
	if got := len(to.arrived()); got != 1 {
		wrong = errors.Join(wrong, fmt.Errorf("%d entries arrived, want 1", got))
	}
	return wrong
}

// A gateway that stops finishes what it is answering, and takes nothing new; what
// lasts longer than it may is cut, and the path's context ends.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		drain time.Duration
		free  bool // the path, before the drain is over
	}{{"in time", time.Minute, true}, {"cut", time.Millisecond, false}} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			in, out, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			to := &way{log: func(ctx context.Context, _ logging.Entry) error {
				close(in)
				select {
				case <-out:
				case <-ctx.Done():
				}
				ended <- ctx.Err()
				return ctx.Err()
			}}
			address, stop := serve(t, handler(t, all(to)), gateway.Timeouts{Drain: c.drain})
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = fmt.Fprintf(conn, "POST /log-http HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(fine),
				fine)
			<-in
			stopped := make(chan struct{})
			go func() { stop(); close(stopped) }()
			if c.free {
				for { // until it is stopping
					late, err := net.Dial("tcp", address)
					if err != nil {
						break
					}
					_ = late.Close()
				}
				close(out)
			}
			err = <-ended
			line, _ := bufio.NewReader(conn).ReadString('\n')
			<-stopped
			if c.free && (err != nil || line != "HTTP/1.1 202 Accepted\r\n") {
				t.Errorf("the path ended with %v, the reply is %q", err, line)
			}
			if !c.free && err == nil {
				t.Error("the path was not told to end")
			}
			if late, err := net.Dial("tcp", address); err == nil {
				_ = late.Close()
				t.Error("it still takes connections")
			}
		})
	}
}

// TestListenerFails checks that the failure of a listener is returned (ms-D21).
func TestListenerFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := gateway.Serve(t.Context(), l, http.NotFoundHandler(), gateway.Timeouts{}); err == nil {
		t.Error("no error")
	}
}
