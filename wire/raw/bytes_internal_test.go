package raw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"wirelab"
)

// bench holds a client without a socket, and its calls.
type bench struct {
	t      testing.TB
	series []*exchange
	client client
	calls  []*call
	ends   []string // "slot: error", in order
}

// newBench has one request for each body; the right reply to it is its echo.
func newBench(t testing.TB, over Over, bodies ...string) *bench {
	transport := new(Transport)
	checks := make([]func(context.Context) error, len(bodies))
	for i, body := range bodies {
		checks[i] = func(ctx context.Context) error { return posted(ctx, transport, body) }
	}
	p, err := newPlan(t.Context(), over, wirelab.Dialing{Address: "x:1", Connections: 16}, 16, transport, checks)
	if err != nil {
		t.Fatal(err)
	}
	return benchOf(t, p)
}

// benchOf is the bench of what a driver is made of.
func benchOf(t testing.TB, p *plan) *bench {
	b := &bench{t: t, series: p.series}
	b.client = p.newClient(16, heads{}, func(c *call, err error) {
		c.state = idle
		b.ends = append(b.ends, fmt.Sprintf("%d: %v", c.slot, err))
	}, func(c *call, reason error, _ bool) {
		c.state = resting
		b.ends = append(b.ends, fmt.Sprintf("%d: again, since %v", c.slot, reason))
	})
	for i := range 16 {
		b.calls = append(b.calls, &call{slot: i})
	}
	return b
}

// posted is the stub's check: it posts body and wants it back, as text, with status 200.
func posted(ctx context.Context, transport *Transport, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x:1/echo", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "text/plain")
	reply, err := transport.RoundTrip(r) //nolint:bodyclose // it is memory
	if err != nil {
		return err
	}
	got, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK || string(got) != body || reply.Header.Get("Content-Type") != "text/plain" {
		return &wirelab.Mismatch{Got: fmt.Sprintf("%d %q", reply.StatusCode, got), Want: body}
	}
	return nil
}

func (b *bench) begin(slot, exchange int) {
	c := b.calls[slot]
	c.exchange, c.state = b.series[exchange], flying
	c.answer.reset(c.exchange)
	b.client.begin(c)
}

// say gives the client bytes in pieces of size, or all at once where it is 0.
func (b *bench) say(data []byte, size int) error {
	var rest []byte
	for len(data) > 0 {
		n := len(data)
		if size > 0 {
			n = min(size, n)
		}
		rest = append(rest, data[:n]...)
		data = data[n:]
		taken, err := b.client.receive(rest)
		if err != nil {
			return err
		}
		rest = rest[taken:]
	}
	return nil
}

// heard returns the frames that the client has sent since the last time, in
// short.
func (b *bench) heard(decoder *hpack.Decoder) []string {
	out := b.client.output()
	data := bytes.TrimPrefix(*out, []byte(preface))
	*out = nil
	framer := http2.NewFramer(io.Discard, bytes.NewReader(data))
	framer.SetMaxReadFrameSize(frameMax)
	framer.ReadMetaHeaders = decoder
	var all []string
	for {
		f, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			b.t.Fatalf("the client sends what cannot be read: %v", err)
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			all = append(all, fmt.Sprintf("%d headers %s", f.StreamID, f.PseudoValue("path")))
		case *http2.DataFrame:
			all = append(all, fmt.Sprintf("%d data %d end=%t", f.StreamID, len(f.Data()), f.StreamEnded()))
		case *http2.RSTStreamFrame:
			all = append(all, fmt.Sprintf("%d reset %d", f.StreamID, f.ErrCode))
		case *http2.PingFrame:
			all = append(all, fmt.Sprintf("ping %s ack=%t", f.Data, f.IsAck()))
		case *http2.SettingsFrame:
			all = append(all, fmt.Sprintf("settings ack=%t", f.IsAck()))
		case *http2.WindowUpdateFrame:
			all = append(all, fmt.Sprintf("%d window", f.StreamID))
		case *http2.GoAwayFrame:
			all = append(all, "goaway")
		}
	}
}

// frames are what a server sends, written by the library's framer.
type frames struct {
	*http2.Framer
	buffer  *bytes.Buffer
	encoder *hpack.Encoder
	block   *bytes.Buffer
}

func newFrames() *frames {
	f := &frames{buffer: new(bytes.Buffer), block: new(bytes.Buffer)}
	f.Framer = http2.NewFramer(f.buffer, nil)
	f.AllowIllegalWrites = true
	f.encoder = hpack.NewEncoder(f.block)
	return f
}

// take returns what was written and forgets it.
func (f *frames) take() []byte {
	data := bytes.Clone(f.buffer.Bytes())
	f.buffer.Reset()
	return data
}

func (f *frames) encode(fields ...string) []byte {
	f.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = f.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // to a buffer
	}
	return bytes.Clone(f.block.Bytes())
}

func (f *frames) headers(stream uint32, end bool, fields ...string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{
		StreamID: stream, BlockFragment: f.encode(fields...), EndHeaders: true, EndStream: end,
	})
}

func (f *frames) reply(stream uint32, body string) {
	f.headers(stream, false, ":status", "200", "content-type", "text/plain", "content-length", fmt.Sprint(len(body)))
	_ = f.WriteData(stream, true, []byte(body))
}

func (f *frames) hello(settings ...http2.Setting) []byte {
	_ = f.WriteSettings(settings...)
	return f.take()
}

func setNext(c client, stream uint32) { c.(*conn2).next = stream }
