package grpc

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wirelab/hermes/api/intake"
	"wirelab/hermes/frame"
)

// scripted is a connection on which a text comes in pieces of any size.
type scripted struct {
	net.Conn
	left []byte
}

func (s *scripted) Read(p []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.left[:min(len(s.left), 1+rand.IntN(40))])
	s.left = s.left[n:]
	return n, nil
}

func (*scripted) Close() error { return nil }

func (*scripted) Write(p []byte) (int, error) { return len(p), nil }

// conversation writes what a client says.
type conversation struct {
	bytes.Buffer
	*http2.Framer
}

func begin() *conversation {
	c := new(conversation)
	c.WriteString(http2.ClientPreface)
	c.Framer = http2.NewFramer(&c.Buffer, nil)
	_ = c.WriteSettings() // to memory, as all below
	return c
}

func (c *conversation) call(id uint32) {
	var head bytes.Buffer
	_ = hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":method", Value: "POST"})
	_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true})
}

// message is one in the form of gRPC, cut off after so many bytes.
func message(length, cut int) []byte {
	m := make([]byte, 5+length)
	binary.BigEndian.PutUint32(m[1:], uint32(length))
	return m[:cut]
}

// The count of a connection is the sum of messages that are not whole, and a little for each call that brought
// none yet, however the bytes are cut.
func TestMeter(t *testing.T) {
	for name, c := range map[string]struct {
		say  func(c *conversation)
		want int
	}{
		"a whole call": {func(c *conversation) {
			c.call(1)
			_ = c.WriteData(1, true, message(100, 105))
		}, 0},
		"a call of which nothing came": {func(c *conversation) { c.call(1) }, callBytes},
		"a half of a message": {func(c *conversation) {
			c.call(1)
			_ = c.WriteData(1, false, message(100, 55))
		}, callBytes + 55},
		"padding does not count": {func(c *conversation) {
			c.call(1)
			_ = c.WriteDataPadded(1, false, message(100, 55), make([]byte, 77))
			_ = c.WriteDataPadded(1, false, nil, make([]byte, 3))
		}, callBytes + 55},
		"a stream with messages and a part of one": {func(c *conversation) {
			c.call(1)
			_ = c.WriteData(1, false, append(append(message(9, 14), message(0, 5)...), message(50, 3)...))
			_ = c.WriteData(1, false, make([]byte, 0))
		}, 3},
		"two calls in turns": {func(c *conversation) {
			c.call(1)
			_ = c.WriteData(1, false, message(1000, 500))
			c.call(3)
			_ = c.WriteData(3, false, message(10, 7))
			_ = c.WriteData(1, true, make([]byte, 505))
			_ = c.WritePing(false, [8]byte{})
		}, callBytes + 7},
		"a call that was given up": {func(c *conversation) {
			c.call(1)
			_ = c.WriteData(1, false, message(1000, 500))
			_ = c.WriteRSTStream(1, http2.ErrCodeCancel)
		}, 0},
		"a call that ends in the middle of its message": {func(c *conversation) {
			c.call(1)
			_ = c.WriteData(1, true, message(1000, 500))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for range 50 {
				say := begin()
				c.say(say)
				in := intake.New(intake.Options{})
				from := &scripted{left: say.Bytes()}
				m := newMeter(from, from, in)
				if text, err := io.ReadAll(m); err != nil || !bytes.Equal(text, say.Bytes()) {
					t.Fatalf("%d bytes of %d came through: %v", len(text), say.Len(), err)
				}
				if n := in.Counts().Bytes; n != int64(c.want) || m.held != c.want {
					t.Fatalf("%d bytes are counted, %d held; want %d", n, m.held, c.want)
				}
				if c.want == 0 && len(m.calls) > 0 {
					t.Fatalf("%d calls are noted that are over", len(m.calls))
				}
				_ = m.Close()
				_ = m.Close()
				if n := in.Counts().Bytes; n != 0 {
					t.Fatalf("%d bytes are counted of a connection that is gone", n)
				}
			}
		})
	}
}

