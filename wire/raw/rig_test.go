package raw_test

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/wire/raw"
	"wirelab/workload/routeguide/bind"
)

// rigTime bounds a test's calls: far more than they take.
const rigTime = 5 * time.Minute

// serving is a running server.
type serving struct {
	address string
	roots   *x509.CertPool
	stop    func() error // may be called twice
}

func (s serving) dialing(connections int) wirelab.Dialing {
	return wirelab.Dialing{Address: s.address, Roots: s.roots, Connections: connections}
}

// start serves on loopback until the test ends, or stop. address "" is a free port.
func start(t testing.TB, secure bool, address string, serve func(context.Context, wirelab.Endpoint) error) serving {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := serving{address: listener.Addr().String()}
	at := wirelab.Endpoint{Listener: listener, Drain: time.Second}
	if secure {
		certificate, pem, err := certs.Issue("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		if s.roots, err = certs.Trust(pem); err != nil {
			t.Fatal(err)
		}
		at.Certificate = &certificate
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, at) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// cells are those with a raw driver, one for each server, and one whose
// server is the null responder.
func cells(t testing.TB) []wirelab.Cell {
	var all []wirelab.Cell
	known := map[string]bool{}
	for _, cell := range bind.Workload().Erase().Cells {
		key := cell.Protocol.Name + " " + cell.Server
		if cell.DialRaw == nil || known[key] {
			continue
		}
		known[key] = true
		all = append(all, cell)
		if null := cell.Protocol.Name + " null"; cell.Null != nil && !known[null] {
			known[null] = true
			cell.Server, cell.Serve = "null", cell.Null
			all = append(all, cell)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d cells have a raw driver", len(all))
	}
	return all
}

// one returns a cell.
func one(t testing.TB, protocol, server string) wirelab.Cell {
	t.Helper()
	for _, cell := range cells(t) {
		if cell.Protocol.Name == protocol && cell.Server == server {
			return cell
		}
	}
	t.Fatalf("no cell %s of %s", protocol, server)
	return wirelab.Cell{}
}

// least is the server of a protocol that does the least.
func least(protocol string) string {
	if protocol == "raw-tcp" {
		return "net" // there is no null responder of it
	}
	return "null"
}

// operations of a cell that its raw driver carries.
func operations(cell wirelab.Cell) []string {
	var all []string
	for _, o := range bind.Workload().Operations {
		_, hole := cell.Holes[o.Name]
		_, rawHole := cell.RawHoles[o.Name]
		if !hole && !rawHole {
			all = append(all, o.Name)
		}
	}
	return all
}

// dial opens lines that close with the test.
func dial(t testing.TB, cell wirelab.Cell, to wirelab.Dialing, slots int, operation string) wirelab.Lines {
	t.Helper()
	lines, err := cell.DialRaw(context.Background(), to, slots, operation, "", 1)
	if err != nil {
		t.Fatalf("%s %s: %v", cell.Protocol.Name, operation, err)
	}
	t.Cleanup(func() {
		if err := lines.Close(); err != nil {
			t.Error(err)
		}
	})
	return lines
}

// outcome is how calls ended.
type outcome struct {
	right, mismatched, failed int
	first                     error // that is not right
}

func (o *outcome) count(err error) {
	if err == nil {
		o.right++
		return
	}
	var wrong *wirelab.Mismatch
	switch {
	case errors.As(err, &wrong):
		o.mismatched++
	default:
		o.failed++
	}
	if o.first == nil {
		o.first = err
	}
}

// loop makes calls in every slot until so many have ended.
func loop(t testing.TB, lines wirelab.Lines, calls int) outcome {
	t.Helper()
	var o outcome
	begun, over := 0, 0
	for slot := range min(lines.Slots(), calls) {
		lines.Begin(slot)
		begun++
	}
	ended := func(slot int, err error) {
		over++
		o.count(err)
		if begun < calls {
			begun++
			lines.Begin(slot)
		}
	}
	for limit := time.Now().Add(rigTime); over < calls; {
		if err := lines.Turn(100*time.Millisecond, ended); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %d calls are over after %v", over, calls, rigTime)
		}
	}
	return o
}

// nullOf is a null responder of HTTP/1.1 without a binding.
func nullOf(handler http.Handler, fresh ...string) func(context.Context, wirelab.Endpoint) error {
	serve := raw.Null(raw.Over{Version: raw.HTTP1}, func(h http.Handler) http.Handler { return h }, fresh...)
	return func(ctx context.Context, at wirelab.Endpoint) error { return serve(ctx, at, handler) }
}

func onlyHTTP1() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}
