package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/gen/origin"
	"wirelab/wire/status"
)

type subscription = grpc.BidiStreamingClient[pb.SubscribeRequest, pb.Delivery]

// subscribe opens a subscription and takes its first frame.
func subscribe(t *testing.T, s *served, start *pb.Start) subscription {
	t.Helper()
	call, err := pb.NewHermesClient(s.conn).Subscribe(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	ask(t, call, &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: start}})
	d, err := call.Recv()
	if err != nil || !d.GetLive() || len(d.GetMessages()) > 0 {
		t.Fatalf("the first delivery is %v, %v", d, err)
	}
	return call
}

func ask(t *testing.T, call subscription, m *pb.SubscribeRequest) {
	t.Helper()
	if err := call.Send(m); err != nil {
		t.Fatal(err)
	}
}

func credit(messages uint32, bytes uint64) *pb.SubscribeRequest {
	return &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Credit{Credit: &pb.Credit{Messages: messages, Bytes: bytes}}}
}

func acked(first, last uint64) *pb.SubscribeRequest {
	return &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Ack{
		Ack: &pb.Ack{Ranges: []*pb.Range{{First: first, Last: last}}},
	}}
}

// take receives n messages, which must be those from an offset on.
func take(t *testing.T, call subscription, from uint64, n int) {
	t.Helper()
	for want := from; want < from+uint64(n); {
		d, err := call.Recv()
		if err != nil {
			t.Fatalf("at %d: %v", want, err)
		}
		if d.GetOffset() != want || len(d.GetMessages()) == 0 {
			t.Fatalf("at %d: %v", want, d)
		}
		for i, m := range d.GetMessages() {
			if string(m.GetPayload()) != fmt.Sprint(want+uint64(i)) {
				t.Fatalf("offset %d is %q", want+uint64(i), m.GetPayload())
			}
		}
		if want += uint64(len(d.GetMessages())); want > from+uint64(n) {
			t.Fatalf("%d messages beyond the credit", want-from-uint64(n))
		}
	}
}

// fill publishes messages that say their offsets, in runs of 10.
func fill(t *testing.T, b broker.Broker, n int) {
	t.Helper()
	for i := 0; i < n; i += 10 {
		var all []string
		for j := i; j < min(i+10, n); j++ {
			all = append(all, fmt.Sprint(j))
		}
		if v := brokertest.Publish(patient(t), b, broker.Run{
			Topic: "t", Messages: brokertest.Messages(all...),
			Count: len(all),
		}); v.Err != nil {
			t.Fatal(v.Err)
		}
	}
}

func TestCredit(t *testing.T) {
	t.Parallel()
	m := memory(t)
	fill(t, m, 100)
	s := serve(t, m, api.Options{})
	call := subscribe(t, s, &pb.Start{Topic: "t", From: &pb.Start_Replay{Replay: true}})
	for from, n := uint64(0), uint32(1); from < 66; n++ { // in the middle of runs
		ask(t, call, credit(n, 0))
		take(t, call, from, int(n))
		from += uint64(n)
	}
	// Once bytes are given they count; the last message may go beyond them.
	ask(t, call, credit(1, 1))
	take(t, call, 66, 1)
	ask(t, call, credit(100, 0))
	ask(t, call, credit(0, 1000))
	take(t, call, 67, 33)
	if err := call.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if d, err := call.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v, %v", d, err)
	}

	// A credit beyond all numbers is no overflow.
	call = subscribe(t, s, &pb.Start{
		Topic: "t", From: &pb.Start_Offset{Offset: 90},
		Credit: &pb.Credit{Bytes: 1<<64 - 1},
	})
	ask(t, call, credit(0, 1<<64-1))
	take(t, call, 90, 10)
	// The live frame says from where to go on.
	call = subscribe(t, s, &pb.Start{Topic: "t"})
	fill(t, m, 100)
	ask(t, call, credit(1, 0))
	if d, err := call.Recv(); err != nil || d.GetOffset() != 100 || d.GetAttempt() != 1 {
		t.Errorf("%v, %v", d, err)
	}
}

