package external_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/workload/external"
	routeguide "wirelab/workload/routeguide/bind"
)

// pair is a certificate and its key as files have them.
func pair(t *testing.T, name string) (cert, key string) {
	t.Helper()
	both, _, err := certs.Issue(name)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(both.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	chain := ""
	for _, one := range both.Certificate {
		chain += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one}))
	}
	return chain, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestTLS checks custom authorities, client certificates and names, and the error messages for wrong ones.
func TestTLS(t *testing.T) {
	t.Parallel()
	server, ca, err := certs.Issue("shop.example")
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := certs.Issue("shop.example")
	if err != nil {
		t.Fatal(err)
	}
	cert, key := pair(t, "caller")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, len(r.TLS.PeerCertificates) > 0, r.TLS.ServerName, r.Proto)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAnyClientCert}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	f := files{"ca": string(ca), "other": string(other), "cert": cert, "key": key}
	for name, c := range map[string]struct{ tls, want string }{
		"all given": {"ca: ca, cert: cert, key: key, name: shop.example", ""},
		"insecure":  {"insecure: true, cert: cert, key: key", ""},
		"wrong CA": {
			"ca: other, cert: cert, key: key, name: shop.example",
			"certificate signed by unknown authority",
		},
		"wrong name": {"ca: ca, cert: cert, key: key, name: other.example", "not other.example"},
		// HTTP/1.1 says more: certificate required
		"no own cert": {"ca: ca, name: shop.example", "unavailable: 127.0.0.1:"},
	} {
		for _, version := range []string{"http1", "http2"} {
			for way, by := range both() {
				if way == "raw" && c.want != "" {
					continue // it says so when it dials
				}
				t.Run(name+"/"+version+"/"+way, func(t *testing.T) {
					t.Parallel()
					text := strings.Replace(one(s.URL, "path: /", ""), "{target",
						"{version: "+version+", tls: {"+c.tls+"}, target", 1)
					for _, err := range by(t, f.prepared(t, text), "op", 2) {
						if c.want == "" && err != nil ||
							c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
							t.Errorf("%v, want %q", err, c.want)
						}
					}
				})
			}
		}
	}
	for _, c := range []struct{ tls, want string }{
		{"ca: key", "there is no certificate in it"},
		{"cert: cert", "give both cert and key"},
		{"cert: ca, key: key", "do not belong together"},
	} {
		text := strings.Replace(one(s.URL, "path: /", ""), "{target", "{tls: {"+c.tls+"}, target", 1)
		if _, _, err := f.prepare(text); err == nil || !strings.Contains(err.Error(), "wires.w.tls: ") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.tls, err)
		}
	}
}

// Cookies are a caller's own.
func TestCookies(t *testing.T) {
	t.Parallel()
	var callers atomic.Int64
	url := website(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("who"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "who", Value: fmt.Sprint(callers.Add(1))})
		}
	})
	p := files{}.prepared(t, strings.Replace(one(url, "path: /", ""), "{target", "{cookies: true, target", 1))
	for range 3 {
		if _, _, err := wrong(called(t, p, "op", 4)); err != nil {
			t.Fatal(err)
		}
	}
	if n := callers.Load(); n != 3 {
		t.Errorf("%d callers were told apart, want 3", n)
	}
	if p.RawWhy("op", "w") == "" {
		t.Error("raw keeps no cookies")
	}
}

// A proxy of HTTP gets requests in the clear whole, and those over TLS through CONNECT.
func TestProxy(t *testing.T) {
	t.Parallel()
	plain := website(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "plain") })
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request,
	) {
		fmt.Fprint(w, "secure")
	}))
	t.Cleanup(secure.Close)
	var gets, connects atomic.Int64
	var tunnels sync.WaitGroup
	t.Cleanup(tunnels.Wait)
	proxy := website(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			gets.Add(1)
			(&httputil.ReverseProxy{
				Rewrite: func(*httputil.ProxyRequest) {}, Transport: &http.Transport{DisableKeepAlives: true},
			}).ServeHTTP(w, r)
			return
		}
		connects.Add(1)
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			t.Error(err)
			return
		}
		w.WriteHeader(http.StatusOK)
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		tunnels.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
		tunnels.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
	})
	for _, url := range []string{plain, secure.URL} {
		text := strings.Replace(one(url, "path: /", ""), "{target",
			"{proxy: '"+proxy+"', tls: {insecure: true}, target", 1)
		p := files{}.prepared(t, text)
		if _, _, err := wrong(called(t, p, "op", 3)); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if p.RawWhy("op", "w") == "" {
			t.Error("raw goes through no proxy")
		}
	}
	if gets.Load() != 3 || connects.Load() != 1 {
		t.Errorf("the proxy got %d requests and %d CONNECT", gets.Load(), connects.Load())
	}
	for _, c := range []struct{ wire, want string }{
		{"proxy: 'socks5://localhost:1080', target: 'http://shop'", "wires.w.proxy"},
		{"proxy: 'localhost:8080', target: 'http://shop'", "wires.w.proxy"},
		{"proxy: 'http://a:b@localhost:8080', target: 'http://shop'", "wires.w.proxy"},
		{"proxy: 'http://localhost:8080', target: 'grpc://shop'", "wires.w.proxy"},
		{"proxy: 'http://localhost:8080', target: 'ws://shop'", "wires.w.proxy"},
		{"proxy: 'http://localhost:8080', version: http3, target: 'https://shop'", "wires.w.proxy"},
		{"unix: /tmp/s, version: http3, target: 'https://shop'", "wires.w.unix"},
		{"unix: /tmp/s, proxy: 'http://localhost:8080', target: 'http://shop'", "wires.w.unix"},
	} {
		text := "service: shop\nwires: {w: {" + c.wire + "}}\noperations: {op: {calls: {w: {}}}}\n"
		if _, err := external.Parse("shop.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.wire, err)
		}
	}
}

