package raw

import (
	"fmt"
	"strings"
	"testing"
)

var plain1 = Over{Version: HTTP1}

// What a reply of HTTP/1.1 may be is understood, in whatever pieces it comes.
func TestClientReadsHTTP1(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, reply string
		closes      bool // the connection ends after it
		eof         bool // by which the reply ends
	}{
		{"sized", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\none", false, false},
		{"without a reason", "HTTP/1.1 200\r\ncontent-type:text/plain\r\ncontent-length:\t3 \r\n\r\none", false, false},
		{"chunked", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n2 " +
			";a=b\r\nne\r\n0\r\n\r\n", false, false},
		{"chunked with trailers", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: " +
			"chunked\r\n\r\n3\r\none\r\n000\r\nA: b\r\nC: d\r\n\r\n", false, false},
		{
			"last", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: x, Close\r\nContent-Length: " +
				"3\r\n\r\none",
			true,
			false,
		},
		{"until the end", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\none", true, true},
		{"after interim replies", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" +
			"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\none", false, false},
	} {
		for _, piece := range []int{0, 1, 2, 5} {
			t.Run(fmt.Sprintf("%s/%d", c.name, piece), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, plain1, "one")
				for i := range 3 { // the second time its bytes are known
					b.begin(0, 0)
					if err := b.say([]byte(c.reply), piece); err != nil {
						t.Fatal(err)
					}
					if c.eof {
						b.client.closed()
					}
					if len(b.ends) != i+1 || b.ends[i] != "0: <nil>" {
						t.Fatalf("ends %q", b.ends)
					}
					if b.client.spent() != c.closes {
						t.Errorf("spent: %t", !c.closes)
					}
				}
			})
		}
	}
}

// A reply that has passed does not vouch for one that differs in any byte that
// the stub reads.
func TestClientComparesHTTP1(t *testing.T) {
	t.Parallel()
	const right = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: today\r\nContent-Length: 3\r\n\r\none"
	for _, c := range []struct {
		why, old, new string
		passes        bool
	}{
		{"the same", "", "", true},
		{"another day", "today", "later", true},
		{"another body", "one", "onx", false},
		{"a shorter body", "3\r\n\r\none", "2\r\n\r\non", false},
		{"a longer body", "3\r\n\r\none", "4\r\n\r\nones", false},
		{"no body", "3\r\n\r\none", "0\r\n\r\n", false},
		{"another status", "200 OK", "201 OK", false},
		{"another type", "text/plain", "text/other", false},
		{"an encoding", "Date", "Content-Encoding: gzip\r\nDate", true}, // this stub does not read it
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, plain1, "one")
			for i, reply := range []string{right, strings.Replace(right, c.old, c.new, 1), right} {
				b.begin(0, 0)
				if err := b.say([]byte(reply), 0); err != nil {
					t.Fatal(err)
				}
				if passed := b.ends[i] == "0: <nil>"; passed != (c.passes || i != 1) {
					t.Errorf("reply %d: %s", i, b.ends[i])
				}
			}
		})
	}
}

// Whatever is no reply ends the connection.
func TestClientRefusesHTTP1(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, reply string }{
		{"another version", "HTTP/1.0 200 OK\r\n\r\n"},
		{"no status", "HTTP/1.1 OK\r\n\r\n"},
		{"a status of letters", "HTTP/1.1 2x0 OK\r\n\r\n"},
		{"another protocol", "HTTP/1.1 101 Switching\r\n\r\n"},
		{"a line without a colon", "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n"},
		{"a name that is HTTP/2's", "HTTP/1.1 200 OK\r\n:status: 200\r\n\r\n"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"},
		{"a length below 0", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"},
		{"a length that is chunked too", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"an encoding without a request", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"},
		{"a chunk of no size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n"},
		{"a chunk below 0", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n"},
		{"a chunk longer than its size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"},
		{
			"a chunk size without end",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", 300),
		},
		{
			"trailers without end",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("a: b\r\n",
				5000),
		},
		{"a header without end", "HTTP/1.1 200 OK\r\n" + strings.Repeat("a: b\r\n", 5000)},
		{"interim replies without end", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100)},
		{"more than the reply", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 " +
			"200 OK\r\n"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, plain1, "one")
			b.begin(0, 0)
			if err := b.say([]byte(c.reply), 0); err == nil {
				t.Errorf("it is taken; ends %q", b.ends)
			}
		})
	}
	b := newBench(t, plain1, "one")
	if err := b.say([]byte("HTTP/1.1 408 Timeout\r\n\r\n"), 0); err == nil {
		t.Error("a reply without a request is taken")
	}
}
