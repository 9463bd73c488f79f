package wild_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"wirelab"
)

// speech1 is how a server of HTTP/1.1 says its n-th reply on a connection, from 1 on; it
// reports whether it takes another request there.
type speech1 func(conn net.Conn, n int, r reply) bool

// usual is a reply as most servers say it, with more lines in its header.
func usual(r reply, more ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d Said\r\nContent-Type: %s\r\n", r.status, r.header.Get("Content-Type"))
	for _, line := range more {
		b.WriteString(line + "\r\n")
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(r.body), r.body)
	return b.Bytes()
}

func say(conn net.Conn, data []byte) { _, _ = conn.Write(data) } // who does not listen is gone

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// reset ends a connection without a word.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

const closes = "the server closed the connection"

// behaviours1 are those of HTTP/1.1.
var behaviours1 = []struct {
	name string
	say  speech1
	want want // of every driver, but for
	lib  want // that of libraries' clients, where it differs
}{
	{name: "plain", say: func(c net.Conn, _ int, r reply) bool { say(c, usual(r)); return true }},
	{name: "closes after three, and says so", say: func(c net.Conn, n int, r reply) bool {
		if n < 3 {
			say(c, usual(r))
			return true
		}
		say(c, usual(r, "Connection: close"))
		return false
	}},
	{
		name: "closes after three", say: func(c net.Conn, n int, r reply) bool { say(c, usual(r)); return n < 3 },
		// net/http does not know whether a POST may be sent again.
		lib: want{code: wirelab.Unavailable, texts: []string{
			closes, "server closed idle connection", "connection reset", "broken pipe",
		}, some: true},
	},
	{name: "closes after each, and says so", say: func(c net.Conn, _ int, r reply) bool {
		say(c, usual(r, "Connection: close"))
		return false
	}},
	{name: "until the end", say: func(c net.Conn, _ int, r reply) bool {
		say(c, fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n%s", r.header.Get("Content-Type"), r.body))
		return false
	}},
	{name: "interim replies", say: func(c net.Conn, _ int, r reply) bool {
		say(c, append([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
			usual(r)...))
		return true
	}},
	{name: "byte by byte", say: func(c net.Conn, _ int, r reply) bool {
		for _, b := range usual(r) {
			say(c, []byte{b})
		}
		return true
	}},
	{name: "chunks", say: func(c net.Conn, _ int, r reply) bool {
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n",
			r.header.Get("Content-Type"))
		say(c, fmt.Appendf(nil, "%s1;x=y\r\n%s\r\n%x\r\n%s\r\n0\r\nX: y\r\n\r\n", head, r.body[:1], len(r.body)-1,
			r.body[1:]))
		return true
	}},
	{name: "bare line feeds", say: func(c net.Conn, _ int, r reply) bool {
		head, body, _ := bytes.Cut(usual(r), []byte("\r\n\r\n"))
		say(c, append(append(bytes.ReplaceAll(head, []byte("\r\n"), []byte("\n")), "\n\n"...), body...))
		return true
	}},
	{name: "folded", say: func(c net.Conn, _ int, r reply) bool {
		say(c, usual(r, "X-Long: a\r\n  b\r\n\tc"))
		return true
	}},
	{
		name: "gzip", say: func(c net.Conn, _ int, r reply) bool {
			r.body = gzipped(r.body)
			say(c, usual(r, "Content-Encoding: gzip"))
			return true
		},
		want: want{code: wirelab.Unimplemented, texts: []string{"gzip"}},
	},
	{
		name: "gzip, and does not say so", say: func(c net.Conn, _ int, r reply) bool {
			r.body = gzipped(r.body)
			say(c, usual(r))
			return true
		},
		want: want{code: wirelab.Internal, texts: []string{"compressed by gzip"}},
	},
	{
		name: "elsewhere", say: func(c net.Conn, _ int, r reply) bool {
			r.status, r.body = http.StatusTemporaryRedirect, nil
			say(c, usual(r, "Location: http://other:1/x"))
			return true
		},
		want: want{code: wirelab.Unimplemented, texts: []string{`redirects to "http://other:1/x"`}},
	},
	{
		name: "a byte-order mark", say: func(c net.Conn, _ int, r reply) bool {
			r.body = append([]byte("\xef\xbb\xbf"), r.body...)
			say(c, usual(r))
			return true
		},
		want: want{code: wirelab.Internal, texts: []string{"byte-order mark"}},
	},
	{
		name: "half a reply", say: func(c net.Conn, _ int, r reply) bool {
			all := usual(r)
			say(c, all[:len(all)-5])
			return false
		},
		want: want{code: wirelab.Unavailable, texts: []string{closes, "unexpected EOF"}},
	},
	{
		name: "none, and resets", say: func(c net.Conn, _ int, _ reply) bool { reset(c); return false },
		want: want{code: wirelab.Unavailable, texts: []string{"reset"}},
	},
	{
		name: "none, and closes", say: func(net.Conn, int, reply) bool { return false },
		want: want{code: wirelab.Unavailable, texts: []string{closes, "EOF"}},
	},
}

// TestHTTP1 has every driver call every server of HTTP/1.1.
func TestHTTP1(t *testing.T) {
	t.Parallel()
	for _, d := range drivers(t, "http1-json") {
		right := behind(t, d.cell)
		for _, b := range behaviours1 {
			t.Run(d.name+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				address := front(t, func(conn net.Conn) { serve1(conn, right, b.say) })
				const calls, atOnce = 40, 4
				failed := d.drive(t, address, calls, atOnce)
				w := b.want
				if !d.raw && len(b.lib.texts) > 0 {
					w = b.lib
				}
				w.check(t, calls, failed)
			})
		}
	}
}

// serve1 serves a connection.
func serve1(conn net.Conn, right answers, how speech1) {
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		ask, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(ask.Body)
		if err != nil {
			return
		}
		r, err := right(ask.Method, ask.URL.RequestURI(), ask.Header, body)
		if err != nil || !how(conn, n, r) {
			return
		}
	}
}

func contains(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
