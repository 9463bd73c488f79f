package websocket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/wire/exchange"
	wire "wirelab/wire/websocket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

const patience = time.Minute

func echo() exchange.Operation[string, string] {
	text := exchange.Codec[string]{
		Append: func(b []byte, s string) ([]byte, error) { return append(b, s...), nil },
		Parse:  func(b []byte) (string, error) { return string(b), nil },
	}
	return exchange.Operation[string, string]{Number: 1, Request: text, Reply: text}
}

func start(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- wire.Serve(ctx, wirelab.Endpoint{Listener: listener, Drain: time.Second},
			echo().Unary(func(_ context.Context, req string) (string, error) { return req, nil }))
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
	return listener.Addr().String()
}

func dial(t *testing.T, address string, options *websocket.DialOptions) (*websocket.Conn, http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	options.HTTPClient = client
	//nolint:bodyclose // the body is the connection
	conn, response, err := websocket.Dial(ctx, "ws://"+address+"/", options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	return conn, response.Header
}

// A WebSocket client that is not ours is served, and never compressed.
func TestForeignClient(t *testing.T) {
	t.Parallel()
	conn, header := dial(t, start(t), &websocket.DialOptions{
		Subprotocols: []string{"other", wire.Subprotocol}, CompressionMode: websocket.CompressionContextTakeover,
	})
	if got := header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("negotiated %q, want no extension", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageBinary, []byte("\x01\x01\x00hi")); err != nil {
		t.Fatal(err)
	}
	if kind, got, err := conn.Read(ctx); err != nil || kind != websocket.MessageBinary || string(got) != "\x04hi" {
		t.Errorf("%v %q, %v", kind, got, err)
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Errorf("the server has no manners: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	address := start(t)
	cases := []struct {
		why          string
		subprotocols []string
		kind         websocket.MessageType
		message      string
		reply        string // before the end
		want         websocket.StatusCode
	}{
		{"no subprotocol", nil, websocket.MessageBinary, "\x01\x01\x00", "", websocket.StatusPolicyViolation},
		{
			"a text message",
			[]string{wire.Subprotocol},
			websocket.MessageText, "hi", "",
			websocket.StatusUnsupportedData,
		},
		{
			"a message above the limit",
			[]string{wire.Subprotocol},
			websocket.MessageBinary,
			strings.Repeat("x", exchange.MessageLimit+1), "", websocket.StatusMessageTooBig,
		},
		{
			"a malformed message",
			[]string{wire.Subprotocol},
			websocket.MessageBinary, "\x07",
			"\x05\x03malformed exchange: " +
				"message of kind 7", websocket.StatusNormalClosure,
		},
	}
	for _, k := range cases {
		t.Run(k.why, func(t *testing.T) {
			t.Parallel()
			conn, _ := dial(t, address, &websocket.DialOptions{Subprotocols: k.subprotocols})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_ = conn.Write(ctx, k.kind, []byte(k.message)) // the server may be gone before the end of it
			_, got, err := conn.Read(ctx)
			if k.reply != "" {
				if err != nil || string(got) != k.reply {
					t.Errorf("%q, %v", got, err)
				}
				_, _, err = conn.Read(ctx)
			}
			// One that is cut while the client still writes may be a reset.
			if status := websocket.CloseStatus(err); status != k.want && (err == nil || status != -1 ||
				k.want != websocket.StatusMessageTooBig) {
				t.Errorf("closed with %v (%v), want %v", status, err, k.want)
			}
		})
	}
}

func TestForeignPagesAndPathsAreRefused(t *testing.T) {
	t.Parallel()
	address := start(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, k := range []struct {
		why, path, origin string
		upgrade           bool
		want              int
	}{
		{"another path", "/other", "", true, http.StatusNotFound},
		{"no upgrade", "/", "", false, http.StatusUpgradeRequired},
		{"a page of another origin", "/", "https://elsewhere.example", true, http.StatusForbidden},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+k.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if k.upgrade {
			request.Header = http.Header{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"},
				"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Protocol": {wire.Subprotocol},
			}
		}
		if k.origin != "" {
			request.Header.Set("Origin", k.origin)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != k.want {
			t.Errorf("%s: status %d, want %d", k.why, response.StatusCode, k.want)
		}
	}
}

// A server that does not speak the subprotocol is not called.
func TestForeignServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		_, _, _ = conn.Read(r.Context())
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Close()
		<-served
	}()
	c := wire.Dial(wirelab.Dialing{Address: listener.Addr().String()})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := echo().Call(ctx, c, "x"); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}
}

// FuzzFrames sends bytes for frames after a proper upgrade: the server must
// hang up or answer, and live.
func FuzzFrames(f *testing.F) {
	address := start(f)
	for _, seed := range []string{
		"", "\x82\x85\x00\x00\x00\x00\x01\x01\x00hi", "\x82\x05\x01\x01\x00hi", "\x88\x80\x00\x00\x00\x00",
		"\x81\x81\x00\x00\x00\x00x", "\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",
		"\xf2\x80\x00\x00\x00\x00",
		"\x02\x81\x00\x00\x00\x00\x01\x80\x84\x00\x00\x00\x00\x01\x00hi",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "+
			"websocket\r\nSec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: %s\r\n\r\n%s", wire.Subprotocol,
			data)
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			return
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, "101") {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Fatal("the server does not hang up")
			}
		}
	})
}
