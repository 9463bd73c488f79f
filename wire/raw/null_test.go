package raw_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wirelab"
	"wirelab/workload/routeguide/bind"
)

// The clients that a floor is measured with are the users' own: each works
// against the null responder, with every operation, many calls at once.
func TestNullServesEveryClient(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, cell := range bind.Workload().Erase().Cells {
		if cell.Null == nil || cell.Server == "connect-go" && strings.HasPrefix(cell.Protocol.Name, "grpc") {
			continue // the second server's clients are the first's
		}
		t.Run(cell.Protocol.Name+"/"+cell.Client, func(t *testing.T) {
			t.Parallel()
			server := start(t, cell.Protocol.Secure, "", cell.Null)
			const callers = 8
			client, err := cell.Dial(t.Context(), server.dialing(callers))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			for _, o := range bind.Workload().Operations {
				if _, hole := cell.Holes[o.Name]; hole {
					continue
				}
				var all sync.WaitGroup
				for seed := range uint64(callers) {
					all.Go(func() {
						call, err := client.Caller(o.Name, "", seed)
						if err != nil {
							t.Error(err)
							return
						}
						// told to the server in a field that varies
						ctx, cancel := context.WithTimeout(t.Context(), rigTime)
						defer cancel()
						for i := range 40 {
							if err := call(ctx); err != nil {
								t.Errorf("%s, call %d: %v", o.Name, i, err)
								return
							}
						}
					})
				}
				all.Wait()
			}
		})
	}
}

// A null responder obeys its endpoint: it closes it when it is stopped, with clients connected, and before it
// serves with what it cannot use.
func TestNullEndpoint(t *testing.T) {
	t.Parallel()
	cell := one(t, "http2-proto", "null")
	if err := cell.Serve(t.Context(), wirelab.Endpoint{}); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("without a listener: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if err := cell.Serve(t.Context(),
		wirelab.Endpoint{Listener: listener}); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("without a certificate: %v", err)
	}

	server := start(t, true, "", cell.Serve)
	lines := dial(t, cell, server.dialing(2), 4, "GetFeature")
	silent, err := net.Dial("tcp", server.address) // in the middle of its handshake
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	if o := loop(t, lines, 10); o.right != 10 {
		t.Errorf("%+v", o)
	}
	if err := server.stop(); err != nil { // which waits as long as the test may take
		t.Error(err)
	}
	if _, err := net.Dial("tcp", server.address); err == nil {
		t.Error("it still accepts")
	}
}

// Windows smaller than a reply hold it back, and the other replies on the
// connection arrive in between.
func TestNullKeepsWithinWindows(t *testing.T) {
	t.Parallel()
	cell := one(t, "h2c-json", "null")
	server := start(t, false, "", cell.Serve)
	conn, err := net.Dial("tcp", server.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(rigTime)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	const window = 100
	if err := framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window},
		http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}); err != nil {
		t.Fatal(err)
	}
	ask := func(stream uint32, path, body string) {
		var block strings.Builder
		e := hpack.NewEncoder(&block)
		for _, f := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":path", path},
			{":authority", "x"},
			{"content-type", "application/json"},
		} {
			if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}); err != nil {
				t.Error(err)
			}
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: stream, BlockFragment: []byte(block.String()), EndHeaders: true,
		}); err != nil {
			t.Error(err)
		}
		if err := framer.WriteData(stream, true, []byte(body)); err != nil {
			t.Error(err)
		}
	}
	everywhere := `{"lo":{"latitude":-900000000,"longitude":-1800000000},"hi":{"latitude":900000000,"longitude":1800000000}}`
	ask(1, "/v1/route.listFeatures", everywhere)
	ask(3, "/v1/route.getFeature", `{"latitude":1,"longitude":2}`)
	got := map[uint32]int{}
	ended := map[uint32]bool{}
	allowed := window
	for len(ended) < 2 {
		f, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("%v after %v, ended %v", err, got, ended)
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			got[f.StreamID] += len(f.Data())
			ended[f.StreamID] = f.StreamEnded() || ended[f.StreamID]
			if !ended[f.StreamID] {
				delete(ended, f.StreamID)
			}
			if f.StreamID != 1 {
				continue
			}
			if got[1] > allowed {
				t.Fatalf("%d bytes within a window of %d", got[1], allowed)
			}
			if got[1] == allowed && !ended[1] {
				allowed += 77
				if err := framer.WriteWindowUpdate(1, 77); err != nil {
					t.Fatal(err)
				}
				if err := framer.WriteWindowUpdate(0, 77); err != nil {
					t.Fatal(err)
				}
			}
		case *http2.GoAwayFrame:
			t.Fatalf("%v %s", f.ErrCode, f.DebugData())
		}
	}
	if got[1] < 1000 || got[3] == 0 {
		t.Errorf("replies of %v bytes", got)
	}
}

