package path_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/rpc"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/pipeline/path"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/httprpc"
	"wirelab/wire/netrpc"
	"wirelab/workload/logging"
	"wirelab/workload/logging/gen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// logger is the logger behind the listeners of a test: it keeps what arrives.
type logger struct {
	gen.UnimplementedLogServiceServer
	write func(ctx context.Context, e logging.Entry) error // nil: all is well

	mu       sync.Mutex // guards all below
	entries  []logging.Entry
	requests []string        // their ids, "" for none
	left     []time.Duration // that the callers had, 0 for no deadline
}

func (l *logger) WriteEntry(ctx context.Context, e logging.Entry, request string) (logging.Written, error) {
	left := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	l.mu.Lock()
	l.entries = append(l.entries, e)
	l.requests = append(l.requests, request)
	l.left = append(l.left, left)
	l.mu.Unlock()
	if l.write != nil {
		if err := l.write(ctx, e); err != nil {
			return logging.Written{}, err
		}
	}
	return logging.Written{ID: e.ID}, nil
}

func (l *logger) arrived() []logging.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]logging.Entry(nil), l.entries...)
}

// WriteLog implements the gRPC service.
func (l *logger) WriteLog(ctx context.Context, r *gen.LogRequest) (*gen.LogResponse, error) {
	request := ""
	if ids := metadata.ValueFromIncomingContext(ctx, "x-request-id"); len(ids) > 0 {
		request = ids[0]
	}
	e := logging.Entry{ID: r.GetLogEntry().GetId(), Name: r.GetLogEntry().GetName(), Data: r.GetLogEntry().GetData()}
	written, err := l.WriteEntry(ctx, e, request)
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return &gen.LogResponse{Result: "logged!", Id: written.ID}, nil
}

// ServeHTTP implements the HTTP API.
func (l *logger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet && r.URL.Path == "/health" {
		return
	}
	var e struct{ ID, Name, Data string }
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil || r.Method != http.MethodPost || r.URL.Path != "/log" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	ctx := r.Context()
	if text := r.Header.Get("Call-Timeout-Ms"); text != "" {
		left, err := time.ParseDuration(text + "ms")
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	written, err := l.WriteEntry(ctx, logging.Entry(e), r.Header.Get("X-Request-Id"))
	if err != nil {
		// The code has to be in the body, but for the published client, which
		// closes it unread, in the status too, where the logger gives up first.
		status := http.StatusInternalServerError
		if wirelab.CodeOf(err) == wirelab.DeadlineExceeded {
			status = http.StatusGatewayTimeout
		}
		w.WriteHeader(status)
		_, _ = w.Write(httprpc.EncodeError(err))
		return
	}
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"error": false, "message": "logged",
		"data": map[string]string{"id": written.ID},
	})
}

// house is our net/rpc service.
type house struct{ l *logger }

func (h *house) WriteLog(req *netrpc.Request[logging.Entry], rep *netrpc.Reply[logging.Written]) error {
	return netrpc.Answer(req, rep, func(ctx context.Context, e logging.Entry) (logging.Written, error) {
		return h.l.WriteEntry(ctx, e, "")
	})
}

// published is the published net/rpc service, as the standard library serves it.
type published struct{ l *logger }

// Payload has no ID, as the published one has none.
type Payload struct{ Name, Data string }

func (p *published) LogInfo(args Payload, said *string) error {
	_, err := p.l.WriteEntry(context.Background(), logging.Entry{Name: args.Name, Data: args.Data}, "")
	*said = "logged " + args.Name
	return err
}

// counted counts the connections that a listener takes.
type counted struct {
	net.Listener
	taken atomic.Int32

	mu    sync.Mutex // guards all below
	conns []net.Conn
}

// cut closes the connections as they are.
func (c *counted) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.taken.Add(1)
		c.mu.Lock()
		c.conns = append(c.conns, conn)
		c.mu.Unlock()
	}
	return conn, err
}

func listen(t *testing.T, address string) *counted {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return &counted{Listener: l}
}

// endpoint is a kind of listener of a logger.
type endpoint struct {
	name string
	open func(t *testing.T, l *logger, at *counted) (shut func())
	way  func(t *testing.T, address string, o path.Options) path.Path
}

func openHTTP(_ *testing.T, l *logger, at *counted) func() {
	server := &httptest.Server{Listener: at, Config: &http.Server{Handler: l}}
	server.Start()
	return func() {
		server.CloseClientConnections()
		server.Close()
	}
}

func openGRPC(_ *testing.T, l *logger, at *counted) func() {
	server := grpc.NewServer()
	gen.RegisterLogServiceServer(server, l)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(at) })
	return func() {
		server.Stop()
		wg.Wait()
	}
}

func openRPC(t *testing.T, l *logger, at *counted) func() {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := netrpc.Serve(ctx, wirelab.Endpoint{Listener: at, Drain: time.Millisecond}, "Logging",
			&house{l}); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

func openPublishedRPC(t *testing.T, l *logger, at *counted) func() {
	server := rpc.NewServer()
	if err := server.RegisterName("RPCServer", &published{l}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { server.ServeConn(conn) })
		}
	})
	return func() {
		_ = at.Close()
		wg.Wait()
	}
}

// endpoints returns the kinds that take calls; a queue needs no listener of the logger.
func endpoints() []endpoint {
	return []endpoint{
		{"http", openHTTP, func(_ *testing.T, a string, o path.Options) path.Path { return path.HTTP(a, o) }},
		{"grpc", openGRPC, func(t *testing.T, a string, o path.Options) path.Path {
			p, err := path.GRPC(a, o)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}},
		{"rpc", openRPC, func(_ *testing.T, a string, o path.Options) path.Path { return path.RPC(a, o) }},
	}
}

// start opens a listener and returns the path to it. Both are closed with the test.
func (d endpoint) start(t *testing.T, l *logger, o path.Options) (path.Path, *counted) {
	t.Helper()
	at := listen(t, "127.0.0.1:0")
	shut := d.open(t, l, at)
	p := d.way(t, at.Addr().String(), o)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		shut()
	})
	return p, at
}
