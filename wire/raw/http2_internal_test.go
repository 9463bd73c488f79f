package raw

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

var h2c = Over{Version: HTTP2}

func wantStrings(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// What a server may send is understood, in whatever pieces it comes.
func TestClientReadsFrames(t *testing.T) {
	t.Parallel()
	for _, piece := range []int{0, 1, 2, 7, 100} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			t.Parallel()
			b, f, d := newBench(t, h2c, "one", "two", "three"), newFrames(), hpack.NewDecoder(4096, nil)
			if err := b.say(f.hello(), piece); err != nil {
				t.Fatal(err)
			}
			for slot := range 5 {
				b.begin(slot, slot%3)
			}
			wantStrings(t, "requests", b.heard(d), "settings ack=false", "0 window", "settings ack=true",
				"1 headers /echo", "1 data 3 end=true", "3 headers /echo", "3 data 3 end=true", "5 headers /echo",
				"5 data 5 end=true",
				"7 headers /echo", "7 data 3 end=true", "9 headers /echo", "9 data 3 end=true")

			_ = f.WritePing(false, [8]byte{'p', 'i', 'n', 'g', 'p', 'i', 'n', 'g'})
			f.reply(3, "two")
			// In parts, with padding and a priority, and an interim reply before it.
			f.headers(1, false, ":status", "103", "link", "x")
			block := f.encode(":status", "200", "content-type", "text/plain", "x-long", strings.Repeat("y", 300))
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: block[:5], PadLength: 9, Priority: http2.PriorityParam{StreamDep: 7},
			})
			_ = f.WriteContinuation(1, false, block[5:5])
			_ = f.WriteContinuation(1, true, block[5:])
			_ = f.WriteDataPadded(1, false, []byte("on"), make([]byte, 20))
			_ = f.WriteData(1, false, nil)
			_ = f.WriteDataPadded(1, false, []byte("e"), nil)
			f.headers(1, true, "x-tail", "1")
			_ = f.WriteRawFrame(0x42, 0xff, 77, []byte("of an extension"))
			_ = f.WritePriority(7, http2.PriorityParam{})
			f.headers(5, true, ":status", "200", "content-type", "text/plain") // without a body
			_ = f.WriteRSTStream(7, http2.ErrCodeRefusedStream)
			f.headers(9, false, ":status", "200", "content-type", "text/plain", "content-length", "4")
			_ = f.WriteData(9, true, []byte("two"))
			if err := b.say(f.take(), piece); err != nil {
				t.Fatal(err)
			}
			wantStrings(t, "ends", b.ends, "1: <nil>", "0: <nil>", `2: reply 200 "", want three`,
				"3: again, since unavailable: the server reset the stream: REFUSED_STREAM",
				"4: unavailable: reply of 3 bytes, "+
					"announced as 4")
			wantStrings(t, "answers", b.heard(d), "ping pingping ack=true")
		})
	}
}

// The server's first settings hold from the first call, and later ones from
// when they come: streams at once, windows, sizes of frames and the table.
func TestClientObeysSettings(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 50_000)
	b, f, d := newBench(t, h2c, big, "two"), newFrames(), hpack.NewDecoder(0, nil)
	if err := b.say(f.hello(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000}, http2.Setting{
			ID: http2.SettingHeaderTableSize, Val: 0,
		}), 0); err != nil {
		t.Fatal(err)
	}
	for slot := range 4 {
		b.begin(slot, slot%2)
	}
	wantStrings(t, "requests", b.heard(d), "settings ack=false", "0 window", "settings ack=true",
		"1 headers /echo", "1 data 1000 end=false", "3 headers /echo", "3 data 3 end=true")

	_ = f.WriteWindowUpdate(1, 500)
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "a wider window", b.heard(d), "1 data 500 end=false")

	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 60_000},
		http2.Setting{ID: http2.SettingMaxFrameSize, Val: 20_000})
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "wider windows and frames", b.heard(d), "settings ack=true", "1 data 20000 end=false",
		"1 data 20000 end=false", "1 data 8500 end=true")

	f.reply(3, "two") // a stream becomes free; the connection's window has 15,532 bytes left
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "the third call", b.heard(d), "5 headers /echo", "5 data 15532 end=false")
	b.client.cancel(b.calls[2])
	wantStrings(t, "the third is given up", b.heard(d), "5 reset 8", "7 headers /echo")
	_ = f.WriteWindowUpdate(0, 3)
	f.reply(1, big[:1000])
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "the fourth call", b.heard(d), "7 data 3 end=true")
	if len(b.ends) != 2 || !strings.HasPrefix(b.ends[1], "0: reply 200") {
		t.Errorf("ends %.100q", b.ends)
	}
}