// Bytes that are no request end their own connection only.
func TestNullRefusesGarbage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ protocol, sent, why string }{
		{"http1-proto", "GET / HTTP/9.9\r\n\r\n", "is an unknown version"},
		{"http1-proto", "\x16\x03\x01\x00\xa5\x01\x00", "is TLS, and never a whole header"},
		{"http1-proto", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "has a length below 0"},
		{
			"http1-proto", "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
			"has two lengths",
		},
		{"http1-proto", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "has a chunk of no size"},
		{"http1-proto", "GET /" + strings.Repeat("x", 20<<10), "has no end"},
		{"grpc", "GET / HTTP/1.1\r\n\r\n", "is HTTP/1.1"},
		{"grpc", http2.ClientPreface + "\x00\x00\x00\x00\x00\x00\x00\x00\x01", "begins with DATA"},
		{"grpc", http2.ClientPreface + "\xff\xff\xff\x04\x00\x00\x00\x00\x00", "has a frame larger than is allowed"},
		{
			"grpc", http2.ClientPreface +
				"\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x05\x00\x00\x00\x01\xff",
			"names an entry that is in no table",
		},
		{"http2-proto", "GET / HTTP/1.1\r\n\r\n", "is no TLS"},
	} {
		t.Run(c.protocol+" "+c.why, func(t *testing.T) {
			t.Parallel()
			cell := one(t, c.protocol, "null")
			server := start(t, cell.Protocol.Secure, "", cell.Serve)
			lines := dial(t, cell, server.dialing(1), 1, "GetFeature")
			conn, err := net.Dial("tcp", server.address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, err := io.WriteString(conn, c.sent); err != nil {
				t.Fatal(err)
			}
			if c.why == "is TLS, and never a whole header" {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
			_ = conn.SetReadDeadline(time.Now().Add(rigTime))
			if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("the connection stays open: %v", err)
			}
			if o := loop(t, lines, 300); o.right != 300 {
				t.Errorf("another connection suffers: %+v", o)
			}
		})
	}
}

// What HTTP/1.1 allows a request to be: in pieces, chunked, several at once,
// the last of a connection, and with a word before its body.
func TestNullHTTP1(t *testing.T) {
	t.Parallel()
	cell := one(t, "http1-json", "null")
	server := start(t, false, "", cell.Serve)
	const body = `{"latitude":409146138,"longitude":-746188906}`
	head := "POST /v1/route.getFeature HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	sized := head + fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for _, c := range []struct {
		name, sent string
		replies    int
		piece      int
	}{
		{"whole", sized + "\r\n" + body, 1, 0},
		{"byte by byte", sized + "\r\n" + body, 1, 1},
		{"chunked", head + "Transfer-Encoding: chunked\r\n\r\n10;x=y\r\n" + body[:16] + "\r\n" + fmt.Sprintf("%x",
			len(body)-16) + "\r\n" + body[16:] + "\r\n0\r\nX-Tail: 1\r\n\r\n", 1, 0},
		{"chunked in pieces", head + "Transfer-Encoding: chunked\r\n\r\n10\r\n" + body[:16] + "\r\n" + fmt.Sprintf("%x",
			len(body)-16) + "\r\n" + body[16:] + "\r\n0\r\n\r\n", 1, 3},
		{"three at once", strings.Repeat(sized+"\r\n"+body, 3), 3, 0},
		{"last", sized + "Connection: close\r\n\r\n" + body + sized + "\r\n" + body, 1, 0},
		{"expects a word", sized + "Expect: 100-continue\r\n\r\n" + body, 1, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", server.address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(rigTime))
			for sent := c.sent; sent != ""; {
				n := len(sent)
				if c.piece > 0 {
					n = min(n, c.piece)
				}
				if _, err := io.WriteString(conn, sent[:n]); err != nil {
					t.Fatal(err)
				}
				sent = sent[n:]
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			got, err := io.ReadAll(conn)
			if err != nil && !strings.Contains(err.Error(), "reset") {
				t.Fatal(err)
			}
			if n := strings.Count(string(got), "Berkshire Valley"); n != c.replies || strings.Count(string(got),
				"HTTP/1.1 200 OK") != c.replies {
				t.Errorf("%d right replies, want %d:\n%s", n, c.replies, got)
			}
			if strings.Contains(c.name, "expects") && !strings.HasPrefix(string(got), "HTTP/1.1 100 Continue\r\n\r\n") {
				t.Errorf("no word before the body: %s", got)
			}
		})
	}
}

// Each request whose reply is remembered is asked once, and those of fresh
// paths each time.
func TestNullAsksOnce(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++ // one goroutine asks, and it has ended when this is read
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/panics" {
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprintf(w, "%s %s", r.URL.Path, body)
	})
	server := start(t, false, "", nullOf(handler, "/fresh"))
	client := http.Client{Transport: &http.Transport{Protocols: onlyHTTP1(), TLSClientConfig: &tls.Config{
		MinVersion: tls.VersionTLS13,
	}}}
	defer client.CloseIdleConnections()
	for range 5 {
		for _, path := range []string{"/kept", "/fresh", "/panics"} {
			reply, err := client.Post("http://"+server.address+path, "text/plain", strings.NewReader("hello"))
			if path == "/panics" {
				if err == nil {
					t.Error("a cut reply arrives")
					_ = reply.Body.Close()
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(reply.Body)
			_ = reply.Body.Close()
			if want := path + " hello"; string(got) != want || err != nil {
				t.Errorf("%q %v, want %q", got, err, want)
			}
		}
	}
	client.CloseIdleConnections()
	if err := server.stop(); err != nil {
		t.Fatal(err)
	}
	if asked["/kept"] != 1 || asked["/fresh"] != 5 || asked["/panics"] < 5 {
		t.Errorf("asked %v", asked)
	}
}
