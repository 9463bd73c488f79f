package grpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/gen/origin"
	"wirelab/hermes/record"
	"wirelab/internal/leaktest"
	"wirelab/wire/endpoint"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// served is a broker behind an API, and a connection to it.
type served struct {
	conn *grpc.ClientConn
	stop func() // and wait
}

// serve serves b until the test ends.
func serve(t testing.TB, b broker.Broker, o api.Options) *served {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- api.Serve(ctx, endpoint.Endpoint{Listener: listener, Drain: 5 * time.Second}, b, o)
	}()
	s := &served{stop: sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(s.stop)
	if s.conn, err = grpc.NewClient("passthrough:///"+listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(frame.Limit)),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.conn.Close() })
	return s
}

// memory is a broker with a topic t.
func memory(t testing.TB) *brokertest.InMemory {
	t.Helper()
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	return m
}

// patient is a context that a test which hangs ends by.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// faulty is a broker of which some parts are others.
type faulty struct {
	broker.Broker
	publish   func(ctx context.Context, run broker.Run, done func(broker.Verdict))
	subscribe func(ctx context.Context, start broker.Start) (broker.Feed, error)
	leader    func() (broker.Member, bool)
}

func (f *faulty) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	if f.publish == nil {
		f.Broker.Publish(ctx, run, done)
		return
	}
	f.publish(ctx, run, done)
}

func (f *faulty) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	if f.subscribe == nil {
		return f.Broker.Subscribe(ctx, start)
	}
	return f.subscribe(ctx, start)
}

func (f *faulty) Leader() (broker.Member, bool) {
	if f.leader == nil {
		return f.Broker.Leader()
	}
	return f.leader()
}

func message(payload string) *pb.Message { return &pb.Message{Payload: []byte(payload)} }

