package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/pipeline/gateway"
	"wirelab/pipeline/journal"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// way is a path of a test: it keeps what it is given.
type way struct {
	log   func(ctx context.Context, e logging.Entry) error // nil: all is well
	check error
	never bool // confirmed

	mu      sync.Mutex // guards all below
	entries []logging.Entry
}

func (p *way) Log(ctx context.Context, e logging.Entry) (path.Receipt, error) {
	now := time.Now()
	p.mu.Lock()
	p.entries = append(p.entries, e)
	p.mu.Unlock()
	if p.log != nil {
		if err := p.log(ctx, e); err != nil {
			return path.Receipt{ID: e.ID, Written: now}, err
		}
	}
	receipt := path.Receipt{ID: e.ID, Written: now, Confirmed: now}
	if p.never {
		receipt.Confirmed = time.Time{}
	}
	return receipt, nil
}

func (p *way) Check(context.Context) error { return p.check }
func (p *way) Close() error                { return nil }

func (p *way) arrived() []logging.Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]logging.Entry(nil), p.entries...)
}

// all are gateway options with a path behind every route but the last.
func all(to *way) gateway.Options {
	o := gateway.Options{Paths: map[string]path.Path{}, Journal: journal.New(100)}
	known := gateway.Known()
	for _, name := range known[:len(known)-1] {
		o.Paths[name] = to
	}
	o.Absent = map[string]string{known[len(known)-1]: "no broker was found"}
	return o
}

func handler(t testing.TB, o gateway.Options) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// reply is what a gateway answered.
type reply struct {
	status int
	header http.Header
	body   string
	told   envelope
}

type envelope struct {
	Error   bool   `json:"error"`
	Message string `json:"message"`
	Data    struct {
		ID   string `json:"id"`
		Code string `json:"code"`
	} `json:"data"`
}

// ask sends a request, and wants an envelope for a reply.
func ask(t testing.TB, g http.Handler, method, address, body string, header http.Header) reply {
	t.Helper()
	r := httptest.NewRequest(method, address, strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	got := reply{status: w.Code, header: w.Header(), body: w.Body.String()}
	decoder := json.NewDecoder(strings.NewReader(got.body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got.told); err != nil {
		t.Fatalf("%s %s: %d %q is no envelope: %v", method, address, got.status, got.body, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("%s %s: %q is more than an envelope", method, address, got.body)
	}
	if got.header.Get("Content-Type") != "application/json" ||
		got.header.Get("X-Request-Id") == "" && got.status != http.StatusOK {
		t.Fatalf("%s %s: header %v", method, address, got.header)
	}
	return got
}

// posts are the addresses that take an entry.
func posts() []string {
	all := []string{"/handle"}
	for _, name := range gateway.Known() {
		all = append(all, "/"+name)
	}
	return all
}
