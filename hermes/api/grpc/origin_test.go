package grpc_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/gen/origin"
)

func originSubscribe(t *testing.T, s *served, topic, group string) grpc.BidiStreamingClient[origin.SubscribeRequest,
	origin.Message] {
	t.Helper()
	call, err := origin.NewBrokerServiceClient(s.conn).Subscribe(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Send(&origin.SubscribeRequest{Action: "SUBSCRIBE", Topic: topic, GroupId: group}); err != nil {
		t.Fatal(err)
	}
	if _, err := call.Header(); err != nil {
		t.Fatal(err)
	}
	return call
}

// hb-F01 to hb-F05: the origin's calls, on a topic that they make themselves.
func TestOrigin(t *testing.T) {
	t.Parallel()
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	s := serve(t, m, api.Options{})
	o, ctx := origin.NewBrokerServiceClient(s.conn), patient(t)
	if r, err := o.Publish(ctx, &origin.PublishRequest{Topic: "news", Payload: []byte("\x00\xff")}); err != nil ||
		!r.GetSuccess() {
		t.Errorf("%v, %v", r, err)
	}
	if r, err := o.PublishBatch(ctx, &origin.PublishBatchRequest{Topic: "news", Payloads: [][]byte{
		[]byte("b"),
		[]byte("c"),
	}, Mode: origin.DeliveryMode_EVENTUAL}); err != nil || !r.GetSuccess() {
		t.Errorf("%v, %v", r, err)
	}
	stream, err := o.PublishStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{"news", "no name", "news"} {
		if err := stream.Send(&origin.PublishRequest{Topic: topic, Payload: []byte("d")}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := stream.CloseAndRecv(); err != nil || r.GetProcessedCount() != 2 || r.GetFailedCount() != 1 {
		t.Errorf("%v, %v", r, err)
	}

	want := []string{"\x00\xff", "b", "c", "d", "d"}
	for _, group := range []string{hermes.Replay, "g"} {
		call := originSubscribe(t, s, "news", group)
		ids := map[string]bool{}
		for i, payload := range want {
			got, err := call.Recv()
			if err != nil || string(got.GetPayload()) != payload || got.GetTopic() != "news" ||
				got.GetTimestamp() == 0 {
				t.Fatalf("%s: message %d is %v, %v", group, i, got, err)
			}
			if ids[got.GetId()] || got.GetId() != fmt.Sprintf("news/%d", i) {
				t.Errorf("%s: id %q (hb-D13)", group, got.GetId())
			}
			ids[got.GetId()] = true
			if i == 2 {
				continue // a gap stays (hb-D01)
			}
			if err := call.Send(&origin.SubscribeRequest{Action: "ACK", AckMessageId: got.GetId()}); err != nil {
				t.Fatal(err)
			}
		}
		if err := call.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if got, err := call.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the end is %v, %v", group, got, err)
		}
	}
	if g, err := m.Group(ctx, "news", "g"); err != nil || g.Floor != 2 || len(g.Acked) != 1 ||
		g.Acked[0] != (broker.Range{First: 3, Last: 4}) {
		t.Errorf("%+v, %v", g, err)
	}
	again := originSubscribe(t, s, "news", "g")
	if got, err := again.Recv(); err != nil || got.GetId() != "news/2" {
		t.Errorf("%v, %v", got, err)
	}
}

// hb-D16: a batch of any size is stored whole, in order, or the failure says how much of it is.
func TestOriginBatch(t *testing.T) {
	t.Parallel()
	m := memory(t)
	s := serve(t, m, api.Options{})
	o, ctx := origin.NewBrokerServiceClient(s.conn), patient(t)
	payloads := make([][]byte, 2*hermes.RunMessages+1)
	for i := range payloads {
		payloads[i] = fmt.Append(nil, i)
	}
	if _, err := o.PublishBatch(ctx, &origin.PublishBatchRequest{Topic: "t", Payloads: payloads}); err != nil {
		t.Fatal(err)
	}
	large := make([][]byte, 7)
	for i := range large {
		large[i] = make([]byte, hermes.PayloadLimit)
	}
	if _, err := o.PublishBatch(ctx, &origin.PublishBatchRequest{Topic: "t", Payloads: large}); err != nil {
		t.Fatal(err)
	}
	if topic, err := m.Topic(ctx, "t", true); err != nil || topic.Next != uint64(len(payloads)+len(large)) {
		t.Errorf("%+v, %v", topic, err)
	}
}

func TestOriginRefusals(t *testing.T) {
	t.Parallel()
	m := memory(t)
	s := serve(t, m, api.Options{})
	o, ctx := origin.NewBrokerServiceClient(s.conn), patient(t)
	_, err := o.Publish(ctx, &origin.PublishRequest{Topic: "t", Mode: 7})
	wantCode(t, "a mode that is none (hb-D27)", err, codes.InvalidArgument)
	_, err = o.Publish(ctx, &origin.PublishRequest{Payload: []byte("x")})
	wantCode(t, "no topic (hb-D27)", err, codes.InvalidArgument)
	_, err = o.PublishBatch(ctx, &origin.PublishBatchRequest{Topic: "t"})
	wantCode(t, "an empty batch", err, codes.InvalidArgument)
	_, err = o.PublishBatch(ctx, &origin.PublishBatchRequest{
		Topic:    "t",
		Payloads: [][]byte{make([]byte, hermes.PayloadLimit+1)},
	})
	wantCode(t, "a long payload", err, codes.InvalidArgument)
	for _, r := range []*origin.JoinRequest{
		{},
		{NodeId: "node-2"},
		{RaftAddr: "h:1"},
		{NodeId: "node", RaftAddr: "h:1"},
		{NodeId: "node-0", RaftAddr: "h:1"},
	} {
		_, err = o.Join(ctx, r)
		wantCode(t, fmt.Sprint("join ", r), err, codes.InvalidArgument)
	}
	_, err = o.Join(ctx, &origin.JoinRequest{NodeId: "node-2", RaftAddr: "h:1"})
	wantCode(t, "a node in memory stays alone", err, codes.Unimplemented)
	m.Lead(false)
	_, err = o.Publish(ctx, &origin.PublishRequest{Topic: "t"})
	wantCode(t, "no leader", err, codes.Unavailable)
	_, err = o.PublishBatch(ctx, &origin.PublishBatchRequest{Topic: "t", Payloads: [][]byte{nil}})
	wantCode(t, "a batch without a leader", err, codes.Unavailable)
	m.Lead(true)

	for what, frames := range map[string][]*origin.SubscribeRequest{
		"another action first": {{Action: "ACK", Topic: "t"}},
		"no topic":             {{Action: "SUBSCRIBE"}},
		"another action then":  {{Action: "SUBSCRIBE", Topic: "t"}, {Action: "SUBSCRIBE"}},
		"an id of no message":  {{Action: "SUBSCRIBE", Topic: "t", GroupId: "g"}, {Action: "ACK", AckMessageId: "x"}},
		"an id of another topic": {
			{Action: "SUBSCRIBE", Topic: "t", GroupId: "g"},
			{Action: "ACK", AckMessageId: "u/1"},
		},
		"a group's name that is none": {{Action: "SUBSCRIBE", Topic: "t", GroupId: "a b"}},
	} {
		call, err := o.Subscribe(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frames {
			if err := call.Send(f); err != nil {
				t.Fatal(err)
			}
		}
		_, err = call.Recv()
		wantCode(t, what, err, codes.InvalidArgument)
	}
}

// At the tail, live, by the origin's service, performance mode too.
func TestOriginTail(t *testing.T) {
	t.Parallel()
	m := memory(t)
	s := serve(t, m, api.Options{})
	call := originSubscribe(t, s, "t", "")
	for { // the origin has no word for being registered
		if topic, err := m.Topic(patient(t), "t", true); err != nil || topic.Subscribers == 1 {
			break
		}
	}
	for _, mode := range []hermes.Mode{hermes.Performance, hermes.Consistent} {
		if v := brokertest.Publish(patient(t), m, broker.Run{
			Topic: "t", Messages: brokertest.Messages("x"), Count: 1,
			Mode: mode,
		}); v.Err != nil {
			t.Fatal(v.Err)
		}
	}
	for _, id := range []string{"", "t/0"} {
		if got, err := call.Recv(); err != nil || got.GetId() != id || string(got.GetPayload()) != "x" {
			t.Errorf("%v, %v", got, err)
		}
	}
	if err := call.Send(&origin.SubscribeRequest{Action: "ACK", AckMessageId: "t/0"}); err != nil { // no harm
		t.Error(err)
	}
	if err := call.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := call.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
