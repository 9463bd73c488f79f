package peer

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// Bounds on what one dialler may have under way here. Ours keep below them; anyone who does not is cut off.
const (
	servedCalls     = 2 * callsAtOnce
	servedFeeds     = 16 << 10
	servedPublishes = 256 << 20 // bytes that wait for local.Publish
)

// session is one connection that another node dialled: what it asks is done here.
type session struct {
	c       *connection
	from    uint64 // 0: no node yet
	id      uint64
	handler Handler
	local   broker.Broker
	logger  *slog.Logger
	ctx     context.Context // ends with the connection
	all     sync.WaitGroup  // of calls, feeds and the publisher

	mu      sync.Mutex // guards all below
	calls   map[uint64]context.CancelFunc
	feeds   map[uint64]*servedFeed
	waiting []publishing
	bytes   int
	wake    chan struct{} // of capacity 1
}

// publishing is a run that waits for its turn.
type publishing struct {
	id      uint64
	expires time.Time // zero: never
	run     broker.Run
}

// serve does what a dialler asks until the connection ends, and says why it did.
func (s *session) serve(silence time.Duration) error {
	ctx, cancel := context.WithCancel(s.ctx)
	s.ctx = ctx
	s.calls, s.feeds = map[uint64]context.CancelFunc{}, map[uint64]*servedFeed{}
	s.wake = make(chan struct{}, 1)
	s.all.Go(s.publish)
	err := s.c.run(silence, s.handle, nil)
	cancel()
	s.c.out.close()
	s.all.Wait()
	return err
}

// handle takes one frame. It must not wait: Raft's messages come the same way.
func (s *session) handle(k kind, data []byte) error {
	switch k {
	case kindRaft:
		return s.step(data)
	case kindPublish:
		return s.enqueue(data)
	case kindCall:
		return s.call(data)
	case kindSubscribe:
		return s.subscribe(data)
	}
	b := body{b: data}
	id := b.number()
	switch k {
	case kindCancel:
		s.mu.Lock()
		cancel := s.calls[id]
		s.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case kindCredit:
		n := b.number()
		messages, _ := b.more()
		if f := s.feed(id); f != nil {
			f.grant(int64(n), int(min(messages, math.MaxInt32)))
		}
	case kindClose:
		given, told := b.more()
		if f := s.feed(id); f != nil {
			f.close(given, told)
		}
	default:
		return fmt.Errorf("a frame of kind %d came as a request", k)
	}
	return b.err()
}

func (s *session) step(data []byte) error {
	m := new(raftpb.Message)
	if err := proto.Unmarshal(data, m); err != nil {
		return fmt.Errorf("raft message: %w", err)
	}
	if s.from == 0 || m.GetFrom() != s.from || m.GetTo() != s.id {
		return fmt.Errorf("a raft message of node %d to %d came on the connection of %d to %d", m.GetFrom(), m.GetTo(),
			s.from, s.id)
	}
	s.handler.Step(m)
	return nil
}

// enqueue puts a run where publish finds it.
func (s *session) enqueue(data []byte) error {
	id, left, run, err := readPublish(data)
	if err != nil {
		return err
	}
	p := publishing{id: id, run: run}
	if left > 0 {
		p.expires = time.Now().Add(left)
	}
	s.mu.Lock()
	s.waiting = append(s.waiting, p)
	s.bytes += len(run.Messages)
	bytes := s.bytes
	s.mu.Unlock()
	if bytes > servedPublishes {
		return fmt.Errorf("%d bytes of publishes wait for this node, more than a node sends ahead", bytes)
	}
	select {
	case s.wake <- struct{}{}:
	default: // publish is going to look anyway
	}
	return nil
}

