package raw

import (
	"io"
	"net/http"
	"testing"

	"golang.org/x/net/http2"
)

// heldMax is more than a connection may hold of what a few kilobytes of a
// peer's made it keep.
const heldMax = 64 << 20

// drive gives a client what a server may say, with calls under way, in pieces
// that the input chooses. Whatever it is, no call ends twice.
func drive(t *testing.T, over Over, hello, data []byte) {
	b := newBench(t, over, "one", "two")
	if hello != nil {
		if err := b.say(hello, 0); err != nil {
			t.Fatal(err)
		}
	}
	slots := 1
	if over.Version == HTTP2 {
		slots = 8
	}
	driveBench(t, b, slots, data)
}

// driveBench is drive for a client that is made, with calls in so many slots.
func driveBench(t *testing.T, b *bench, slots int, data []byte) {
	under := map[int]bool{}
	begin := func(slot int) {
		if !b.client.spent() && !under[slot] {
			under[slot] = true
			b.begin(slot, slot%2)
		}
	}
	for slot := range slots {
		begin(slot)
	}
	var rest []byte
	for len(data) > 1 {
		n := min(1+int(data[0])*3, len(data)-1)
		rest, data = append(rest, data[1:1+n]...), data[1+n:]
		taken, err := b.client.receive(rest)
		if err != nil {
			return
		}
		if rest = rest[taken:]; len(rest) > restMax {
			t.Fatalf("%d bytes are left for later", len(rest))
		}
		if out := b.client.output(); len(*out) > heldMax {
			t.Fatalf("%d bytes are to be sent", len(*out))
		}
		for _, c := range b.calls {
			if under[c.slot] && c.state == idle {
				under[c.slot] = false
				begin(c.slot)
			}
		}
		if len(data)%3 == 0 {
			*b.client.output() = nil
		}
	}
	b.client.closed()
}

func FuzzHTTP1(f *testing.F) {
	for _, reply := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\none",
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n",
		"HTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\none",
	} {
		f.Add(append([]byte{0xff}, reply...))
		f.Add(append([]byte{3}, reply...))
	}
	f.Fuzz(func(t *testing.T, data []byte) { drive(t, plain1, nil, data) })
}

func FuzzFrames(f *testing.F) {
	w := newFrames()
	hello := w.hello()
	for stream := uint32(1); stream < 8; stream += 2 {
		w.reply(stream, "one")
	}
	_ = w.WritePing(false, [8]byte{})
	_ = w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	_ = w.WriteWindowUpdate(9, 1)
	_ = w.WriteRSTStream(11, http2.ErrCodeCancel)
	_ = w.WriteGoAway(13, http2.ErrCodeNo, nil)
	frames := w.take()
	f.Add(append([]byte{0xff}, frames...))
	f.Add(append([]byte{0}, frames...))
	_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x88}})
	_ = w.WriteContinuation(1, true, []byte{0x40, 1, 'a', 1, 'b', 0xbe})
	f.Add(append([]byte{0xff}, w.take()...))
	f.Fuzz(func(t *testing.T, data []byte) { drive(t, h2c, hello, data) })
}

// FuzzNull gives a null responder what a client may say, in both versions.
func FuzzNull(f *testing.F) {
	f.Add(true, []byte("\xffPOST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nonePOST /echo "+
		"HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"))
	w := newFrames()
	greeting := append([]byte(preface), w.hello()...)
	w.headers(1, false, ":method", "POST", ":path", "/echo", ":scheme", "http", "content-type", "text/plain")
	_ = w.WriteData(1, false, []byte("on"))
	_ = w.WriteData(1, true, []byte("e"))
	w.headers(3, true, ":method", "GET", ":path", "/echo", ":scheme", "http")
	_ = w.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	w.headers(5, true, ":method", "GET", ":path", "/large", ":scheme", "http")
	_ = w.WriteWindowUpdate(5, 10)
	_ = w.WriteRSTStream(5, http2.ErrCodeCancel)
	f.Add(false, append([]byte{0xff}, w.take()...))
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			_, _ = w.Write(make([]byte, 1<<20))
		}
		w.Header().Set("Trailer", "X-Tail")
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("X-Tail", "1")
	})
	f.Fuzz(func(t *testing.T, first bool, data []byte) {
		over := plain1
		if !first {
			over = h2c
		}
		s := newServer(over, newResponder(handler, over, []string{"/fresh"}), heads{})
		if !first {
			if _, err := s.receive(greeting); err != nil {
				t.Fatal(err)
			}
		}
		var rest []byte
		for len(data) > 1 && !s.quitting() {
			n := min(1+int(data[0])*3, len(data)-1)
			rest, data = append(rest, data[1:1+n]...), data[1+n:]
			taken, err := s.receive(rest)
			if err != nil {
				return
			}
			if rest = rest[taken:]; len(rest) > restMax && !s.paused() {
				t.Fatalf("%d bytes are left for later", len(rest))
			}
			if out := s.output(); len(*out) > heldMax {
				t.Fatalf("%d bytes are to be sent", len(*out))
			} else if len(data)%2 == 0 {
				*out = nil
			}
		}
		s.stop()
	})
}

// FuzzPassive holds our reading of header blocks against the library's: one
// that is called passive leaves the table as it was.
func FuzzPassive(f *testing.F) {
	f.Add([]byte{0x88, 0x0f, 0x0d, 1, '3'})
	f.Add([]byte{0x40, 1, 'a', 1, 'b'})
	f.Add([]byte{0x20})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newHeaderReader()
		if _, err := r.read([]byte{0x40, 1, 'a', 1, 'b', 0x40, 1, 'c', 1, 'd'}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.read(data); err != nil || !passive(data) {
			return
		}
		b, err := r.read([]byte{0xbe, 0xbf})
		if err != nil || b.fields[0].Name != "c" || b.fields[1].Name != "a" {
			t.Fatalf("%x changes the table: %v %v", data, b, err)
		}
	})
}
