package grpccall_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"wirelab"
	"wirelab/internal/leaktest"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/external/grpccall"
	"wirelab/workload/external/request"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// echo answers any method with each message that it gets, for methods of one reply only
// with the first; and says how the call was made.
func echo(_ any, call grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(call.Context())
	path, _ := grpc.MethodFromServerStream(call)
	_ = call.SendHeader(metadata.Pairs("said", strings.Join(md["say"], "+"), "raw-bin", "\x00\xff"))
	call.SetTrailer(metadata.Pairs("bytes", fmt.Sprintf("%x", strings.Join(md["some-bin"], ""))))
	for n := 0; ; n++ {
		got := new(wrapperspb.BytesValue)
		if call.RecvMsg(got) != nil {
			return nil //nolint:nilerr // the client has sent all it wants to
		}
		switch {
		case strings.HasSuffix(path, "/Fail"):
			return status.Error(codes.FailedPrecondition, "not now")
		case strings.HasSuffix(path, "/Endless"):
			for call.SendMsg(wrapperspb.Bytes(make([]byte, 1<<20))) == nil {
			}
			return nil
		case n == 0 || strings.HasSuffix(path, "/Chat"):
			if err := call.SendMsg(got); err != nil {
				return err
			}
			for range 2 {
				if strings.HasSuffix(path, "/List") {
					_ = call.SendMsg(got)
				}
			}
		}
	}
}

// serve starts the echo and returns its address.
func serve(t testing.TB) wirelab.Dialing {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(echo), grpc.MaxRecvMsgSize(grpccall.MaxMessage))
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return wirelab.Dialing{Address: listener.Addr().String(), Connections: 1}
}

