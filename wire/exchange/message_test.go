package exchange

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
)

// script is a connection whose peer's side is written down: it says its
// messages in order and then closes.
type script struct {
	mu     sync.Mutex // guards all below
	says   [][]byte
	heard  [][]byte
	closed bool
	after  error // what Receive returns after the last; nil: io.EOF
}

func (s *script) Send(frame []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return io.ErrClosedPipe
	}
	s.heard = append(s.heard, bytes.Clone(frame[Headroom:]))
	return nil
}

func (s *script) Receive(into []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.says) == 0 {
		if s.after != nil {
			return nil, s.after
		}
		return nil, io.EOF
	}
	message := s.says[0]
	s.says = s.says[1:]
	return append(into, message...), nil
}

func (s *script) Close() { s.Abort() }

func (s *script) Abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// raw is the payload of the operations here: the bytes themselves.
func raw() Codec[string] {
	return Codec[string]{
		Append: func(b []byte, s string) ([]byte, error) { return append(b, s...), nil },
		Parse:  func(b []byte) (string, error) { return string(b), nil },
	}
}

func operation(number byte) Operation[string, string] {
	return Operation[string, string]{Number: number, Request: raw(), Reply: raw()}
}

// echoes are handlers of every kind, which give back what they are given.
func echoes() []Handler {
	return []Handler{
		operation(1).Unary(func(_ context.Context, req string) (string, error) { return req, nil }),
		operation(2).ServerStream(func(_ context.Context, req string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for range 2 {
					if !yield(req, nil) {
						return
					}
				}
			}
		}),
		operation(3).ClientStream(func(_ context.Context, reqs iter.Seq2[string, error]) (string, error) {
			var all strings.Builder
			for req, err := range reqs {
				if err != nil {
					return "", err
				}
				if req == "stop" {
					return "stopped", nil
				}
				all.WriteString(req)
			}
			return all.String(), nil
		}),
		operation(4).BidiStream(func(_ context.Context, reqs iter.Seq2[string, error]) iter.Seq2[string, error] {
			return reqs
		}),
	}
}

// messages reads a transcript: one message a word, where ~ stands for nothing.
func messages(all ...string) (m [][]byte) {
	for _, s := range all {
		m = append(m, []byte(s))
	}
	return m
}