// A table that shrinks is emptied at both ends.
func TestClientShrinksTable(t *testing.T) {
	t.Parallel()
	b, f := newBench(t, h2c, "one"), newFrames()
	d := hpack.NewDecoder(4096, nil)
	if err := b.say(f.hello(), 0); err != nil {
		t.Fatal(err)
	}
	for _, size := range []uint32{4096, 100, 0, 1 << 20} {
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: size})
		if err := b.say(f.take(), 0); err != nil {
			t.Fatal(err)
		}
		d.SetAllowedMaxDynamicTableSize(min(size, 4096))
		for range 3 {
			b.begin(0, 0)
			if got := b.heard(d); !strings.HasSuffix(got[len(got)-2], "headers /echo") {
				t.Errorf("with a table of %d bytes: %q", size, got)
			}
			b.client.cancel(b.calls[0])
		}
	}
}

// GOAWAY sends the calls above its stream elsewhere; those below go on, and no new one begins.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	b, f := newBench(t, h2c, "one"), newFrames()
	if err := b.say(f.hello(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 3}), 0); err != nil {
		t.Fatal(err)
	}
	for slot := range 4 { // the last waits for a stream
		b.begin(slot, 0)
	}
	_ = f.WriteGoAway(3, http2.ErrCodeNo, nil)
	f.reply(3, "one")
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	if !b.client.spent() {
		t.Error("it takes more calls")
	}
	f.reply(1, "one")
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "ends", b.ends, "2: again, since unavailable: the server goes away: NO_ERROR",
		"3: again, since unavailable: the server goes away: NO_ERROR",
		"1: <nil>", "0: <nil>")
}

// The last stream there is ends a connection's use.
func TestClientUsesStreamsUp(t *testing.T) {
	t.Parallel()
	b, f := newBench(t, h2c, "one"), newFrames()
	if err := b.say(f.hello(), 0); err != nil {
		t.Fatal(err)
	}
	setNext(b.client, streamMax-2)
	b.begin(0, 0)
	if b.client.spent() {
		t.Error("spent before the last stream")
	}
	b.begin(1, 0)
	if !b.client.spent() {
		t.Error("not spent after the last stream")
	}
	f.reply(streamMax-2, "one")
	f.reply(streamMax, "one")
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "ends", b.ends, "0: <nil>", "1: <nil>")
}

// A long call does not lose its stream to those that come and go during it.
func TestClientKeepsLongCalls(t *testing.T) {
	t.Parallel()
	b, f := newBench(t, h2c, "one"), newFrames()
	if err := b.say(f.hello(), 0); err != nil {
		t.Fatal(err)
	}
	b.begin(0, 0)
	stream := uint32(3)
	for range 500 {
		b.begin(1, 0)
		f.reply(stream, "one")
		if err := b.say(f.take(), 0); err != nil {
			t.Fatal(err)
		}
		stream += 2
	}
	f.reply(1, "one")
	if err := b.say(f.take(), 0); err != nil {
		t.Fatal(err)
	}
	if len(b.ends) != 501 || b.ends[500] != "0: <nil>" {
		t.Errorf("%d ends, the last %q", len(b.ends), b.ends[len(b.ends)-1])
	}
}