// stubs are all that there are, of one server.
func stubs(t testing.TB, to wirelab.Dialing) map[string]grpccall.Stub {
	t.Helper()
	conn, err := wiregrpc.Dial(to, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := wireconnect.Dial(to, wireconnect.H2C)
	t.Cleanup(func() { _ = client.Close() })
	return map[string]grpccall.Stub{
		"grpc-go": grpccall.GRPCStub(conn), "connect-go": grpccall.RawStub(client, client.BaseURL()),
	}
}

func encode(t testing.TB, texts ...string) [][]byte {
	t.Helper()
	var all [][]byte
	for _, text := range texts {
		m, err := proto.Marshal(wrapperspb.Bytes([]byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// All four kinds of call, by both libraries: the bytes that come back are those that were sent,
// and so is the metadata.
func TestKinds(t *testing.T) {
	t.Parallel()
	to := serve(t)
	for library, stub := range stubs(t, to) {
		var reply grpccall.Reply // one for all: used again
		for _, c := range []struct {
			method      grpccall.Method
			sent, reply []string
		}{
			{grpccall.Method{Path: "/a.B/One"}, []string{"x"}, []string{"x"}},
			{grpccall.Method{Path: "/a.B/One"}, []string{""}, []string{""}},
			{grpccall.Method{Path: "/a.B/List", ServerStreaming: true}, []string{"long\n\x00"}, []string{
				"long\n\x00",
				"long\n\x00", "long\n\x00",
			}},
			{
				grpccall.Method{Path: "/a.B/List", ServerStreaming: true},
				[]string{strings.Repeat("x", 1<<20)},
				slices.Repeat([]string{strings.Repeat("x", 1<<20)}, 3),
			},
			{grpccall.Method{Path: "/a.B/Sum", ClientStreaming: true}, []string{"a", "b", "c"}, []string{"a"}},
			{
				grpccall.Method{Path: "/a.B/Chat", ClientStreaming: true, ServerStreaming: true},
				[]string{"a", "", "c"},
				[]string{"a", "", "c"},
			},
			{grpccall.Method{Path: "/a.B/Chat", ClientStreaming: true, ServerStreaming: true}, nil, nil},
		} {
			name := fmt.Sprintf("%s %s %.20q", library, c.method.Path, c.sent)
			r, err := grpccall.New(c.method, []request.Field{
				{Name: "Say", Value: "hello"}, {Name: "say", Value: "again"}, {Name: "some-bin", Value: "AP8="},
			}, encode(t, c.sent...))
			if err != nil {
				t.Fatal(err)
			}
			reply.Want = len(c.sent)%2 == 1
			if err := stub.Do(t.Context(), r, &reply); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if reply.Status != 0 {
				t.Errorf("%s: status %d", name, reply.Status)
			}
			if !slices.EqualFunc(reply.Messages, encode(t, c.reply...), bytes.Equal) {
				t.Errorf("%s: %.100q", name, reply.Messages)
			}
			if !reply.Want {
				if reply.Header != nil || reply.Trailer != nil {
					t.Errorf("%s: header %v, trailer %v, not wanted", name, reply.Header, reply.Trailer)
				}
				continue
			}
			if request.Get(reply.Header, "said") != "hello+again" || request.Get(reply.Header, "raw-bin") != "AP8" ||
				request.Get(reply.Trailer, "bytes") != "00ff" {
				t.Errorf("%s: header %v, trailer %v", name, reply.Header, reply.Trailer)
			}
		}
	}
}

// Errors are those of the wire's table, and a reply without an end is given up.
func TestFailures(t *testing.T) {
	t.Parallel()
	to := serve(t)
	for library, stub := range stubs(t, to) {
		for _, c := range []struct {
			method grpccall.Method
			code   wirelab.Code
			say    string
		}{
			{grpccall.Method{Path: "/a.B/Fail"}, wirelab.Conflict, "not now"},
			{grpccall.Method{Path: "/a.B/Fail", ServerStreaming: true}, wirelab.Conflict, "not now"},
			{grpccall.Method{Path: "/a.B/Fail", ClientStreaming: true}, wirelab.Conflict, "not now"},
			{
				grpccall.Method{Path: "/a.B/Fail", ClientStreaming: true, ServerStreaming: true},
				wirelab.Conflict,
				"not now",
			},
			{grpccall.Method{Path: "/a.B/Endless", ServerStreaming: true}, wirelab.ResourceExhausted, "more than"},
			{
				grpccall.Method{Path: "/a.B/Endless", ClientStreaming: true, ServerStreaming: true},
				wirelab.ResourceExhausted,
				"more than",
			},
		} {
			messages := encode(t, "x")
			if c.method.ClientStreaming { // more than any window has room for
				messages = encode(t, slices.Repeat([]string{strings.Repeat("y", 1<<20)}, 12)...)
			}
			r, err := grpccall.New(c.method, nil, messages)
			if err != nil {
				t.Fatal(err)
			}
			var reply grpccall.Reply
			err = stub.Do(t.Context(), r, &reply)
			if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%s %+v: %v, want %v", library, c.method, err, c.code)
			}
			if failed := codes.FailedPrecondition; c.code == wirelab.Conflict && reply.Status != int(failed) {
				t.Errorf("%s %+v: status %d", library, c.method, reply.Status)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r, err := grpccall.New(grpccall.Method{Path: "/a.B/One"}, nil, encode(t, "x"))
		if err != nil {
			t.Fatal(err)
		}
		if err := stub.Do(ctx, r, new(grpccall.Reply)); wirelab.CodeOf(err) != wirelab.Canceled {
			t.Errorf("%s: canceled: %v", library, err)
		}
	}
}

// One call with everything that came back.
func TestCall(t *testing.T) {
	t.Parallel()
	to := serve(t)
	conn, err := wiregrpc.Dial(to, false)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reply, err := grpccall.Call(t.Context(), conn, grpccall.Method{Path: "/a.B/One"}, nil, encode(t, "x"))
	if err != nil || len(reply.Messages) != 1 || request.Get(reply.Header, "content-type") != "application/grpc" {
		t.Errorf("%+v, %v", reply, err)
	}
	_, err = grpccall.Call(t.Context(), conn, grpccall.Method{Path: "/a.B/Fail"}, nil, encode(t, "x"))
	if wirelab.CodeOf(err) != wirelab.Conflict {
		t.Error(err)
	}
}

// What cannot be sent is refused before anything is, with what would be right.
func TestRefused(t *testing.T) {
	t.Parallel()
	unary := grpccall.Method{Path: "/a.B/One"}
	one := [][]byte{nil}
	for _, c := range []struct {
		method   grpccall.Method
		fields   []request.Field
		messages [][]byte
		say      string
	}{
		{grpccall.Method{Path: "a.B/One"}, nil, one, "/shop.Cart/AddItem"},
		{grpccall.Method{Path: ""}, nil, one, "/shop.Cart/AddItem"},
		{grpccall.Method{Path: "/a.B"}, nil, one, "/shop.Cart/AddItem"},
		{grpccall.Method{Path: "/a.B/ "}, nil, one, "/shop.Cart/AddItem"},
		{unary, nil, nil, "takes one message, and there are 0"},
		{unary, nil, [][]byte{nil, nil}, "takes one message, and there are 2"},
		{unary, nil, [][]byte{make([]byte, grpccall.MaxMessage+1)}, "at most"},
		{
			grpccall.Method{Path: "/a/b", ClientStreaming: true},
			nil, slices.Repeat([][]byte{make([]byte, 8<<20)}, 3),
			"of one call",
		},
		{unary, []request.Field{{Name: "grpc-timeout", Value: "1S"}}, one, "belongs to gRPC"},
		{unary, []request.Field{{Name: "Content-Type", Value: "x"}}, one, "belongs to gRPC"},
		{unary, []request.Field{{Name: "a b", Value: "x"}}, one, "letters, digits"},
		{unary, []request.Field{{Name: ":path", Value: "x"}}, one, "letters, digits"},
		{unary, []request.Field{{Name: "", Value: "x"}}, one, "letters, digits"},
		{unary, []request.Field{{Name: "a", Value: "é"}}, one, "-bin"},
		{unary, []request.Field{{Name: "a", Value: "x\r\nb: c"}}, one, "-bin"},
		{unary, []request.Field{{Name: "a-bin", Value: "!"}}, one, "base64"},
	} {
		_, err := grpccall.New(c.method, c.fields, c.messages)
		var coded *wirelab.Error
		if !errors.As(err, &coded) || coded.Code != wirelab.InvalidArgument || !strings.Contains(coded.Message, c.say) {
			t.Errorf("%+v %v: %v", c.method, c.fields, err)
		}
	}
}

func FuzzUnframe(f *testing.F) {
	f.Add(grpccall.Frame(nil))
	f.Add(grpccall.Frame([][]byte{{1, 2}, nil, []byte("xyz")}))
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Add([]byte{0, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, err := grpccall.Unframe(data)
		if err == nil && !bytes.Equal(grpccall.Frame(messages), data) {
			t.Errorf("%x: %x", data, messages)
		}
	})
}

func FuzzNew(f *testing.F) {
	f.Add("/a.B/C", "name", "value")
	f.Add("/a.B/C", "name-bin", "AP8")
	f.Add("", ":path", "\r\n")
	f.Fuzz(func(_ *testing.T, path, name, value string) {
		_, _ = grpccall.New(grpccall.Method{Path: path}, []request.Field{{Name: name, Value: value}}, [][]byte{nil})
	})
}

// BenchmarkUnary measures the cost of a call apart from its bytes, with a server in the same process.
func BenchmarkUnary(b *testing.B) {
	to := serve(b)
	for library, stub := range stubs(b, to) {
		b.Run(library, func(b *testing.B) {
			r, err := grpccall.New(grpccall.Method{Path: "/a.B/One"}, nil, encode(b, "some bytes"))
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
			defer cancel()
			var reply grpccall.Reply
			b.ReportAllocs()
			for b.Loop() {
				if err := stub.Do(ctx, r, &reply); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
