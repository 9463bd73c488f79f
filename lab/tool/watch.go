package tool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"
)

// requestLimit is the maximum size of a request, in bytes.
const requestLimit = 16 << 20

// Watcher is a proxy between a client and a server of HTTP without TLS. It records the first requests. So a tool can
// repeat what the client of any protocol sends.
type Watcher struct {
	address string // of the server
	server  *http.Server
	at      net.Listener
	serving sync.WaitGroup

	most int        // requests to remember
	mu   sync.Mutex // guards seen
	seen []Request
}

// Watch starts a proxy for the server at an address. It records the first most requests.
func Watch(address string, most int) (*Watcher, error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Watcher{address: address, at: at, most: most}
	var both, second http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	second.SetUnencryptedHTTP2(true)
	overOne := &http.Transport{DisableCompression: true}
	overTwo := &http.Transport{Protocols: &second, DisableCompression: true}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // the client reports errors
	pass := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = ""
		},
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.ProtoMajor == 2 {
				return overTwo.RoundTrip(r)
			}
			return overOne.RoundTrip(r)
		}),
		FlushInterval: -1, ErrorLog: quiet,
	}
	w.server = &http.Server{
		Protocols: &both, ErrorLog: quiet, ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(reply http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(reply, r.Body, requestLimit))
			if err != nil {
				http.Error(reply, err.Error(), http.StatusBadRequest)
				return
			}
			w.saw(r, body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			pass.ServeHTTP(reply, r)
		}),
	}
	w.server.RegisterOnShutdown(func() {
		overOne.CloseIdleConnections()
		overTwo.CloseIdleConnections()
	})
	w.serving.Go(func() { _ = w.server.Serve(at) }) // it only returns when it is closed
	return w, nil
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Address is the address of the proxy.
func (w *Watcher) Address() string { return w.at.Addr().String() }

// saw records a request.
func (w *Watcher) saw(r *http.Request, body []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) >= w.most || r.Header.Get("Upgrade") != "" { // after an upgrade the connection is no longer HTTP
		return
	}
	kept := r.Header.Clone()
	// These headers belong to the client, or the tool sets them itself.
	for _, own := range []string{
		"User-Agent", "Accept-Encoding", "Grpc-Accept-Encoding", "Grpc-Timeout", "Content-Length", "Connection",
	} {
		kept.Del(own)
	}
	seen := Request{
		Method: r.Method, URL: "http://" + w.address + r.URL.RequestURI(), Header: kept, Body: body,
		HTTP2: r.ProtoMajor == 2,
	}
	if seen.GRPC() {
		seen.Schema = schema(r.URL.Path)
	}
	w.seen = append(w.seen, seen)
}

// Requests returns the recorded requests in their order.
func (w *Watcher) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// Close ends the proxy, after the calls through it have ended.
func (w *Watcher) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := w.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = w.server.Close() // connections that their client keeps open
	}
	w.serving.Wait()
	return err
}
