package external_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
)

// rigTime bounds what a test waits for: far more than it takes.
const rigTime = time.Minute

// served is a server that runs until the test ends.
type served struct {
	address string
	ca      string // PEM; "" in the clear
}

// serve runs a cell's server.
func serve(t testing.TB, cell wirelab.Cell) served {
	t.Helper()
	var s served
	at := wirelab.Endpoint{Drain: time.Second}
	if cell.Protocol.Secure {
		certificate, pem, err := certs.Issue("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		at.Certificate, s.ca = &certificate, string(pem)
	}
	if cell.Protocol.Network == "udp" {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at.Packets, s.address = packets, packets.LocalAddr().String()
	} else {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		at.Listener, s.address = listener, listener.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cell.Serve(ctx, at) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s
}

// files are what descriptions of a test name.
type files map[string]string

// prepare prepares a description as the command does: gRPC is asked what it serves.
func (f files) prepare(text string, env ...string) (external.Prepared, []string, error) {
	d, err := external.Parse("shop.yaml", []byte(text))
	if err != nil {
		return external.Prepared{}, nil, err
	}
	return external.Prepare(context.Background(), d, external.Sources{
		Read: func(_ context.Context, name string) ([]byte, error) {
			if content, known := f[name]; known {
				return []byte(content), nil
			}
			return nil, wirelab.Errorf(wirelab.NotFound, "%s: no such file", name)
		},
		Getenv: func(name string) string {
			for _, e := range env {
				if value, ok := strings.CutPrefix(e, name+"="); ok {
					return value
				}
			}
			return ""
		},
		Schema: reflected,
	})
}

func reflected(ctx context.Context, w external.Wire, _ external.WireText) (*grpcschema.Schema, error) {
	to := wirelab.Dialing{Address: w.Address, Foreign: true}
	if err := w.Trust(&to); err != nil {
		return nil, err
	}
	conn, err := w.DialGRPC(to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return grpcschema.Reflect(ctx, conn, nil)
}

// prepared is a description that must be one.
func (f files) prepared(t testing.TB, text string, env ...string) external.Prepared {
	t.Helper()
	p, _, err := f.prepare(text, env...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// target is how the only wire of a service is reached.
func target(p external.Prepared) wirelab.Dialing {
	return wirelab.Dialing{Address: p.Wires[0].Address, Foreign: true}
}

// called makes calls by the library, one after the other, and returns their errors.
func called(t testing.TB, p external.Prepared, operation string, calls int) []error {
	t.Helper()
	cell, err := p.Cell(p.Wires[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), rigTime)
	defer cancel()
	client, err := cell.Dial(ctx, target(p))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	call, err := client.Caller(operation, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make([]error, calls)
	for i := range ended {
		ended[i] = call(ctx)
	}
	return ended
}

// driven is called, by the raw driver.
func driven(t testing.TB, p external.Prepared, operation string, calls int) []error {
	t.Helper()
	cell, err := p.Cell(p.Wires[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the raw driver is Linux's")
	}
	lines, err := cell.DialRaw(context.Background(), target(p), 1, operation, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lines.Close(); err != nil {
			t.Error(err)
		}
	}()
	var ended []error
	lines.Begin(0)
	for limit := time.Now().Add(rigTime); len(ended) < calls; {
		err := lines.Turn(100*time.Millisecond, func(slot int, err error) {
			if ended = append(ended, err); len(ended) < calls {
				lines.Begin(slot)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %d calls are over", len(ended), calls)
		}
	}
	return ended
}

// both are the ways to call.
func both() map[string]func(testing.TB, external.Prepared, string, int) []error {
	return map[string]func(testing.TB, external.Prepared, string, int) []error{"client": called, "raw": driven}
}

// wrong counts calls by how they ended.
func wrong(ended []error) (mismatched, failed int, first error) {
	for _, err := range ended {
		var m *wirelab.Mismatch
		switch {
		case err == nil:
			continue
		case errors.As(err, &m):
			mismatched++
		default:
			failed++
		}
		if first == nil {
			first = err
		}
	}
	return mismatched, failed, first
}

// website serves a handler in the clear until the test ends.
func website(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}
