package netrpc

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"io"
	"net"
	"net/rpc"
	"sync"
	"testing"
	"time"

	"wirelab"
)

// Echo is a receiver for the peers here.
type Echo struct{}

// Say is the method Echo.Say.
func (Echo) Say(req *Request[string], rep *Reply[string]) error {
	return Answer(req, rep, func(_ context.Context, s string) (string, error) { return s, nil })
}

// encoded is the gob of values, one after another in one stream.
func encoded(t testing.TB, values ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := gob.NewEncoder(&b)
	for _, v := range values {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// askOf asks a server that says data, whatever it was asked, and hangs up.
func askOf(t *testing.T, data []byte) (string, error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var first [1]byte
		if _, err := conn.Read(first[:]); err != nil {
			return
		}
		_, _ = conn.Write(data)
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn) // until the client has gone too
	})
	defer serving.Wait()
	defer listener.Close()
	c := Dial(wirelab.Dialing{Address: listener.Addr().String()})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	return Call[string, string](ctx, c, "Echo.Say", "x")
}

func TestServersThatAnswerWell(t *testing.T) {
	t.Parallel()
	header := rpc.Response{ServiceMethod: "Echo.Say"}
	if got, err := askOf(t, encoded(t, header, Reply[string]{Body: "hi"})); err != nil || got != "hi" {
		t.Errorf("%q, %v", got, err)
	}
	// Fields that are absent read as zero.
	if got, err := askOf(t, encoded(t, header, Reply[string]{})); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestServersThatAnswerBadly(t *testing.T) {
	t.Parallel()
	header := rpc.Response{ServiceMethod: "Echo.Say"}
	good := encoded(t, header, Reply[string]{Body: "hi"})
	cases := []struct {
		why  string
		says []byte
		want wirelab.Code
	}{
		{"nothing", nil, wirelab.Unavailable},
		{"half an answer", good[:len(good)-2], wirelab.Unavailable},
		{"a header alone", encoded(t, header), wirelab.Unavailable},
		{"another protocol", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), wirelab.Unavailable},
		{"an answer to another call", encoded(t, rpc.Response{ServiceMethod: "Echo.Say", Seq: 77},
			Reply[string]{Body: "hi"}), wirelab.Unavailable},
		{"a body of another shape", encoded(t, header, struct{ Body int }{7}), wirelab.Unavailable},
		{
			"a failure of no code", encoded(t, header, Reply[string]{Failure: &Failure{Message: "why"}}),
			wirelab.Internal,
		},
		{
			"a failure of an unknown code", encoded(t, header, Reply[string]{Failure: &Failure{Code: "odd"}}),
			wirelab.Internal,
		},
		{
			"net/rpc's own error",
			encoded(t, rpc.Response{ServiceMethod: "Echo.Say", Error: "no such method"}, struct{}{}),
			wirelab.Unimplemented,
		},
	}
	for _, k := range cases {
		got, err := askOf(t, k.says)
		if err == nil || wirelab.CodeOf(err) != k.want {
			t.Errorf("%s: %q, %v, want code %v", k.why, got, err, k.want)
		}
	}
}

// What a server grants a message is what the message may take, type
// descriptions and header included.
func TestMeter(t *testing.T) {
	t.Parallel()
	long := encoded(t, rpc.Request{ServiceMethod: "Echo.Say"},
		Request[string]{Body: string(make([]byte, MessageLimit))})
	near, far := net.Pipe()
	defer near.Close()
	go func() { defer far.Close(); _, _ = far.Write(long) }()
	m := newStream(near)
	var header rpc.Request
	var body Request[string]
	if err := m.header(&header); err != nil {
		t.Fatal(err)
	}
	err := m.decode(&body)
	if err == nil || wirelab.CodeOf(err) != wirelab.ResourceExhausted {
		t.Errorf("a message above the limit: %v", err)
	}
}

func FuzzServer(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0xfc, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3})
	f.Add(encoded(f, rpc.Request{ServiceMethod: "Echo.Say", Seq: 1}, Request[string]{Body: "x", Timeout: time.Second}))
	f.Add(encoded(f, rpc.Request{ServiceMethod: "Echo.Say"}, struct{ Body int }{1}))
	f.Add(encoded(f, rpc.Request{ServiceMethod: "Control.Cancel"}, CancelRequest{Seq: 3},
		rpc.Request{ServiceMethod: "x"},
		CancelRequest{}))
	server := rpc.NewServer()
	if err := errors.Join(server.RegisterName("Echo", Echo{}), server.RegisterName(control, Control{})); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		near, far := net.Pipe()
		go func() {
			_, _ = near.Write(data)
			near.Close()
		}()
		go func() { _, _ = io.Copy(io.Discard, near) }()
		session := newSession(context.Background(), far)
		server.ServeCodec(session) // must return, and not panic
		if len(session.slots) != 0 || len(session.calls) != 0 {
			t.Fatalf("%d places and %d calls are left", len(session.slots), len(session.calls))
		}
	})
}

func FuzzClient(f *testing.F) {
	header := rpc.Response{ServiceMethod: "Echo.Say"}
	f.Add([]byte{})
	f.Add(encoded(f, header, Reply[string]{Body: "hi"}))
	f.Add(encoded(f, header, Reply[string]{Failure: &Failure{Code: "not_found", Message: "gone"}}))
	f.Add(encoded(f, rpc.Response{ServiceMethod: "Control.Cancel", Seq: 5, Error: "x"}, struct{}{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := askOf(t, data)
		if err != nil && got != "" {
			t.Fatalf("%q with %v", got, err)
		}
	})
}