// publish hands runs to the node, in the order they came. Only one that waits here
// can run out of time: where the node has it, the publisher has his answer by his own clock.
func (s *session) publish() {
	for {
		s.mu.Lock()
		ready := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		for _, p := range ready {
			s.publishOne(p)
		}
		if len(ready) > 0 {
			continue
		}
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *session) publishOne(p publishing) {
	answer := func(v broker.Verdict) {
		s.c.out.put(frame{kind: kindVerdict, queue: queueCall, head: appendVerdict(make([]byte, 0, 48), p.id, &v)}, 0)
	}
	if !p.expires.IsZero() && time.Now().After(p.expires) {
		answer(broker.Verdict{Err: status.Errorf(status.DeadlineExceeded,
			"the publish waited at the leader for longer than its deadline and was not stored")})
	} else {
		s.local.Publish(s.ctx, p.run, answer)
	}
	s.mu.Lock()
	s.bytes -= len(p.run.Messages)
	s.mu.Unlock()
}

// begin notes a request so that it can be canceled. cancel is to be called by end.
func (s *session) begin(id uint64, left time.Duration) (context.Context, error) {
	ctx, cancel := context.WithCancel(s.ctx)
	if left > 0 {
		cancel()
		ctx, cancel = context.WithTimeout(s.ctx, left)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[id] != nil || len(s.calls) >= servedCalls {
		cancel()
		return nil, fmt.Errorf("call %d is one too many: %d are under way", id, len(s.calls))
	}
	s.calls[id] = cancel
	return ctx, nil
}

func (s *session) end(id uint64) {
	s.mu.Lock()
	cancel := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	cancel()
}

func (s *session) call(data []byte) error {
	b := body{b: data}
	id, left, request := b.number(), time.Duration(b.number()), new(gen.Call)
	if err := proto.Unmarshal(b.b, request); err != nil || b.bad {
		return errBody
	}
	ctx, err := s.begin(id, left)
	if err != nil {
		return err
	}
	s.all.Go(func() {
		defer s.end(id)
		reply, err := s.do(ctx, request)
		if err != nil && status.CodeOf(err) == status.Internal { // its text does not travel
			s.logger.Error("a request of a peer failed", "peer", s.from, "method", request.GetMethod(), "err", err)
		}
		s.reply(id, reply, err)
	})
	return nil
}

// reply answers a request.
func (s *session) reply(id uint64, reply *gen.Reply, err error) {
	if reply == nil || err != nil {
		reply = &gen.Reply{Error: writeError(err)}
	}
	data, err := proto.MarshalOptions{}.MarshalAppend(appendNumbers(nil, id), reply)
	if err != nil {
		s.c.end(fmt.Errorf("reply: %w", err))
		return
	}
	s.c.out.put(frame{kind: kindReply, queue: queueCall, head: data}, 0)
}

// do does a request.
func (s *session) do(ctx context.Context, r *gen.Call) (*gen.Reply, error) {
	if r.GetOwner() != nil {
		ctx = broker.WithOwner(ctx, readOwner(r.GetOwner()))
	}
	switch r.GetMethod() {
	case gen.Method_METHOD_OPEN_PRODUCER:
		producer, err := s.local.OpenProducer(ctx)
		return &gen.Reply{Producer: producer}, err
	case gen.Method_METHOD_ACK, gen.Method_METHOD_NACK:
		late, err := s.settle(ctx, r)
		return &gen.Reply{Late: writeRanges(late)}, err
	case gen.Method_METHOD_RESTORE:
		return s.doRestore(ctx, r)
	case gen.Method_METHOD_ENTRY:
		return s.entry(ctx, r)
	case gen.Method_METHOD_CREATE_TOPIC, gen.Method_METHOD_CONFIGURE_TOPIC, gen.Method_METHOD_DELETE_TOPIC,
		gen.Method_METHOD_TOPIC, gen.Method_METHOD_LIST_TOPICS:
		topics, err := s.doTopic(ctx, r)
		return &gen.Reply{Topics: each(topics, writeTopic)}, err
	case gen.Method_METHOD_CREATE_GROUP, gen.Method_METHOD_SEEK_GROUP, gen.Method_METHOD_DELETE_GROUP,
		gen.Method_METHOD_GROUP, gen.Method_METHOD_LIST_GROUPS:
		groups, err := s.doGroup(ctx, r)
		return &gen.Reply{Groups: each(groups, writeGroup)}, err
	}
	status, err := s.doCluster(ctx, r)
	return &gen.Reply{Status: writeStatus(status)}, err
}

func (s *session) doTopic(ctx context.Context, r *gen.Call) ([]broker.Topic, error) {
	var t broker.Topic
	var err error
	switch r.GetMethod() {
	case gen.Method_METHOD_CREATE_TOPIC:
		t, err = s.local.CreateTopic(ctx, readTopic(r.GetTopic()))
	case gen.Method_METHOD_CONFIGURE_TOPIC:
		t, err = s.local.ConfigureTopic(ctx, readTopic(r.GetTopic()))
	case gen.Method_METHOD_DELETE_TOPIC:
		return nil, s.local.DeleteTopic(ctx, r.GetTopic().GetName())
	case gen.Method_METHOD_LIST_TOPICS:
		return s.local.ListTopics(ctx, r.GetPrefix(), r.GetAfter(), int(r.GetLimit()))
	default:
		t, err = s.local.Topic(ctx, r.GetTopic().GetName(), r.GetLinearizable())
	}
	return []broker.Topic{t}, err
}

func (s *session) doGroup(ctx context.Context, r *gen.Call) ([]broker.Group, error) {
	var g broker.Group
	var err error
	topic, name := r.GetGroup().GetTopic(), r.GetGroup().GetName()
	switch r.GetMethod() {
	case gen.Method_METHOD_CREATE_GROUP:
		g, err = s.local.CreateGroup(ctx, readGroup(r.GetGroup()), readStart(r.GetStart()))
	case gen.Method_METHOD_SEEK_GROUP:
		g, err = s.local.SeekGroup(ctx, topic, name, readStart(r.GetStart()))
	case gen.Method_METHOD_DELETE_GROUP:
		return nil, s.local.DeleteGroup(ctx, topic, name)
	case gen.Method_METHOD_LIST_GROUPS:
		return s.local.ListGroups(ctx, r.GetTopic().GetName())
	default:
		g, err = s.local.Group(ctx, topic, name)
	}
	return []broker.Group{g}, err
}

func (s *session) doCluster(ctx context.Context, r *gen.Call) (broker.Status, error) {
	switch r.GetMethod() {
	case gen.Method_METHOD_STATUS:
		return s.local.Status(ctx)
	case gen.Method_METHOD_JOIN:
		return s.local.Join(ctx, readMember(r.GetMember()))
	case gen.Method_METHOD_PROMOTE:
		return s.local.Promote(ctx, r.GetNode())
	case gen.Method_METHOD_REMOVE:
		return s.local.Remove(ctx, r.GetNode())
	case gen.Method_METHOD_TRANSFER_LEADERSHIP:
		return s.local.TransferLeadership(ctx, r.GetNode())
	}
	return broker.Status{}, status.Errorf(status.Unimplemented,
		"node %d does not know what %v is: bring it to the same release", s.id, r.GetMethod())
}
