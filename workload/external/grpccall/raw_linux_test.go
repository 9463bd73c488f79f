package grpccall_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"wirelab"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/raw"
	"wirelab/workload/external/grpccall"
	"wirelab/workload/routeguide/bind"
	"wirelab/workload/routeguide/gen"
)

// routeguide serves ours over gRPC by a library until the test ends.
func routeguide(t testing.TB, library string) wirelab.Dialing {
	t.Helper()
	cells := bind.Workload().Erase().Cells
	i := slices.IndexFunc(cells, func(c wirelab.Cell) bool { return c.Protocol.Name == "grpc" && c.Server == library })
	if i < 0 {
		t.Fatalf("no cell of %s", library)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- cells[i].Serve(ctx, wirelab.Endpoint{Listener: listener, Drain: time.Second}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return wirelab.Dialing{Address: listener.Addr().String(), Connections: 1}
}

// asked is a call and what the generated stub gets for it.
type asked struct {
	method   grpccall.Method
	messages [][]byte
	reply    [][]byte // deterministic bytes
	err      error
}

func wire(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// askGenerated makes calls by the generated stub.
func askGenerated(t testing.TB, to wirelab.Dialing) []asked {
	t.Helper()
	conn, err := wiregrpc.Dial(to, false)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stub := gen.NewRouteGuideClient(conn)
	var all []asked
	points := []*gen.Point{
		{Latitude: 409146138, Longitude: -746188906},
		{},
		{Latitude: 407838351, Longitude: -746143763},
		{Latitude: 1 << 30, Longitude: 5}, // out of range: an error
	}
	for _, p := range points {
		a := asked{
			method:   grpccall.Method{Path: gen.RouteGuide_GetFeature_FullMethodName},
			messages: [][]byte{wire(t, p)},
		}
		got, err := stub.GetFeature(t.Context(), p)
		if a.err = wiregrpc.Decode(err); err == nil {
			a.reply = [][]byte{wire(t, got)}
		}
		all = append(all, a)
	}
	in := &gen.Rectangle{Lo: &gen.Point{Latitude: 400000000, Longitude: -750000000}, Hi: &gen.Point{
		Latitude:  420000000,
		Longitude: -730000000,
	}}
	list := asked{
		method:   grpccall.Method{Path: gen.RouteGuide_ListFeatures_FullMethodName, ServerStreaming: true},
		messages: [][]byte{wire(t, in)},
	}
	features, err := stub.ListFeatures(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for got, err := features.Recv(); err == nil; got, err = features.Recv() {
		list.reply = append(list.reply, wire(t, got))
	}
	record := asked{method: grpccall.Method{Path: gen.RouteGuide_RecordRoute_FullMethodName, ClientStreaming: true}}
	route, err := stub.RecordRoute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points[:3] {
		record.messages = append(record.messages, wire(t, p))
		if err := route.Send(p); err != nil {
			t.Fatal(err)
		}
	}
	summary, err := route.CloseAndRecv()
	if err != nil {
		t.Fatal(err)
	}
	record.reply = [][]byte{wire(t, summary)}
	return append(all, list, record)
}

// check performs a call and compares its reply with the generated stub's.
func (a asked) check(t testing.TB) wirelab.Check[grpccall.Stub] {
	t.Helper()
	r, err := grpccall.New(a.method, nil, a.messages)
	if err != nil {
		t.Fatal(err)
	}
	var reply grpccall.Reply
	return func(ctx context.Context, stub grpccall.Stub) error {
		err := stub.Do(ctx, r, &reply)
		switch {
		case err == nil && a.err == nil && slices.EqualFunc(reply.Messages, a.reply, bytes.Equal):
			return nil
		case err != nil && a.err != nil && wirelab.CodeOf(err) == wirelab.CodeOf(a.err):
			return nil
		case err != nil:
			return err
		}
		return &wirelab.Mismatch{Got: "other bytes", Want: "those of the generated stub"}
	}
}

func driver() *wirelab.Raw[grpccall.Stub] {
	return raw.Driver(raw.Over{Version: raw.HTTP2}, nil, func(t *raw.Transport, scheme, address string) grpccall.Stub {
		return grpccall.RawStub(t, scheme+"://"+address)
	})
}

// loop makes calls in every slot until so many have ended; it returns how many were right, and the first other end.
func loop(t testing.TB, lines wirelab.Lines, calls int) (right int, first error) {
	t.Helper()
	begun, over := 0, 0
	for slot := range min(lines.Slots(), calls) {
		lines.Begin(slot)
		begun++
	}
	for limit := time.Now().Add(2 * time.Minute); over < calls; {
		err := lines.Turn(100*time.Millisecond, func(slot int, err error) {
			over++
			if err == nil {
				right++
			} else if first == nil {
				first = err
			}
			if begun < calls {
				begun++
				lines.Begin(slot)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatalf("%d of %d calls are over", over, calls)
		}
	}
	return right, first
}

// The raw driver makes these calls as it makes those of compiled cells: every reply of unary
// calls, server streams and client streams is the one that the generated stub gets.
func TestRaw(t *testing.T) {
	t.Parallel()
	for _, library := range []string{"grpc-go", "connect-go"} {
		to := routeguide(t, library)
		all := askGenerated(t, to)
		series := make([]wirelab.Check[grpccall.Stub], len(all))
		for i, a := range all {
			series[i] = a.check(t)
		}
		for _, slots := range []int{1, 17} {
			lines, err := driver().Dial(t.Context(), to, slots, series)
			if err != nil {
				t.Fatal(err)
			}
			if right, err := loop(t, lines, 200); right != 200 {
				t.Errorf("%s: %d of 200 are right: %v", library, right, err)
			}
			if err := lines.Close(); err != nil {
				t.Error(err)
			}
		}
		wrong := all[0]
		wrong.reply = [][]byte{append(bytes.Clone(wrong.reply[0]), 0x20, 1)}
		lines, err := driver().Dial(t.Context(), to, 1, []wirelab.Check[grpccall.Stub]{wrong.check(t)})
		if err != nil {
			t.Fatal(err)
		}
		var mismatch *wirelab.Mismatch
		if right, err := loop(t, lines, 3); right != 0 || !errors.As(err, &mismatch) {
			t.Errorf("%s: a wrong reply: %d right, %v", library, right, err)
		}
		if err := lines.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A conversation whose requests are known beforehand is one that a raw driver carries, too.
func TestRawChat(t *testing.T) {
	t.Parallel()
	to := serve(t)
	chat := asked{
		method:   grpccall.Method{Path: "/a.B/Chat", ClientStreaming: true, ServerStreaming: true},
		messages: encode(t, "a", "", "c"), reply: encode(t, "a", "", "c"),
	}
	lines, err := driver().Dial(t.Context(), to, 5, []wirelab.Check[grpccall.Stub]{chat.check(t)})
	if err != nil {
		t.Fatal(err)
	}
	if right, err := loop(t, lines, 50); right != 50 {
		t.Errorf("%d of 50 are right: %v", right, err)
	}
	if err := lines.Close(); err != nil {
		t.Error(err)
	}
}