// A socket in the file system, with HTTP and gRPC; IPv6; and what requests name as their host.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, network, address, target, host string }{
		{"unix", "unix", "", "http://shop.example", "shop.example"},
		{"IPv6", "tcp", "[::1]:0", "", ""},
		{"name", "tcp", "127.0.0.1:0", "", ""},
	} {
		for way, by := range both() {
			t.Run(c.name+"/"+way, func(t *testing.T) {
				t.Parallel()
				address, socket := c.address, ""
				if c.network == "unix" {
					address = filepath.Join(t.TempDir(), "s")
					socket = "unix: " + address + ", "
				}
				l, err := net.Listen(c.network, address)
				if err != nil && c.name == "IPv6" {
					t.Skip(err)
				}
				if err != nil {
					t.Fatal(err)
				}
				to, host := c.target, c.host
				if to == "" {
					host = strings.Replace(l.Addr().String(), "127.0.0.1", "localhost", 1)
					to = "http://" + host
				}
				s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Host != host {
						http.Error(w, r.Host, http.StatusMisdirectedRequest)
					}
				}))
				_ = s.Listener.Close()
				s.Listener = l
				s.Start()
				t.Cleanup(s.Close)
				p := files{}.prepared(t, strings.Replace(one(to, "path: /", ""), "{target", "{"+socket+"target", 1))
				if why := p.RawWhy("op", "w"); way == "raw" && why != "" {
					t.Skip(why)
				}
				if _, _, err := wrong(by(t, p, "op", 3)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	cell, _ := cellOf(routeguide.Workload().Erase(), "grpc")
	socket := filepath.Join(t.TempDir(), "g")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cell.Serve(ctx, wirelab.Endpoint{Listener: l}) }()
	p := files{}.prepared(t, "service: guide\nwires: {w: {target: 'grpc://guide', unix: "+socket+"}}\n"+
		"operations: {op: {calls: {w: {call: routeguide.RouteGuide/GetFeature, message: {latitude: 1}}}}}\n")
	if _, _, err := wrong(called(t, p, "op", 3)); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Metadata of gRPC reaches the server, over the library and raw.
func TestMetadata(t *testing.T) {
	t.Parallel()
	cell, _ := cellOf(routeguide.Workload().Erase(), "grpc")
	server := serve(t, cell)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	over := &http.Transport{Protocols: protocols}
	t.Cleanup(over.CloseIdleConnections)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server.address})
	proxy.Transport, proxy.FlushInterval = over, -1
	var seen atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/GetFeature") && r.Header.Get("X-Shop") == "a" &&
			r.Header.Get("Authorization") == "Bearer s3cret" {
			seen.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	s.Config.Protocols = protocols
	s.Start()
	t.Cleanup(s.Close)
	p := files{}.prepared(t, "service: guide\nwires: {w: {target: '"+strings.Replace(s.URL, "http", "grpc",
		1)+"', headers: {Authorization: 'Bearer ${TOKEN}'}}}\n"+
		"operations: {op: {calls: {w: {call: routeguide.RouteGuide/GetFeature, message: {latitude: 1}, headers: "+
		"{X-Shop: "+
		"a}}}}}\n", "TOKEN=s3cret")
	for way, by := range both() {
		seen.Store(0)
		if _, _, err := wrong(by(t, p, "op", 3)); err != nil || seen.Load() != 3 {
			t.Errorf("%s: %d of 3 had the metadata: %v", way, seen.Load(), err)
		}
	}
}

// A server of HTTP/1.0, which closes each connection: the library calls it, and the reply says so.
func TestHTTP10(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello")
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	p := files{}.prepared(t, one("http://"+l.Addr().String(), "path: /", ""))
	if _, _, err := wrong(called(t, p, "op", 4)); err != nil {
		t.Error(err)
	}
}

// A WebSocket that the server closes, and a stream of events that ends early, fail their calls with what happened.
func TestStreamsThatEnd(t *testing.T) {
	t.Parallel()
	socket := website(t, func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		for n := 0; ; n++ {
			_, said, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			if n == 2 {
				_ = conn.Close(websocket.StatusGoingAway, "")
				return
			}
			if conn.Write(r.Context(), websocket.MessageText, said) != nil {
				return
			}
		}
	})
	p := files{}.prepared(t, one(strings.Replace(socket, "http", "ws", 1), "path: /, send: [hello]", ""))
	ended := called(t, p, "op", 6) // 2 right, 1 closed, and again
	for i, err := range ended {
		if closed := err != nil && strings.Contains(err.Error(),
			"the server closed the WebSocket: StatusGoingAway"); closed != (i%3 == 2) || !closed && err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	events := website(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: 1\n\ndata: 2\n\n")
	})
	text := one(strings.Replace(events, "http", "sse", 1), "path: /, messages: 2", "")
	if _, _, err := wrong(called(t, files{}.prepared(t, text), "op", 3)); err != nil {
		t.Error(err)
	}
	ended = called(t, files{}.prepared(t, strings.Replace(text, "messages: 2", "messages: 3", 1)), "op", 1)
	if ended[0] == nil || wirelab.CauseOf(ended[0]) != wirelab.Closed ||
		!strings.Contains(ended[0].Error(), "the stream ended after 2 of 3 events") {
		t.Error(ended[0])
	}
}
