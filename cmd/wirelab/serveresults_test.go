package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab/cmd/internal/desk"
	"wirelab/results/store/storetest"
)

// signalled tells when something was written.
type signalled struct {
	mu    sync.Mutex // guards text
	text  bytes.Buffer
	wrote chan struct{}
}

func (w *signalled) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

func (w *signalled) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// It says where it is, shows what is stored, lets the token's bearer write, and
// stops when it is told to, without telling the token.
func TestServeResults(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.stored(2)
	const token = "0123456789abcdef0123"
	s.env["WIRELAB_TOKEN"] = token
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	out, notes := &signalled{wrote: make(chan struct{}, 1)}, &signalled{wrote: make(chan struct{}, 1)}
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"serve-results", "--json"}, strings.NewReader(""), out, notes,
			func(name string) string { return s.env[name] })
	}()
	select {
	case <-out.wrote:
	case c := <-code:
		t.Fatalf("ended with %d: %s", c, notes)
	}
	var said struct {
		Address, API string
		Writes       bool
	}
	if err := json.Unmarshal([]byte(out.String()), &said); err != nil || !said.Writes ||
		!strings.HasPrefix(said.API, said.Address) {
		t.Fatalf("%s: %v", out, err)
	}
	ask := func(method, path string) (int, string) {
		r, err := http.NewRequestWithContext(ctx, method, said.Address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		reply, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = reply.Body.Close() }()
		text, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return reply.StatusCode, string(text)
	}
	id := storetest.Sample(0).ID
	if status, text := ask("GET", ""); status != 200 || !strings.Contains(text, id) {
		t.Errorf("the page: %d", status)
	}
	if status, _ := ask("GET", "results/"+id); status != 200 {
		t.Errorf("a report: %d", status)
	}
	if status, _ := ask("DELETE", "api/v1/results/"+id); status != 204 {
		t.Errorf("delete: %d", status)
	}
	stop()
	if c := <-code; c != desk.ExitOK {
		t.Errorf("exit code %d: %s", c, notes)
	}
	if strings.Contains(out.String()+notes.String(), token) {
		t.Errorf("the token is printed: %s", notes)
	}
	s.env["WIRELAB_TOKEN"] = ""
	s.run("serve-results", "--token", "short").wants(t, desk.ExitUsage, nil, []string{"16 or more"})
	s.run("serve-results", "--addr", "nowhere").wants(t, desk.ExitUsage, nil, []string{"HOST:PORT"})
	s.run("serve-results", "--addr", "127.0.0.1:999999").wants(t, desk.ExitUsage, nil, []string{"HOST:PORT"})
	s.run("serve-results", "more").wants(t, desk.ExitUsage, nil, []string{"no arguments"})
}