func wantCode(t *testing.T, what string, err error, code codes.Code) {
	t.Helper()
	if got := grpcstatus.Code(err); got != code {
		t.Errorf("%s: %v, want %v", what, err, code)
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	s := serve(t, memory(t), api.Options{})
	h, ctx := pb.NewHermesClient(s.conn), patient(t)
	id, err := h.OpenProducer(ctx, &pb.OpenProducerRequest{})
	if err != nil {
		t.Fatal(err)
	}
	r := &pb.PublishRequest{Topic: "t", Messages: message("a"), Producer: id.GetProducer(), Sequence: 1}
	first, err := h.Publish(ctx, r)
	if err != nil || first.GetOffset() != 0 || first.GetTime() == 0 || first.GetTerm() == 0 || first.GetDuplicate() {
		t.Errorf("%v, %v", first, err)
	}
	if again, err := h.Publish(ctx, r); err != nil || !again.GetDuplicate() || again.GetOffset() != 0 {
		t.Errorf("%v, %v", again, err)
	}
	if second, err := h.Publish(ctx, &pb.PublishRequest{Topic: "t", Messages: message("")}); err != nil ||
		second.GetOffset() != 1 {
		t.Errorf("%v, %v", second, err)
	}
	batch, err := h.PublishBatch(ctx, &pb.PublishBatchRequest{Runs: []*pb.Run{
		{Topic: "t", Messages: []*pb.Message{message("b"), message("c")}, Tag: 9},
		{Topic: "none", Messages: []*pb.Message{message("b")}},
		{Topic: "a b", Messages: []*pb.Message{message("b")}, Tag: 7},
		{Topic: "t"},
		{Topic: "t", Messages: []*pb.Message{message("d")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, v := range batch.GetVerdicts() {
		codes = append(codes, v.GetError().GetCode())
	}
	v := batch.GetVerdicts()
	if len(v) != 5 || codes[0] != "" || codes[1] != "not_found" || codes[2] != "invalid_argument" ||
		codes[3] != "invalid_argument" || codes[4] != "" {
		t.Fatalf("each run has its own answer (hb-D16): %v", batch) // hb-D16
	}
	if v[0].GetOffset() != 2 || v[0].GetCount() != 2 || v[0].GetTag() != 9 || v[2].GetTag() != 7 ||
		v[4].GetOffset() != 4 {
		t.Errorf("%v", batch)
	}
}

// Whatever bytes come, the answer to input that is malformed or out of bounds is InvalidArgument, but for a
// frame beyond the transport's bound, which grpc-go refuses itself; and the API stays up.
func TestMalformed(t *testing.T) {
	t.Parallel()
	s := serve(t, memory(t), api.Options{})
	ctx := patient(t)
	run := func(r *frame.Run) frame.Raw { return frame.Raw(r.Buffers().Materialize()) }
	good := record.AppendMessage(nil, &hermes.Message{Payload: []byte("x")})
	garbage := frame.Raw{0xff, 0xff, 0xff}
	for _, c := range []struct {
		what, method string
		request      frame.Raw
		code         codes.Code
	}{
		{"garbage", pb.Hermes_Publish_FullMethodName, garbage, codes.InvalidArgument},
		{"garbage", pb.Hermes_PublishBatch_FullMethodName, garbage, codes.InvalidArgument},
		{"garbage in a run", pb.Hermes_PublishBatch_FullMethodName, frame.Raw{0x0a, 1, 0xff}, codes.InvalidArgument},
		{"garbage", pb.Admin_CreateTopic_FullMethodName, garbage, codes.InvalidArgument},
		{"garbage", pb.Admin_Join_FullMethodName, garbage, codes.InvalidArgument},
		{"garbage", origin.BrokerService_Publish_FullMethodName, garbage, codes.InvalidArgument},
		{"nothing", pb.Hermes_Publish_FullMethodName, nil, codes.InvalidArgument},
		{"no message", pb.Hermes_Publish_FullMethodName, run(&frame.Run{Topic: "t"}), codes.InvalidArgument},
		{
			"two messages", pb.Hermes_Publish_FullMethodName,
			run(&frame.Run{Topic: "t", Messages: append(good[:len(good):len(good)], good...)}), codes.InvalidArgument,
		},
		{
			"a name with NUL (hb-D27)", pb.Hermes_Publish_FullMethodName,
			run(&frame.Run{Topic: "t\x00", Messages: good}),
			codes.InvalidArgument,
		},
		{"no name (hb-D27)", pb.Hermes_Publish_FullMethodName, run(&frame.Run{Messages: good}), codes.InvalidArgument},
		{
			"a mode that is none (hb-D27)", pb.Hermes_Publish_FullMethodName,
			run(&frame.Run{Topic: "t", Messages: good, Mode: 3}), codes.InvalidArgument,
		},
		{
			"sequence 0", pb.Hermes_Publish_FullMethodName, run(&frame.Run{Topic: "t", Messages: good, Producer: 1}),
			codes.InvalidArgument,
		},
		{
			"a message with an unknown field", pb.Hermes_Publish_FullMethodName,
			run(&frame.Run{Topic: "t", Messages: []byte{0x12, 2, 0x20, 1}}), codes.InvalidArgument,
		},
		{"a long payload (hb-D26)", pb.Hermes_Publish_FullMethodName, run(&frame.Run{
			Topic: "t", Messages: record.AppendMessage(nil,
				&hermes.Message{Payload: make([]byte, hermes.PayloadLimit+1)}),
		}), codes.InvalidArgument},
		{
			"a byte beyond all bounds (hb-D26)", pb.Hermes_Publish_FullMethodName, make(frame.Raw, frame.Limit+1),
			codes.InvalidArgument,
		},
		{
			"far beyond all bounds", pb.Hermes_PublishBatch_FullMethodName, make(frame.Raw, 3*frame.Limit),
			codes.InvalidArgument,
		},
		{"far beyond all bounds", pb.Admin_CreateTopic_FullMethodName, make(frame.Raw, 20<<20), codes.InvalidArgument},
		{"no id", pb.Admin_Remove_FullMethodName, nil, codes.InvalidArgument},
		{"no member", pb.Admin_Join_FullMethodName, nil, codes.InvalidArgument},
		{"nowhere", pb.Admin_SeekGroup_FullMethodName, frame.Raw{0x0a, 1, 't', 0x12, 1, 'g'}, codes.InvalidArgument},
	} {
		var reply frame.Raw
		wantCode(t, c.method+": "+c.what,
			s.conn.Invoke(ctx, c.method, c.request, &reply, grpc.ForceCodecV2(frame.Codec{})),
			c.code)
	}
	for _, path := range []string{
		pb.Hermes_PublishStream_FullMethodName, pb.Hermes_Subscribe_FullMethodName,
		origin.BrokerService_PublishStream_FullMethodName, origin.BrokerService_Subscribe_FullMethodName,
	} {
		call, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path,
			grpc.ForceCodecV2(frame.Codec{}))
		if err == nil {
			err = call.SendMsg(garbage)
		}
		if err != nil {
			t.Fatal(err)
		}
		var reply frame.Raw
		wantCode(t, path+": garbage", call.RecvMsg(&reply), codes.InvalidArgument)
		call, err = s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path,
			grpc.ForceCodecV2(frame.Codec{}))
		if err != nil {
			t.Fatal(err)
		}
		// The node has answered before.
		if err = call.SendMsg(make(frame.Raw, 2*frame.Limit)); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		wantCode(t, path+": beyond all bounds", call.RecvMsg(&reply), codes.InvalidArgument)
	}
	if _, err := pb.NewHermesClient(s.conn).Publish(ctx, &pb.PublishRequest{
		Topic:    "t",
		Messages: message("a"),
	}); err != nil {
		t.Error(err)
	}
}

// alone is a frame of one run.
func alone(r *pb.Run) *pb.Runs { return &pb.Runs{Runs: []*pb.Run{r}} }

func TestPublishStream(t *testing.T) {
	t.Parallel()
	s := serve(t, memory(t), api.Options{})
	call, err := pb.NewHermesClient(s.conn).PublishStream(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	const n = 500
	var together pb.Runs // of 0 to 6 runs
	for i := range n {
		if i%7 == i%11 {
			if err := call.Send(&together); err != nil {
				t.Fatal(err)
			}
			together.Runs = nil
		}
		r := &pb.Run{Topic: "t", Messages: []*pb.Message{message("a"), message("b")}, Tag: uint64(i)}
		switch i % 50 {
		case 7:
			r.Topic = "none"
		case 8:
			r.Messages = nil
		}
		together.Runs = append(together.Runs, r)
	}
	if err := call.Send(&together); err != nil {
		t.Fatal(err)
	}
	if err := call.CloseSend(); err != nil {
		t.Fatal(err)
	}
	answered, next := map[uint64]bool{}, uint64(0)
	for {
		all, err := call.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range all.GetVerdicts() {
			if answered[v.GetTag()] {
				t.Errorf("run %d was answered twice", v.GetTag())
			}
			answered[v.GetTag()] = true
			bad := v.GetTag()%50 == 7 || v.GetTag()%50 == 8
			if bad != (v.GetError() != nil) {
				t.Errorf("%v", v)
			}
			if bad {
				continue
			}
			if v.GetOffset() != next || v.GetCount() != 2 {
				t.Errorf("run %d is at %d, not %d", v.GetTag(), v.GetOffset(), next)
			}
			next += 2
		}
	}
	if len(answered) != n {
		t.Errorf("%d of %d runs were answered before the end", len(answered), n)
	}
}

// A malformed frame ends the stream, after the answers to what came before it.
func TestPublishStreamMalformed(t *testing.T) {
	t.Parallel()
	m := memory(t)
	late := make(chan func(), 1)
	f := &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		late <- func() { m.Publish(ctx, run, done) }
	}}
	s := serve(t, f, api.Options{})
	call, err := s.conn.NewStream(patient(t), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		pb.Hermes_PublishStream_FullMethodName, grpc.ForceCodecV2(frame.Codec{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range []frame.Frame{
		frame.Runs{{Topic: "t", Messages: record.AppendMessage(nil, &hermes.Message{}), Tag: 5}}, frame.Raw{0xff},
	} {
		if err := call.SendMsg(frame); err != nil {
			t.Fatal(err)
		}
	}
	(<-late)()
	var raw frame.Raw
	if err := call.RecvMsg(&raw); err != nil {
		t.Fatal(err)
	}
	if v, err := frame.ParseVerdicts(raw, nil); err != nil || len(v) != 1 || v[0].Tag != 5 || v[0].Failed {
		t.Errorf("%+v, %v", v, err)
	}
	wantCode(t, "the end", call.RecvMsg(&raw), codes.InvalidArgument)
}

// A stream that is not answered, or whose answers are not read, is not read on: what it has in hand is bounded.
// (hb-D15, hb-D26)
func TestPublishStreamIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                string
		payload, more, most int
	}{
		{"runs", 1, 0, api.StreamRuns},
		{"bytes", 1 << 20, 0, api.StreamBytes>>20 - 1},         // a frame is more than its payload
		{"unknown bytes", 1, 1 << 20, api.StreamBytes>>20 - 1}, // and kept whole
	} {
		var mu sync.Mutex
		var held []func(broker.Verdict)
		full := make(chan struct{})
		f := &faulty{Broker: memory(t), publish: func(_ context.Context, run broker.Run, done func(broker.Verdict)) {
			mu.Lock()
			defer mu.Unlock()
			held = append(held, done)
			if len(held) == c.most {
				close(full)
			}
		}}
		s := serve(t, f, api.Options{})
		ctx, cancel := context.WithCancel(patient(t))
		defer cancel()
		call, err := pb.NewHermesClient(s.conn).PublishStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var sending sync.WaitGroup
		m := &pb.Message{Payload: make([]byte, c.payload)}
		more := protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), make([]byte, c.more))
		sending.Go(func() {
			for i := range c.most + 500 {
				all := alone(&pb.Run{Topic: "t", Messages: []*pb.Message{m}, Tag: uint64(i)})
				all.ProtoReflect().SetUnknown(more)
				if call.Send(all) != nil {
					return
				}
			}
		})
		<-full
		// Time enough for more to come.
		if _, err := pb.NewAdminClient(s.conn).GetCluster(ctx, &pb.GetClusterRequest{}); err != nil {
			t.Error(err)
		}
		mu.Lock()
		if len(held) > c.most {
			t.Errorf("%s: the broker has %d runs of one stream; at most %d were to be", c.name, len(held), c.most)
		}
		mu.Unlock()
		cancel()
		sending.Wait()
		s.stop()
		mu.Lock()
		for _, done := range held { // answers that come when the stream is over are no harm
			done(broker.Verdict{Count: 1})
		}
		mu.Unlock()
	}
}

// slow is a broker whose Subscribe ends with its context.
type slow struct {
	broker.Broker
	reached chan struct{}
}

func (s *slow) Subscribe(ctx context.Context, _ broker.Start) (broker.Feed, error) {
	s.reached <- struct{}{}
	<-ctx.Done()
	return nil, status.Public(ctx.Err())
}

// A node that stops while it subscribes a client sends it to another node too.
func TestStopWhileSubscribing(t *testing.T) {
	t.Parallel()
	b := &slow{memory(t), make(chan struct{}, 2)}
	s := serve(t, b, api.Options{})
	sub, err := pb.NewHermesClient(s.conn).Subscribe(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	ask(t, sub, &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: &pb.Start{Topic: "t"}}})
	old := originSubscribe(t, s, "t", "")
	<-b.reached
	<-b.reached
	s.stop()
	_, err = sub.Recv()
	wantCode(t, "a subscription", err, codes.Unavailable)
	_, err = old.Recv()
	wantCode(t, "a subscription of the origin's", err, codes.Unavailable)
}

// A node that stops answers what it has read, and ends its streams; it does not wait for
// their clients. (hb-D31)
func TestStop(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var answer func()
	reached := make(chan struct{})
	f := &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		answer = func() { m.Publish(ctx, run, done) }
		close(reached)
	}}
	s := serve(t, f, api.Options{})
	ctx := patient(t)
	call, err := pb.NewHermesClient(s.conn).PublishStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sub := subscribe(t, s, &pb.Start{Topic: "t"})
	old := originSubscribe(t, s, "t", "")
	if err := call.Send(alone(&pb.Run{Topic: "t", Messages: []*pb.Message{message("a")}})); err != nil {
		t.Fatal(err)
	}
	<-reached
	stopped := make(chan struct{})
	go func() { defer close(stopped); s.stop() }()
	_, err = sub.Recv()
	wantCode(t, "a subscription", err, codes.Unavailable)
	_, err = old.Recv()
	wantCode(t, "a subscription of the origin's", err, codes.Unavailable)
	answer()
	if v, err := call.Recv(); err != nil || v.GetVerdicts()[0].GetError() != nil {
		t.Errorf("%v, %v", v, err)
	}
	_, err = call.Recv()
	wantCode(t, "the stream", err, codes.Unavailable)
	<-stopped
}