// A message that announces far more than any may have comes through as one that has a byte too many, however its
// bytes are cut; all others come through as they are.
func TestMeterClamps(t *testing.T) {
	for announced, want := range map[uint32]uint32{
		0: 0, 5: 5, frame.Limit - 1: frame.Limit - 1, frame.Limit: frame.Limit, frame.Limit + 1: frame.Limit + 1,
		frame.Limit + beyond - 1: frame.Limit + beyond - 1, frame.Limit + beyond: frame.Limit + 1,
		1 << 24: frame.Limit + 1, 1<<24 + 5: frame.Limit + 1, 1<<32 - 1: frame.Limit + 1, 0x01800000: frame.Limit + 1,
	} {
		for range 30 {
			head := binary.BigEndian.AppendUint32([]byte{0}, announced)
			rest := filled(int(min(announced, 70)))
			say := begin()
			say.call(1)
			cut := rand.IntN(len(head) + 1)
			_ = say.WriteDataPadded(1, false, head[:cut], make([]byte, rand.IntN(9)))
			say.call(3)
			_ = say.WriteData(3, false, message(10, 12))
			_ = say.WriteData(1, false, append(head[cut:], rest...))
			from := &scripted{left: say.Bytes()}
			m := newMeter(from, from, intake.New(intake.Options{}))
			text, err := io.ReadAll(m)
			if err != nil {
				t.Fatal(err)
			}
			_ = m.Close()
			var got []byte
			read := http2.NewFramer(nil, bytes.NewReader(text[len(http2.ClientPreface):]))
			for {
				f, err := read.ReadFrame()
				if err != nil {
					break
				}
				if data, ok := f.(*http2.DataFrame); ok && data.StreamID == 1 {
					got = append(got, data.Data()...)
				}
			}
			if len(got) != 5+len(rest) || binary.BigEndian.Uint32(got[1:]) != want || !bytes.Equal(got[5:], rest) {
				t.Fatalf("%#x came through as % x", announced, got)
			}
		}
	}
}

func filled(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// What the server ends is not counted any more, and neither is what still comes of it.
func TestMeterServerEnds(t *testing.T) {
	for name, ends := range map[string]func(f *http2.Framer){
		"with a reset": func(f *http2.Framer) { _ = f.WriteRSTStream(1, http2.ErrCodeNo) },
		"with an answer": func(f *http2.Framer) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true})
		},
		"after some data": func(f *http2.Framer) {
			_ = f.WriteData(1, false, make([]byte, 100))
			_ = f.WriteData(1, true,
				nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			say := begin()
			say.call(1)
			_ = say.WriteData(1, false, message(1000, 500))
			in := intake.New(intake.Options{})
			from := &scripted{left: say.Bytes()}
			m := newMeter(from, from, in)
			if _, err := io.Copy(io.Discard, m); err != nil || in.Counts().Bytes != callBytes+500 {
				t.Fatalf("%d bytes are counted: %v", in.Counts().Bytes, err)
			}
			var out bytes.Buffer
			ends(http2.NewFramer(&out, nil))
			for _, b := range out.Bytes() {
				_, _ = m.Write([]byte{b})
			}
			if n := in.Counts().Bytes; n != 0 {
				t.Errorf("%d bytes are counted of what has ended", n)
			}
			more := new(bytes.Buffer)
			_ = http2.NewFramer(more, nil).WriteData(1, false, make([]byte, 500))
			from.left = more.Bytes()
			if _, _ = io.Copy(io.Discard, m); in.Counts().Bytes != 0 {
				t.Errorf("%d bytes are counted of what came after the end", in.Counts().Bytes)
			}
			_ = m.Close()
		})
	}
}

// No bytes that come make the meter fail or count whatever is not there.
func FuzzMeter(f *testing.F) {
	c := begin()
	c.call(1)
	_ = c.WriteDataPadded(1, false, message(100, 55), make([]byte, 77))
	f.Add(c.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		in := intake.New(intake.Options{})
		from := &scripted{left: append([]byte(http2.ClientPreface), text...)}
		m := newMeter(from, from, in)
		_, _ = io.Copy(io.Discard, m)
		if m.held < 0 || m.held > len(text)*(1+callBytes/frameHead) || in.Counts().Bytes != int64(m.held) {
			t.Fatalf("%d bytes are held of %d, and %d counted", m.held, len(text), in.Counts().Bytes)
		}
		_ = m.Close()
		if n := in.Counts().Bytes; n != 0 {
			t.Fatalf("%d bytes are counted of a connection that is gone", n)
		}
	})
}
