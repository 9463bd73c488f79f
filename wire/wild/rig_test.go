package wild_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/workload/routeguide/bind"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// deadline is what each call gets: far more than one takes that does not hang.
const deadline = 30 * time.Second

// reply is what the server behind says.
type reply struct {
	status          int
	header, trailer http.Header
	body            []byte
}

// answers gives the right reply to a request.
type answers func(method, path string, header http.Header, body []byte) (reply, error)

// behind starts the server of a cell, to answer rightly.
func behind(t *testing.T, cell wirelab.Cell) answers {
	t.Helper()
	address := started(t, cell)
	p := new(http.Protocols)
	p.SetHTTP1(cell.Protocol.Transport == "HTTP/1.1")
	p.SetUnencryptedHTTP2(!p.HTTP1())
	transport := &http.Transport{Protocols: p, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return func(method, path string, header http.Header, body []byte) (r reply, err error) {
		ask, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, bytes.NewReader(body))
		if err != nil {
			return r, err
		}
		ask.Header = header
		got, err := transport.RoundTrip(ask)
		if err != nil {
			return r, err
		}
		defer got.Body.Close()
		r.status, r.header = got.StatusCode, got.Header
		r.body, err = io.ReadAll(got.Body)
		r.trailer = got.Trailer
		return r, err
	}
}

// started serves a cell until the test ends, and returns its address.
func started(t *testing.T, cell wirelab.Cell) string {
	t.Helper()
	listener := listen(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cell.Serve(ctx, wirelab.Endpoint{Listener: listener, Drain: time.Second}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// listen listens on a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// front serves connections until the test ends, and returns its address.
func front(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener := listen(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			all.Go(func() {
				serve(conn)
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return listener.Addr().String()
}

// driven is what drives a cell.
type driven struct {
	name string
	cell wirelab.Cell
	raw  bool
	root *x509.CertPool // of a server over TLS
	// foreign and secured are as in [wirelab.Dialing].
	foreign bool
	secured func(tls.ConnectionState)
}

// drivers are those of protocols: every library's client, and the raw driver.
func drivers(t *testing.T, protocols ...string) (all []driven) {
	t.Helper()
	seen := map[string]bool{}
	for _, protocol := range protocols {
		for _, cell := range bind.Workload().Erase().Cells {
			name := protocol + " by " + cell.Client
			if cell.Protocol.Name != protocol || seen[name] {
				continue
			}
			seen[name] = true
			all = append(all, driven{name: name, cell: cell})
			if raw := protocol + " by raw"; cell.DialRaw != nil && !seen[raw] {
				seen[raw] = true
				all = append(all, driven{name: raw, cell: cell, raw: true})
			}
		}
	}
	if len(all) < 2*len(protocols) {
		t.Fatalf("%d drivers of %d protocols", len(all), len(protocols))
	}
	return all
}

// drive makes calls, so many of them at once, and returns the errors of those that are not
// right.
func (d driven) drive(t *testing.T, address string, calls, atOnce int) []error {
	t.Helper()
	var met atomic.Value
	to := wirelab.Dialing{
		Address: address, Connections: 1, Roots: d.root, Foreign: d.foreign, Secured: d.secured,
		Met: func(at net.Addr) { met.Store(at.String()) },
	}
	defer func() {
		if at := met.Load(); at != address {
			t.Errorf("the driver told that it reached %v, and it reached %s", at, address)
		}
	}()
	if !d.cell.Protocol.Multiplexed {
		to.Connections = atOnce
	}
	if d.raw {
		return driveRaw(t, d.cell, to, calls, atOnce)
	}
	client, err := d.cell.Dial(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for i := range atOnce {
		call, err := client.Caller("GetFeature", "", uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range calls / atOnce {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				if err := call(ctx); err != nil {
					mu.Lock()
					failed = append(failed, err)
					mu.Unlock()
				}
				cancel()
			}
		})
	}
	all.Wait()
	return failed
}

// reach makes one call, and returns why it failed.
func (d driven) reach(t *testing.T, address string) error {
	t.Helper()
	if d.raw {
		to := wirelab.Dialing{Address: address, Roots: d.root, Foreign: d.foreign, Secured: d.secured}
		lines, err := d.cell.DialRaw(t.Context(), to, 1, "GetFeature", "", 1)
		if err != nil {
			return err
		}
		_ = lines.Close()
	}
	if failed := d.drive(t, address, 1, 1); len(failed) > 0 {
		return failed[0]
	}
	return nil
}

func driveRaw(t *testing.T, cell wirelab.Cell, to wirelab.Dialing, calls, atOnce int) (failed []error) {
	t.Helper()
	lines, err := cell.DialRaw(t.Context(), to, atOnce, "GetFeature", "", 1)
	if errors.Is(err, errors.ErrUnsupported) || err != nil && wirelab.CodeOf(err) == wirelab.Unimplemented {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	begun, over, limit := 0, 0, time.Now().Add(deadline)
	begin := func(slot int) {
		if begun < calls {
			begun++
			lines.Begin(slot)
		}
	}
	for slot := range atOnce {
		begin(slot)
	}
	for over < begun {
		err := lines.Turn(50*time.Millisecond, func(slot int, err error) {
			over++
			if err != nil {
				failed = append(failed, err)
			}
			begin(slot)
		})
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			return append(failed, fmt.Errorf("%d of %d calls are over", over, begun))
		}
	}
	return failed
}

// want is how calls are to end: all of them rightly, but for those of which each error has
// a code and one of these texts in it.
type want struct {
	code  wirelab.Code
	or    *wirelab.Code // where drivers name it differently; nil: none
	texts []string
	some  bool // calls may end so, and need not; all must otherwise
}

func (w want) check(t *testing.T, calls int, failed []error) {
	t.Helper()
	if len(w.texts) == 0 && len(failed) > 0 || len(w.texts) > 0 && !w.some && len(failed) != calls {
		t.Errorf("%d of %d calls failed", len(failed), calls)
	}
	said := map[string]bool{}
	for _, err := range failed {
		code := wirelab.CodeOf(err)
		ok := (code == w.code || w.or != nil && code == *w.or) && contains(err.Error(), w.texts)
		if !ok && !said[err.Error()] && len(said) < 3 {
			said[err.Error()] = true
			t.Errorf("%v (want %v with one of %q)", err, w.code, w.texts)
		}
	}
}
