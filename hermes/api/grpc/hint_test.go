package grpc_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/gen/origin"
	"wirelab/wire/status"
)

// A node that does not lead says who does; one that leads says nothing.
func TestHints(t *testing.T) {
	t.Parallel()
	ctx := patient(t)
	for _, c := range []struct{ leader, want string }{{"10.0.0.2:50051", "10.0.0.2:50051"}, {"", ""}} {
		f := &faulty{Broker: memory(t)}
		if c.leader != "" {
			f.leader = func() (broker.Member, bool) { return broker.Member{ID: 2, GRPC: c.leader}, true }
			f.publish = func(_ context.Context, _ broker.Run, done func(broker.Verdict)) {
				done(broker.Verdict{Err: status.Errorf(status.Unavailable, "the leader went away")})
			}
		}
		s := serve(t, f, api.Options{})
		var header metadata.MD
		take := grpc.Header(&header)
		_, err := origin.NewBrokerServiceClient(s.conn).Publish(ctx, &origin.PublishRequest{Topic: "t"}, take)
		if (err != nil) != (c.leader != "") {
			t.Error(err)
		}
		wantHint(t, header, c.want)
		call, err := pb.NewHermesClient(s.conn).PublishStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		md, err := call.Header()
		if err != nil {
			t.Fatal(err)
		}
		wantHint(t, md, c.want)
		if err := call.Send(alone(&pb.Run{Topic: "t", Messages: []*pb.Message{message("a")}})); err != nil {
			t.Fatal(err)
		}
		if v, err := call.Recv(); err != nil || v.GetVerdicts()[0].GetError().GetLeader() != c.want {
			t.Errorf("%v, %v", v, err)
		}
		if err := call.CloseSend(); err != nil {
			t.Error(err)
		}
		if _, err := call.Recv(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
}

// A stream that began at the leader tells when another node has come to lead, once.
func TestHintOnAStream(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var leader atomic.Pointer[string]
	f := &faulty{Broker: m, leader: func() (broker.Member, bool) {
		at := leader.Load()
		if at == nil {
			return broker.Member{}, false
		}
		return broker.Member{ID: 2, GRPC: *at}, true
	}}
	if _, err := m.CreateTopic(patient(t), broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	call, err := pb.NewHermesClient(serve(t, f, api.Options{}).conn).PublishStream(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	one, two := "10.0.0.2:50051", "10.0.0.3:50051"
	for i, c := range []struct {
		leads *string
		want  string
	}{{nil, ""}, {&one, one}, {&one, ""}, {&two, two}, {nil, ""}, {&two, two}} {
		leader.Store(c.leads)
		if err := call.Send(alone(&pb.Run{Topic: "t", Messages: []*pb.Message{message("a")}})); err != nil {
			t.Fatal(err)
		}
		v, err := call.Recv()
		if err != nil || len(v.GetVerdicts()) != 1 || v.GetVerdicts()[0].GetError() != nil ||
			v.GetVerdicts()[0].GetLeader() != c.want {
			t.Errorf("verdict %d names %v, not %q, %v", i, v, c.want, err)
		}
	}
}

func wantHint(t *testing.T, header map[string][]string, want string) {
	t.Helper()
	var have string
	if said := header[api.LeaderHint]; len(said) > 0 {
		have = said[0]
	}
	if have != want {
		t.Errorf("the hint is %q, not %q", have, want)
	}
}
