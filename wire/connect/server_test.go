package connect_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wirelab"
	wireconnect "wirelab/wire/connect"
)

// serveOn serves handler at a listener until the test ends.
func serveOn(t *testing.T, listener net.Listener, over wireconnect.Carrier, handler http.Handler) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wireconnect.Serve(ctx, wirelab.Endpoint{Listener: listener}, over, handler) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// narrow gives connections little room for what their client does not read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(4096)
	}
	return c, err
}

// TestServeOutlivesAnUploadItRefused sends to a call that has ended all that
// its window allows, in frames as small as a point, and then makes another
// call on the same connection. A client of any library does the first when a
// service refuses the middle of a long upload.
func TestServeOutlivesAnUploadItRefused(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := serveOn(t, narrow{listener}, wireconnect.H2C,
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		}))
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}

	window := uint32(65_535) // HTTP/2's own, until the server says otherwise
	framer := http2.NewFramer(conn, conn)
	var out bytes.Buffer // written at once, so that the server cannot answer in between
	pen := http2.NewFramer(&out, nil)
	out.WriteString(http2.ClientPreface)
	if err := pen.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(out.Bytes()); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		settings, ok := frame.(*http2.SettingsFrame)
		if !ok {
			continue
		}
		if value, ok := settings.Value(http2.SettingInitialWindowSize); ok {
			window = value
		}
		break
	}

	out.Reset()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	begin := func(stream uint32, end bool) {
		block.Reset()
		for _, f := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":authority", address},
			{":path", "/x"},
		} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		_ = pen.WriteHeaders(http2.HeadersFrameParam{
			StreamID: stream, BlockFragment: block.Bytes(), EndStream: end, EndHeaders: true,
		})
	}
	const size = 5 + 12 // a message's prefix and a point
	begin(1, false)
	for sent := uint32(0); sent+size <= window; sent += size {
		_ = pen.WriteData(1, false, make([]byte, size))
	}
	begin(3, true)
	if _, err := conn.Write(out.Bytes()); err != nil {
		t.Fatalf("after an upload of %d bytes: %v", window, err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("after an upload of %d bytes: %v", window, err)
		}
		if headers, ok := frame.(*http2.HeadersFrame); ok && headers.StreamID == 3 {
			return
		}
	}
}
