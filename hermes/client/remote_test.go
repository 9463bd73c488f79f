package client_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/wire/endpoint"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// served is a broker behind an API.
type served struct {
	address string
	conn    *grpc.ClientConn
	stop    func() // and wait
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
	go func() { ended <- api.Serve(ctx, endpoint.Endpoint{Listener: listener, Drain: 5 * time.Second}, b, o) }()
	s := &served{address: listener.Addr().String()}
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	if s.conn, err = grpc.NewClient("passthrough:///"+s.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(frame.Limit)),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.conn.Close() })
	return s
}

// remote is a broker as seen through its API, with the generated stubs of any client: the suite of brokertest
// then holds the API to the broker's contract.
type remote struct {
	broker.Broker // for what the API has no call for
	t             testing.TB
	hermes        pb.HermesClient
	stream        grpc.BidiStreamingClient[pb.Runs, pb.Verdicts]
	client        *client.Client // takes nothing ahead of the reader, so that what a feed was given its reader has
	ahead         *client.Client

	mu      sync.Mutex
	waiting map[uint64]func(broker.Verdict)
	tag     uint64
}

func newRemote(t *testing.T, s *served, behind broker.Broker) *remote {
	t.Helper()
	r := &remote{Broker: behind, t: t, hermes: pb.NewHermesClient(s.conn), waiting: map[uint64]func(broker.Verdict){}}
	r.ahead = connect(t, client.Options{Addresses: []string{s.address}})
	r.client = connect(t, client.Options{Addresses: []string{s.address}, AheadMessages: 1})
	var err error
	if r.stream, err = r.hermes.PublishStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); r.verdicts() }()
	t.Cleanup(func() { _ = r.stream.CloseSend(); <-read })
	return r
}

// verdicts reads the stream until it ends.
func (r *remote) verdicts() {
	for {
		all, err := r.stream.Recv()
		if err != nil {
			return
		}
		for _, v := range all.GetVerdicts() {
			r.mu.Lock()
			done := r.waiting[v.GetTag()]
			delete(r.waiting, v.GetTag())
			r.mu.Unlock()
			if done == nil {
				r.t.Errorf("a second answer to run %d", v.GetTag())
				continue
			}
			done(verdict(v))
		}
	}
}

func verdict(v *pb.Verdict) broker.Verdict {
	out := broker.Verdict{
		Offset: v.GetOffset(), Count: int(v.GetCount()), Time: v.GetTime(), Duplicate: v.GetDuplicate(),
		Provisional: v.GetProvisional(), Term: v.GetTerm(), Index: v.GetIndex(),
	}
	if e := v.GetError(); e != nil {
		code, _ := status.ParseCode(e.GetCode())
		out.Err = status.Errorf(code, "%s", e.GetMessage())
	}
	return out
}

func (r *remote) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	var mu sync.Mutex
	answered := false
	answer := func(v broker.Verdict) {
		mu.Lock()
		first := !answered
		answered = true
		mu.Unlock()
		if first {
			done(v)
		}
	}
	stop := context.AfterFunc(ctx, func() { answer(broker.Verdict{Err: status.Public(ctx.Err())}) })
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tag++
	r.waiting[r.tag] = func(v broker.Verdict) { stop(); answer(v) }
	f := frame.Runs{{
		Topic: run.Topic, Messages: run.Messages, Mode: run.Mode, Producer: run.Producer,
		Sequence: run.Sequence, Tag: r.tag,
	}}
	var m pb.Runs
	if err := proto.Unmarshal(f.Buffers().Materialize(), &m); err != nil {
		r.t.Error(err)
		return
	}
	if err := r.stream.Send(&m); err != nil {
		r.t.Error(err)
	}
}

func (r *remote) OpenProducer(ctx context.Context) (uint64, error) {
	reply, err := r.hermes.OpenProducer(ctx, &pb.OpenProducerRequest{})
	return reply.GetProducer(), wiregrpc.Decode(err)
}

func (r *remote) Subscribe(ctx context.Context, start broker.Start) (broker.Feed, error) {
	c := r.ahead
	if start.From == broker.FromGroup {
		c = r.client
	}
	s, err := c.Subscribe(ctx, start)
	if err != nil {
		return nil, err
	}
	f := &remoteFeed{s: s}
	f.stop = context.AfterFunc(ctx, f.Close)
	return f, nil
}

// remoteFeed is a subscription whose acks wait until they are stored.
type remoteFeed struct {
	s    *client.Subscription
	stop func() bool
	rest broker.Batch
}

func (f *remoteFeed) Next(ctx context.Context, room broker.Room) (broker.Batch, error) {
	b := f.rest
	if b.Count == 0 {
		var err error
		if b, err = f.s.Batch(ctx); err != nil {
			return b, err
		}
	}
	b, f.rest = b.Cut(room)
	return b, nil
}

// TakesAhead implements [brokertest.Ahead].
func (*remoteFeed) TakesAhead() {}

// Return implements [broker.Feed]: what came is read.
func (*remoteFeed) Return(int) {}

func (f *remoteFeed) Ack(ctx context.Context, ranges []broker.Range) error {
	if err := f.s.Ack(ctx, ranges...); err != nil {
		return err
	}
	return f.s.Settle(ctx)
}

func (f *remoteFeed) Nack(ctx context.Context, ranges []broker.Range, reason string, delay int64) error {
	if err := f.s.Nack(ctx, reason, time.Duration(delay), ranges...); err != nil {
		return err
	}
	return f.s.Settle(ctx)
}

func (f *remoteFeed) Close() {
	f.stop()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = f.s.Close(ctx)
}

func (r *remote) CreateTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	return r.client.CreateTopic(ctx, t)
}

func (r *remote) ConfigureTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	return r.client.ConfigureTopic(ctx, t)
}

func (r *remote) DeleteTopic(ctx context.Context, name string) error {
	return r.client.DeleteTopic(ctx, name)
}

func (r *remote) Topic(ctx context.Context, name string, linearizable bool) (broker.Topic, error) {
	return r.client.Topic(ctx, name, linearizable)
}

func (r *remote) ListTopics(ctx context.Context, prefix, after string, limit int) ([]broker.Topic, error) {
	return r.client.ListTopics(ctx, prefix, after, limit)
}

func (r *remote) CreateGroup(ctx context.Context, g broker.Group, start broker.Start) (broker.Group, error) {
	return r.client.CreateGroup(ctx, g, start)
}

func (r *remote) SeekGroup(ctx context.Context, topic, name string, to broker.Start) (broker.Group, error) {
	return r.client.SeekGroup(ctx, topic, name, to)
}

func (r *remote) DeleteGroup(ctx context.Context, topic, name string) error {
	return r.client.DeleteGroup(ctx, topic, name)
}

func (r *remote) Group(ctx context.Context, topic, name string) (broker.Group, error) {
	return r.client.Group(ctx, topic, name)
}

func (r *remote) ListGroups(ctx context.Context, topic string) ([]broker.Group, error) {
	return r.client.ListGroups(ctx, topic)
}

func (r *remote) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	return r.ahead.Cut(ctx, topics)
}

func (r *remote) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	return r.ahead.Restore(ctx, step)
}