// A client that closes its half has its acks stored, and then a clean end.
func TestAcks(t *testing.T) {
	t.Parallel()
	m := memory(t)
	fill(t, m, 20)
	s := serve(t, m, api.Options{})
	start := &pb.Start{Topic: "t", From: &pb.Start_Group{Group: "g"}, Credit: &pb.Credit{Messages: 20}}
	call := subscribe(t, s, start)
	take(t, call, 0, 20)
	ask(t, call, acked(0, 9))
	if d, err := call.Recv(); err != nil || d.GetSettled() != 1 {
		t.Fatalf("%v, %v", d, err)
	}
	ask(t, call, &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Nack{
		Nack: &pb.Nack{Ranges: []*pb.Range{{First: 10, Last: 10}}, Reason: "no", Delay: 1},
	}})
	ask(t, call, acked(11, 12))
	ask(t, call, acked(13, 18))
	if err := call.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var settled uint64
	for {
		d, err := call.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		settled = max(settled, d.GetSettled())
	}
	if settled != 4 {
		t.Errorf("%d of 4 acks and nacks are settled at the end", settled)
	}
	g, err := m.Group(patient(t), "t", "g")
	if err != nil || g.Floor != 10 || len(g.Acked) != 1 || g.Acked[0] != (broker.Range{First: 11, Last: 18}) {
		t.Errorf("%+v, %v", g, err)
	}
	start.Credit = &pb.Credit{Messages: 2}
	call = subscribe(t, s, start)
	for _, want := range []uint64{10, 19} {
		if d, err := call.Recv(); err != nil || d.GetOffset() != want || d.GetAttempt() != 2 {
			t.Errorf("%v, %v where %d was to come again", d, err, want)
		}
	}
}

func TestSubscribeRefusals(t *testing.T) {
	t.Parallel()
	m := memory(t)
	s := serve(t, m, api.Options{Subscriptions: 1})
	started := func(start *pb.Start) *pb.SubscribeRequest {
		return &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: start}}
	}
	plain := started(&pb.Start{Topic: "t"})
	group := started(&pb.Start{Topic: "t", From: &pb.Start_Group{Group: "g"}})
	for _, c := range []struct {
		what   string
		frames []*pb.SubscribeRequest
		code   codes.Code
	}{
		{"nothing", nil, codes.InvalidArgument},
		{"credit first", []*pb.SubscribeRequest{credit(1, 1)}, codes.InvalidArgument},
		{"a topic that is not there", []*pb.SubscribeRequest{started(&pb.Start{Topic: "none"})}, codes.NotFound},
		{"a name that is none", []*pb.SubscribeRequest{started(&pb.Start{Topic: "a\x00b"})}, codes.InvalidArgument},
		{"no group's name", []*pb.SubscribeRequest{
			started(&pb.Start{Topic: "t", From: &pb.Start_Group{Group: hermes.Replay}}),
		}, codes.InvalidArgument},
		{
			"too much in flight",
			[]*pb.SubscribeRequest{started(&pb.Start{Topic: "t", InFlight: 1 << 31})},
			codes.InvalidArgument,
		},
		{"a second start", []*pb.SubscribeRequest{plain, plain}, codes.InvalidArgument},
		{"a frame that is nothing", []*pb.SubscribeRequest{plain, {}}, codes.InvalidArgument},
		{"an ack without a group", []*pb.SubscribeRequest{plain, acked(0, 0)}, codes.InvalidArgument},
		{"a range the wrong way round", []*pb.SubscribeRequest{group, acked(1, 0)}, codes.InvalidArgument},
		{
			"a delay below 0",
			[]*pb.SubscribeRequest{group, {Does: &pb.SubscribeRequest_Nack{Nack: &pb.Nack{Delay: -1}}}},
			codes.InvalidArgument,
		},
	} {
		call, err := pb.NewHermesClient(s.conn).Subscribe(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range c.frames {
			ask(t, call, f)
		}
		if c.frames == nil {
			if err := call.CloseSend(); err != nil {
				t.Fatal(err)
			}
		}
		for err == nil {
			_, err = call.Recv()
		}
		wantCode(t, c.what, err, c.code)
	}
	held := subscribe(t, s, &pb.Start{Topic: "t"})
	second, err := pb.NewHermesClient(s.conn).Subscribe(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Recv()
	wantCode(t, "one more than the door takes (hb-D26)", err, codes.ResourceExhausted)
	if err := held.CloseSend(); err != nil {
		t.Error(err)
	}
}

// failing is a feed that fails, or whose acks do.
type failing struct {
	broker.Feed
	next, ack error
}

func (f *failing) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	if f.next != nil {
		return broker.Batch{}, f.next
	}
	return f.Feed.Next(ctx, room)
}