// What breaks the protocol ends the connection.
func TestClientRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		write func(*frames)
	}{
		{"DATA without a request", func(f *frames) { _ = f.WriteData(99, true, []byte("x")) }},
		{"DATA before a header", func(f *frames) { _ = f.WriteData(1, true, []byte("x")) }},
		{"a header on an even stream", func(f *frames) { f.headers(2, true, ":status", "200") }},
		{"a header on no stream", func(f *frames) { f.headers(0, true, ":status", "200") }},
		{"a status that is none", func(f *frames) { f.headers(1, true, ":status", "ok") }},
		{"no status", func(f *frames) { f.headers(1, true, "content-type", "text/plain") }},
		{"an interim reply at the end", func(f *frames) { f.headers(1, true, ":status", "100") }},
		{"a second header amid the body", func(f *frames) {
			f.headers(1, false, ":status", "200")
			f.headers(1, false, "x", "y")
		}},
		{"a push", func(f *frames) {
			_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		}},
		{"a header block cut by another frame", func(f *frames) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1})
			_ = f.WritePing(false, [8]byte{})
		}},
		{"a continuation of nothing", func(f *frames) { _ = f.WriteContinuation(1, true, nil) }},
		{"a header without end", func(f *frames) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1})
			for range 1000 {
				_ = f.WriteContinuation(1, false, nil)
			}
		}},
		{"a header longer than the limit", func(f *frames) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 16000)})
			_ = f.WriteContinuation(1, false, make([]byte, 16000))
		}},
		{"an entry that is in no table", func(f *frames) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff}, EndHeaders: true})
		}},
		{"a window that grows too large", func(f *frames) { _ = f.WriteWindowUpdate(0, windowMax) }},
		{"a window that grows by nothing", func(f *frames) { _ = f.WriteWindowUpdate(0, 0) }},
		{"frames that are too small", func(f *frames) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1})
		}},
		{"a ping of the wrong size", func(f *frames) { _ = f.WriteRawFrame(http2.FramePing, 0, 0, []byte("short")) }},
		{
			"settings of the wrong size",
			func(f *frames) { _ = f.WriteRawFrame(http2.FrameSettings, 0, 0, []byte("short")) },
		},
		{"padding longer than the frame", func(f *frames) {
			_ = f.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 1})
		}},
		{"more pings than are read", func(f *frames) {
			for range 70_000 {
				_ = f.WritePing(false, [8]byte{})
			}
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			b, f := newBench(t, h2c, "one"), newFrames()
			if err := b.say(f.hello(), 0); err != nil {
				t.Fatal(err)
			}
			b.begin(0, 0)
			c.write(f)
			if err := b.say(f.take(), 0); err == nil {
				t.Error("it is taken")
			}
			if len(b.ends) > 0 {
				t.Errorf("a call ended: %q", b.ends)
			}
		})
	}
	b, f := newBench(t, h2c, "one"), newFrames()
	_ = f.WritePing(false, [8]byte{})
	if err := b.say(f.take(), 0); err == nil {
		t.Error("a ping is taken for settings")
	}
}

// A reply larger than a body may be fails its call and no other.
func TestClientBoundsReplies(t *testing.T) {
	t.Parallel()
	b, f, d := newBench(t, h2c, "one", "two"), newFrames(), hpack.NewDecoder(4096, nil)
	if err := b.say(f.hello(), 0); err != nil {
		t.Fatal(err)
	}
	b.begin(0, 0)
	b.begin(1, 1)
	b.heard(d)
	f.headers(1, false, ":status", "200", "content-type", "text/plain")
	part := make([]byte, frameDefault)
	for range bodyMax/frameDefault + 1 {
		_ = f.WriteData(1, false, part)
	}
	f.reply(3, "two")
	if err := b.say(f.take(), 1<<20); err != nil {
		t.Fatal(err)
	}
	wantStrings(t, "ends", b.ends, fmt.Sprintf("0: resource_exhausted: reply of more than %d bytes", bodyMax),
		"1: <nil>")
	wantStrings(t, "answers", b.heard(d), "1 reset 8")
}
