package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/porttest"
	"wirelab/lab/call"
)

// rude is a server that does the same to each connection.
func rude(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				do(conn)
			}()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-accepted
	})
	return listener.Addr().String()
}

// asked waits until something was sent.
func asked(c net.Conn) {
	_, _ = c.Read(make([]byte, 1))
}

// Whatever keeps a call from its answer is told by its own name, over every kind of client:
// one word for all of them ("unavailable") tells nobody where to look.
func TestCausesAreToldApart(t *testing.T) {
	t.Parallel()
	reset := rude(t, func(c net.Conn) {
		asked(c)
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	closing := rude(t, func(c net.Conn) {
		_, _ = bufio.NewReader(c).ReadByte()
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // else what is unread makes it a reset
	})
	mute := rude(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	status := rude(t, func(c net.Conn) {
		asked(c)
		_, _ = fmt.Fprint(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: "+
			"4\r\n\r\nbusy")
		_, _ = io.Copy(io.Discard, c)
	})
	noise := rude(t, func(c net.Conn) {
		asked(c)
		_, _ = fmt.Fprint(c, "\x00\x00\x00\x00 nonsense that no protocol has \r\n\r\n\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	closed := porttest.Refusing(t)
	protocols := []string{
		"http1-json", "http1-proto", "h2c-proto", "grpc", "connect", "raw-tcp", "graphql",
		"websocket",
	}
	for _, c := range []struct {
		name, at string
		want     wirelab.Cause
		of       []string
	}{
		{"refused", closed, wirelab.Refused, protocols},
		{"reset", reset, wirelab.Reset, protocols},
		{"closed", closing, wirelab.Closed, protocols},
		{"timed out", mute, wirelab.TimedOut, protocols},
		{"status", status, "status 503", []string{"http1-json", "http1-proto"}},
		{"protocol", noise, wirelab.BadProtocol, []string{"http1-json", "http1-proto", "raw-tcp"}},
		{"TLS", mute, wirelab.TimedOut, []string{"grpc-tls", "http2-proto"}},
		{"TLS", noise, wirelab.BadTLS, []string{"grpc-tls", "http2-proto"}},
		{"DNS", "nobody.invalid:80", wirelab.BadName, protocols},
	} {
		for _, protocol := range c.of {
			for _, raw := range []bool{false, true} {
				cell, err := newApp(cli.Terminal{}, nil, nil).Cell("routeguide", protocol, "", "")
				if err != nil {
					t.Fatal(err)
				}
				if raw && cell.DialRaw == nil {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%v", c.name, protocol, raw), func(t *testing.T) {
					t.Parallel()
					err := callOnce(t, cell, c.at, raw)
					if got := wirelab.CauseOf(err); got != c.want {
						t.Errorf("%q: %v", got, err)
					}
				})
			}
		}
	}
}

// callOnce makes one call that is to fail.
func callOnce(t *testing.T, cell wirelab.Cell, at string, raw bool) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	to := wirelab.Dialing{Address: at, Connections: 1}
	if !raw {
		_, _, err := call.Make(ctx, cell, to, "GetFeature", []byte(`{"latitude": 409146138, "longitude": -746188906}`))
		if err == nil {
			t.Fatal("it was answered")
		}
		return err
	}
	lines, err := cell.DialRaw(ctx, to, 1, "GetFeature", "", 1)
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }()
	lines.Begin(0)
	var answer error
	for over, given := false, false; !over; {
		if ctx.Err() != nil && !given {
			lines.Cancel(0, context.DeadlineExceeded)
			given = true
		}
		if err := lines.Turn(10*time.Millisecond, func(_ int, err error) { over, answer = true, err }); err != nil {
			return err
		}
	}
	if answer == nil {
		t.Fatal("it was answered")
	}
	return answer
}