// What a server says to a client that speaks the protocol, well or badly. In
// these transcripts \x01 to \x05 are call, item, end, last and failure.
func TestServerTranscripts(t *testing.T) {
	t.Parallel()
	const malformed = "\x05\x03malformed exchange: "
	cases := []struct {
		why         string
		says, hears []string
	}{
		{"a call", []string{"\x01\x01\x00hi"}, []string{"\x04hi"}},
		{"calls one after another", []string{"\x01\x01\x00a", "\x01\x01\x00b"}, []string{"\x04a", "\x04b"}},
		{"a request that is absent", []string{"\x01\x01\x00"}, []string{"\x04"}},
		{"a stream", []string{"\x01\x02\x00x"}, []string{"\x02x", "\x02x", "\x03"}},
		{"a stream of requests", []string{"\x01\x03\x00", "\x02a", "\x02b", "\x03"}, []string{"\x04ab"}},
		{"a chat", []string{"\x01\x04\x00", "\x02a", "\x02", "\x03"}, []string{"\x02a", "\x02", "\x03"}},
		{"what follows an early answer is skipped up to the end", []string{
			"\x01\x03\x00", "\x02stop", "\x02c", "\x03", "\x01\x01\x00next",
		}, []string{"\x04stopped", "\x04next"}},
		{"a timeout", []string{"\x01\x01\x80\x89\x7ahi"}, []string{"\x04hi"}},
		{"an unknown operation", []string{"\x01\x63\x00", "\x01\x01\x00next"}, []string{
			"\x05\x0cno operation 99",
			"\x04next",
		}},

		{"an empty message", []string{""}, []string{malformed + "empty message"}},
		{"an unknown kind", []string{"\x06"}, []string{malformed + "message of kind 6"}},
		{"a zero kind", []string{"\x00"}, []string{malformed + "message of kind 0"}},
		{"a call without an operation", []string{"\x01"}, []string{malformed + "call without an operation"}},
		{
			"a call without a timeout",
			[]string{"\x01\x01"},
			[]string{malformed + "call without a timeout that can be read"},
		},
		{
			"a timeout that does not end",
			[]string{"\x01\x01\xff\xff"},
			[]string{malformed + "call without a timeout that " +
				"can be read"},
		},
		{
			"a timeout beyond all time",
			[]string{"\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
			[]string{malformed + "call without a timeout that can be read"},
		},
		{"an end with content", []string{"\x03x"}, []string{malformed + "end with 1 bytes of content"}},
		{
			"an item where there is no call",
			[]string{"\x02x"},
			[]string{malformed + "message of kind 2 where there should " +
				"be a call"},
		},
		{
			"a server's message",
			[]string{"\x04x"},
			[]string{malformed + "message of kind 4 where there should be a call"},
		},
		{
			"a call among requests",
			[]string{"\x01\x03\x00", "\x01\x01\x00"},
			[]string{malformed + "message of kind 1 among requests"},
		},
		{"a call before the end of an answered one", []string{"\x01\x03\x00", "\x02stop", "\x01\x01\x00"}, []string{
			"\x04stopped", malformed + "message of kind 1 where there should be a call",
		}},
		{"requests that break off", []string{"\x01\x03\x00", "\x02a"}, nil},
		{"nothing", nil, nil},
	}
	for _, k := range cases {
		t.Run(k.why, func(t *testing.T) {
			t.Parallel()
			conn := &script{says: messages(k.says...)}
			server := NewServer(echoes()...)
			server.Attend(conn)
			server.Stop(0)
			if got, want := bytes.Join(conn.heard, []byte("|")),
				bytes.Join(messages(k.hears...), []byte("|")); !bytes.Equal(got,
				want) {
				t.Errorf("hears %q, want %q", got, want)
			}
			if !conn.closed {
				t.Error("the connection stays open")
			}
		})
	}
}

func TestServerRefusesTooLarge(t *testing.T) {
	t.Parallel()
	conn := &script{after: ErrTooLarge}
	server := NewServer(echoes()...)
	server.Attend(conn)
	server.Stop(0)
	if len(conn.heard) != 1 || wirelab.CodeOf(parseFailure(conn.heard[0][1:])) != wirelab.ResourceExhausted {
		t.Errorf("hears %q", conn.heard)
	}
}

// What a client makes of a server that answers well or badly. A stream that
// breaks off is never a short success.
func TestClientTranscripts(t *testing.T) {
	t.Parallel()
	unary := func(c *Client) (string, error) { return operation(1).Call(t.Context(), c, "x") }
	list := func(c *Client) (string, error) {
		var all strings.Builder
		for item, err := range operation(2).CallServerStream(t.Context(), c, "x") {
			if err != nil {
				return "", err
			}
			all.WriteString(item)
		}
		return all.String(), nil
	}
	none := func(func(string, error) bool) {}
	route := func(c *Client) (string, error) { return operation(3).CallClientStream(t.Context(), c, none) }
	chat := func(c *Client) (string, error) {
		var all strings.Builder
		for item, err := range operation(4).CallBidiStream(t.Context(), c, none) {
			if err != nil {
				return "", err
			}
			all.WriteString(item)
		}
		return all.String(), nil
	}
	type call = func(*Client) (string, error)
	cases := []struct {
		why   string
		calls []call
		says  []string
		want  string       // where there is no code
		code  wirelab.Code // -1 in no code
		fails bool
	}{
		{"an answer", []call{unary, route}, []string{"\x04hi"}, "hi", 0, false},
		{"an empty answer", []call{unary, route}, []string{"\x04"}, "", 0, false},
		{"a stream", []call{list, chat}, []string{"\x02a", "\x02b", "\x03"}, "ab", 0, false},
		{"an empty stream", []call{list, chat}, []string{"\x03"}, "", 0, false},
		{"a failure", []call{unary, list, route, chat}, []string{"\x05\x05gone"}, "", wirelab.NotFound, true},
		{"a failure after items", []call{list, chat}, []string{"\x02a", "\x05\x05gone"}, "", wirelab.NotFound, true},
		{"no answer", []call{unary, list, route, chat}, nil, "", wirelab.Unavailable, true},
		{"a stream without its end", []call{list, chat}, []string{"\x02a"}, "", wirelab.Unavailable, true},
		{"an end for an answer", []call{unary, route}, []string{"\x03"}, "", wirelab.Internal, true},
		{"an item for an answer", []call{unary, route}, []string{"\x02a"}, "", wirelab.Internal, true},
		{"a last in a stream", []call{list, chat}, []string{"\x04a"}, "", wirelab.Internal, true},
		{"a call", []call{unary, list, route, chat}, []string{"\x01\x01\x00"}, "", wirelab.Internal, true},
		{"an unknown kind", []call{unary, list, route, chat}, []string{"\x09"}, "", wirelab.Internal, true},
		{"nothing in a message", []call{unary, list, route, chat}, []string{""}, "", wirelab.Internal, true},
		{"a failure of no code", []call{unary, list, route, chat}, []string{"\x05"}, "", wirelab.Internal, true},
		{
			"a failure of an unknown code",
			[]call{unary, list, route, chat},
			[]string{"\x05\x63what"},
			"",
			wirelab.Internal,
			true,
		},
	}
	for _, k := range cases {
		for _, ask := range k.calls {
			c := NewClient(1, func(context.Context) (Conn, error) { return &script{says: messages(k.says...)}, nil })
			got, err := ask(c)
			switch {
			case k.fails && (err == nil || wirelab.CodeOf(err) != k.code):
				t.Errorf("%s: %q, %v, want code %v", k.why, got, err, k.code)
			case !k.fails && (err != nil || got != k.want):
				t.Errorf("%s: %q, %v, want %q", k.why, got, err, k.want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDialFailures(t *testing.T) {
	t.Parallel()
	c := NewClient(1, func(context.Context) (Conn, error) { return nil, errors.New("refused") })
	for range 3 { // the place comes back each time
		if _, err := operation(1).Call(t.Context(), c, ""); err == nil || wirelab.CodeOf(err) != wirelab.Unavailable {
			t.Errorf("%v, want unavailable", err)
		}
	}
}

// A call whose context ends between its reply and its end has its connection
// aborted, at once or soon: it must not be used again.
func TestAConnectionThatIsBeingAbortedIsNotKept(t *testing.T) {
	t.Parallel()
	c := NewClient(1, func(context.Context) (Conn, error) { return &script{}, nil })
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := c.begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	a.finish(true)
	if a.slot.link != nil {
		t.Error("the connection is kept")
	}
}

func TestFailureTableIsTotal(t *testing.T) {
	t.Parallel()
	seen := map[byte]bool{}
	for _, code := range wirelab.Codes() {
		if int(code) >= len(numbers) || numbers[code] == 0 || seen[numbers[code]] {
			t.Errorf("%v has no number", code)
			continue
		}
		seen[numbers[code]] = true
		want := &wirelab.Error{Code: code, Message: "why"}
		var got *wirelab.Error
		if err := parseFailure(appendFailure(nil, want)[1:]); !errors.As(err, &got) || *got != *want {
			t.Errorf("%v arrives as %v", want, err)
		}
	}
	unknown := &wirelab.Error{Code: wirelab.Code(len(numbers)), Message: "why"}
	if got := parseFailure(appendFailure(nil, unknown)[1:]); wirelab.CodeOf(got) != wirelab.Internal {
		t.Errorf("a code that is none arrives as %v", got)
	}
}

func TestTwoHandlersOfOneNumberPanic(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewServer(echoes()[0], echoes()[0])
}

func FuzzCall(f *testing.F) {
	for _, seed := range []string{
		"", "\x01", "\x01\x00", "\x07\x80\x01payload", "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := parseCall(content)
		if err != nil {
			return
		}
		if c.timeout < 0 {
			t.Fatalf("timeout %v", c.timeout)
		}
		again := append(appendCall(nil, c.operation, c.timeout), c.payload...)
		k, content, err := split(again)
		if err != nil || k != kindCall {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if d, err := parseCall(content); err != nil || d.operation != c.operation || d.timeout != c.timeout ||
			!bytes.Equal(d.payload, c.payload) {
			t.Fatalf("%+v, %v; want %+v", d, err, c)
		}
	})
}

// transcript cuts a fuzzer's bytes into messages: each is preceded by its length.
func transcript(data []byte) (all [][]byte) {
	for len(data) > 0 {
		n := min(int(data[0]), len(data)-1)
		all = append(all, data[1:1+n])
		data = data[1+n:]
	}
	return all
}

func seedTranscripts(f *testing.F) {
	for _, seed := range []string{
		"", "\x05\x01\x01\x00hi", "\x03\x01\x03\x00\x02\x02a\x01\x03",
		"\x03\x01\x03\x00\x05\x02stop\x02\x02b\x01\x03\x03\x01\x01\x00",
		"\x03\x01\x04\x00\x02\x02a\x03\x01\x01\x00", "\x02\x04x\x01\x03", "\x06\x05\x05gone", "\x00\x00\x00",
	} {
		f.Add([]byte(seed))
	}
}

func FuzzServer(f *testing.F) {
	seedTranscripts(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		conn := &script{says: transcript(data)}
		server := NewServer(echoes()...)
		server.Attend(conn)
		server.Stop(time.Second)
		for _, message := range conn.heard {
			if k, _, err := split(message); err != nil || k == kindCall {
				t.Fatalf("the server says %q", message)
			}
		}
	})
}

func FuzzClient(f *testing.F) {
	seedTranscripts(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := NewClient(1, func(context.Context) (Conn, error) { return &script{says: transcript(data)}, nil })
		defer c.Close()
		_, _ = operation(1).Call(t.Context(), c, "x")
		ended := false
		for _, err := range operation(2).CallServerStream(t.Context(), c, "x") {
			if ended {
				t.Fatal("a stream continues after its error")
			}
			ended = err != nil
		}
		for range operation(4).CallBidiStream(t.Context(), c,
			func(yield func(string, error) bool) { yield("x", nil) }) {
			continue
		}
	})
}

// A service that stops without a word when its time is over has not ended
// well, and nothing more is said on a connection that is being aborted.
func TestWorkThatOutlivesItsContextIsCut(t *testing.T) {
	t.Parallel()
	s := &session{link: newLink(&script{}, func() {})}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.until(ctx, func() error { return nil }); err != nil {
		t.Errorf("work that ends in time: %v", err)
	}
	err := s.until(ctx, func() error { cancel(); return nil })
	if !isLost(err) {
		t.Errorf("work that ends late: %v, want a lost connection", err)
	}
}

// late is a context whose deadline has passed but whose timer has not fired.
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// A server that keeps the same deadline may be first to act on it: the caller is informed of the deadline, and
// not of the connection that it cost.
func TestADeadlineThatHasPassedIsTold(t *testing.T) {
	t.Parallel()
	c := NewClient(1, func(context.Context) (Conn, error) { return &script{}, nil })
	defer c.Close()
	if _, err := operation(1).Call(late{t.Context()}, c, "x"); err == nil ||
		wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
		t.Errorf("%v, want deadline exceeded", err)
	}
}

// A call of another timeout is the same call, and nothing else is one.
func TestRetimed(t *testing.T) {
	t.Parallel()
	asked := append(appendCall(nil, 7, 9_999_987*time.Microsecond), "payload"...)
	for _, timeout := range []time.Duration{0, time.Microsecond, 10 * time.Second} {
		same, operation, at, err := Retimed(asked, timeout)
		if err != nil || operation != 7 || string(same[at:]) != "payload" {
			t.Fatalf("%v: operation %d, payload %q, %v", timeout, operation, same[at:], err)
		}
		if c, err := parseCall(same[1:]); err != nil || c.timeout != timeout {
			t.Errorf("%v became %v, %v", timeout, c.timeout, err)
		}
	}
	for _, other := range [][]byte{nil, {byte(kindLast)}, {byte(kindCall)}, {byte(kindCall), 7}, {99}} {
		if _, _, _, err := Retimed(other, 0); err == nil {
			t.Errorf("%v is taken for a call", other)
		}
	}
}