func (f *failing) Ack(context.Context, []broker.Range) error { return f.ack }

// A feed that ends, ends the stream, and says why; so does an ack that fails. (hb-D20)
func TestFeedFails(t *testing.T) {
	t.Parallel()
	m := memory(t)
	gone := status.Errorf(status.Unavailable, "the node leads no longer")
	for _, f := range []*failing{{next: gone}, {ack: gone}} {
		b := &faulty{Broker: m, subscribe: func(ctx context.Context, start broker.Start) (broker.Feed, error) {
			feed, err := m.Subscribe(ctx, start)
			f.Feed = feed
			return f, err
		}}
		s := serve(t, b, api.Options{})
		call := subscribe(t, s,
			&pb.Start{Topic: "t", From: &pb.Start_Group{Group: "g"}, Credit: &pb.Credit{Messages: 1}})
		_ = call.Send(acked(0, 0)) // the stream may have ended already
		d, err := call.Recv()
		if f.ack == nil && err == nil && d.GetSettled() == 1 { // the ack went well before the feed failed
			d, err = call.Recv()
		}
		if err == nil {
			t.Errorf("before the end comes %v", d)
		}
		wantCode(t, "the end", err, codes.Unavailable)

		old := originSubscribe(t, s, "t", "g")
		_ = old.Send(&origin.SubscribeRequest{Action: "ACK", AckMessageId: "t/0"})
		_, err = old.Recv()
		wantCode(t, "the end, by the origin's service", err, codes.Unavailable)
	}
}

// An ack of which a part came too late is settled and says which; the stream continues.
func TestLateAck(t *testing.T) {
	t.Parallel()
	m := memory(t)
	fill(t, m, 2)
	b := &faulty{Broker: m, subscribe: func(ctx context.Context, start broker.Start) (broker.Feed, error) {
		feed, err := m.Subscribe(ctx, start)
		return &failing{
				Feed: feed,
				ack:  &broker.LateError{Ranges: []broker.Range{{First: 3, Last: 5}, {First: 7, Last: 7}}},
			},
			err
	}}
	s := serve(t, b, api.Options{})
	call := subscribe(t, s, &pb.Start{Topic: "t", From: &pb.Start_Group{Group: "g"}, Credit: &pb.Credit{Messages: 1}})
	take(t, call, 0, 1)
	ask(t, call, acked(0, 0))
	d, err := call.Recv()
	var late []broker.Range
	for _, r := range d.GetLate() {
		late = append(late, broker.Range{First: r.GetFirst(), Last: r.GetLast()})
	}
	if err != nil || d.GetSettled() != 1 ||
		!slices.Equal(late, []broker.Range{{First: 3, Last: 5}, {First: 7, Last: 7}}) {
		t.Errorf("%v, %v", d, err)
	}
	ask(t, call, &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Credit{Credit: &pb.Credit{Messages: 1}}})
	take(t, call, 1, 1)
}

// Clients that leave, whatever they were about, leave nothing behind: their subscriptions
// end, and groups get back what they had. (hb-D04, hb-D20)
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	m := memory(t)
	fill(t, m, 50)
	s := serve(t, m, api.Options{})
	for range 20 {
		ctx, cancel := context.WithCancel(patient(t))
		call, err := pb.NewHermesClient(s.conn).Subscribe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, call, &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: &pb.Start{
			Topic: "t", From: &pb.Start_Group{Group: "g"}, Credit: &pb.Credit{Messages: 50},
		}}})
		if _, err := call.Recv(); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	for {
		topic, err := m.Topic(patient(t), "t", true)
		if err != nil {
			t.Fatal(err)
		}
		if topic.Subscribers == 0 {
			break
		}
	}
	if g, err := m.Group(patient(t), "t", "g"); err != nil || g.Members != 0 || g.InFlight != 0 {
		t.Errorf("%+v, %v", g, err)
	}
}
