package bind_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"wirelab/wire/netrpc"
	"wirelab/workload/routeguide"
	"wirelab/workload/routeguide/bind"
	"wirelab/workload/routeguide/gen"
)

// rawConversation says messages of package exchange to a server over TCP and
// returns all it answers up to count messages.
func rawConversation(t testing.TB, address string, count int, says ...string) (hears []string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	for _, message := range says {
		frame := append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
		if _, err := conn.Write(frame); err != nil {
			t.Fatal(err)
		}
	}
	for range count {
		var head [4]byte
		if _, err := io.ReadFull(conn, head[:]); err != nil {
			t.Fatalf("after %q: %v", hears, err)
		}
		message := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(conn, message); err != nil {
			t.Fatal(err)
		}
		hears = append(hears, string(message))
	}
	return hears
}

// TestRawTCPWithAbsentFields checks that absent fields read as 0, 0 and crash no server (duh-D01). The bytes are
// written out: the numbers of kinds and operations must never change.
func TestRawTCPWithAbsentFields(t *testing.T) {
	t.Parallel()
	address := serveBinding(t, bind.RawTCP())
	message := func(m proto.Message) string {
		data, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	cases := []struct {
		why   string
		says  []string
		hears []string
	}{
		{
			"a point without coordinates",
			[]string{"\x01\x01\x00"},
			[]string{"\x04" + message(&gen.Feature{Location: &gen.Point{}})},
		},
		{"a rectangle without corners", []string{"\x01\x02\x00"}, []string{"\x03"}},
		{"a route without points", []string{"\x01\x03\x00", "\x03"}, []string{"\x04"}},
		{
			"a note without a location",
			[]string{"\x01\x04\x00", "\x02", "\x03"},
			[]string{"\x02" + message(&gen.RouteNote{Location: &gen.Point{}}), "\x03"},
		},
		{"a point that is no message", []string{"\x01\x01\x00\xff"}, nil},
		{"a text that is not UTF-8", []string{"\x01\x04\x00", "\x02\x12\x01\xff", "\x03"}, nil},
	}
	for _, k := range cases {
		got := rawConversation(t, address, max(len(k.hears), 1), k.says...)
		if k.hears == nil {
			if got[0][:2] != "\x05\x03" {
				t.Errorf("%s: answers %q, want a failure with 3, invalid argument", k.why, got)
			}
			continue
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", k.hears) {
			t.Errorf("%s: answers %q, want %q", k.why, got, k.hears)
		}
	}
}

// A plain net/rpc client that sends no point gets the one at 0, 0.
func TestNetRPCWithAbsentFields(t *testing.T) {
	t.Parallel()
	client, err := rpc.Dial("tcp", serveBinding(t, bind.NetRPC()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var reply netrpc.Reply[routeguide.Feature]
	if err := client.Call("RouteGuide.GetFeature", struct{ Timeout time.Duration }{time.Minute}, &reply); err != nil {
		t.Fatal(err)
	}
	if reply.Failure != nil || reply.Body != (routeguide.Feature{}) {
		t.Errorf("%+v", reply)
	}
	reply = netrpc.Reply[routeguide.Feature]{}
	outside := struct{ Body routeguide.Point }{routeguide.Point{Latitude: routeguide.LatitudeLimit + 1}}
	if err := client.Call("RouteGuide.GetFeature", outside, &reply); err != nil {
		t.Fatal(err)
	}
	_, want := routeguide.New().GetFeature(context.Background(), outside.Body)
	if reply.Failure == nil || reply.Failure.Code+": "+reply.Failure.Message != want.Error() {
		t.Errorf("%+v, want %v", reply.Failure, want)
	}
}
