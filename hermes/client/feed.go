package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/record"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

var subscribeDesc = &grpc.StreamDesc{StreamName: "Subscribe", ServerStreams: true, ClientStreams: true}

// connect opens a stream, from where the subscription is, and waits until it is registered.
func (s *Subscription) connect(ctx context.Context, asked *tried) (grpc.ClientStream, string, error) {
	// A group is on the leader, and at the tail its memory is the shortest way.
	atLeader := s.start.From == broker.FromGroup || s.start.From == broker.FromTail
	stream, address, err := s.c.open(ctx, subscribeDesc, pb.Hermes_Subscribe_FullMethodName, atLeader, asked)
	if err != nil {
		return nil, "", err
	}
	// A node may hang between the header and the first delivery.
	impatient := time.AfterFunc(s.c.options.Patience, func() { closeStream(stream) })
	defer impatient.Stop()
	waiting, waited := context.WithCancel(ctx)
	guarded := make(chan struct{})
	go func() {
		defer close(guarded)
		s.c.nodes.guard(waiting, address, func(time.Duration) bool { return true }, func(error) { closeStream(stream) })
	}()
	defer func() { waited(); <-guarded }()
	if err := stream.SendMsg(&pb.SubscribeRequest{Does: &pb.SubscribeRequest_Start{Start: s.request()}}); err != nil &&
		!errors.Is(err, io.EOF) {
		closeStream(stream)
		return nil, "", decode(err)
	}
	first, err := receive(stream)
	if err != nil {
		if ctx.Err() == nil {
			asked.note(address, err)
		}
		closeStream(stream)
		s.c.nodes.lost(address)
		return nil, "", err
	}
	if conn, err := s.c.nodes.conn(address); err == nil {
		s.c.spawn(func() { s.c.nodes.learn(ctx, conn) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = true
	if !s.begun && s.start.From == broker.FromTail {
		s.begun, s.next = true, first.Offset
	}
	return stream, address, nil
}

// decode is an error of a node, with its reason.
func decode(err error) error {
	if grpcstatus.Code(err) == codes.OutOfRange {
		return &broker.OutOfRangeError{Message: grpcstatus.Convert(err).Message()}
	}
	return wiregrpc.Decode(err)
}

func receive(stream grpc.ClientStream) (frame.Delivery, error) {
	var raw frame.Raw
	if err := stream.RecvMsg(&raw); err != nil {
		if errors.Is(err, io.EOF) {
			return frame.Delivery{}, errStream
		}
		return frame.Delivery{}, decode(err)
	}
	d, err := frame.ParseDelivery(raw)
	if err != nil {
		return d, status.Errorf(status.Internal, "the node's %s", status.Public(err).Message)
	}
	return d, nil
}

// request is the start of a stream. Received and unread messages count against the credit.
func (s *Subscription) request() *pb.Start {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &pb.Start{Topic: s.start.Topic, InFlight: uint32(max(s.start.InFlight, 0)), Create: s.start.Create}
	switch {
	case s.start.From == broker.FromGroup:
		r.From = &pb.Start_Group{Group: s.start.Group}
	case s.begun:
		r.From = &pb.Start_Offset{Offset: s.next}
	case s.start.From == broker.FromOffset:
		r.From = &pb.Start_Offset{Offset: s.start.Offset}
	case s.start.From == broker.FromTime:
		r.From = &pb.Start_Time{Time: s.start.Time}
	case s.start.From == broker.FromOldest:
		r.From = &pb.Start_Replay{Replay: true}
	}
	s.credit = credit{s.c.options.AheadMessages - s.handed.messages, s.c.options.AheadBytes - s.handed.bytes}
	s.granted = s.given
	for _, b := range s.batches {
		s.credit.messages -= b.Count
		s.credit.bytes -= len(b.Messages)
		s.granted += b.Count
	}
	r.Credit = s.grant() // nil: when it is read
	return r
}

// run keeps the subscription on a stream until it is closed, or fails for good.
func (s *Subscription) run(ctx context.Context, stream grpc.ClientStream, address string) {
	var err error
	for {
		err = s.once(ctx, stream, address)
		if ctx.Err() != nil || !uncertain(status.CodeOf(err)) {
			break
		}
		if s.start.From == broker.FromGroup {
			// The node led and does so no longer. It may be cut off from the others: then it
			// would wait in vain for a leader, while another one knows one.
			s.c.nodes.behind(address)
		}
		s.c.options.Logger.DebugContext(ctx, "subscribing again", "topic", s.start.Topic, "error", err)
		if stream, address, err = s.reconnect(ctx); err != nil {
			break
		}
	}
	if ctx.Err() != nil {
		err = errDone
	}
	s.mu.Lock()
	s.err, s.at = err, false
	if err == errDone { //nolint:errorlint // it is this one
		s.batches = nil
	}
	s.changed()
	s.mu.Unlock()
	close(s.done)
}

// changed wakes any waiter for room or for acks; the lock is held.
func (s *Subscription) changed() {
	close(s.room)
	s.room = make(chan struct{})
}

// reconnect tries for as long as the client's options say.
func (s *Subscription) reconnect(ctx context.Context) (grpc.ClientStream, string, error) {
	s.detach()
	limited, cancel := context.WithTimeout(ctx, s.c.options.RetryFor)
	defer cancel()
	var p pause
	var asked tried
	for {
		stream, address, err := s.connect(ctx, &asked)
		if err == nil || !uncertain(status.CodeOf(err)) {
			return stream, address, err
		}
		if !p.wait(limited) {
			return nil, "", asked.failed(err)
		}
	}
}

// detach forgets what was bound to a stream that is gone. Messages of a group that were
// not read come again, so they are not given twice.
func (s *Subscription) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = false
	if s.start.From == broker.FromGroup {
		s.batches = nil
		s.had.Clear()
		s.former = true
		s.told, s.ranges = nil, 0 // what was not sent is about messages that went back with the stream
	}
	s.base = s.taken
	s.lost = s.lost || s.settled < s.base
	s.settled = s.base
	s.changed()
}

// once uses a stream until it ends.
func (s *Subscription) once(ctx context.Context, stream grpc.ClientStream, address string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(ctx, func() { closeStream(stream) })
	defer unhook()
	sending, guarded := make(chan struct{}), make(chan struct{})
	var heard atomic.Int64 // when the last frame came, after began
	began := time.Now()
	go func() {
		defer close(guarded)
		s.c.nodes.guard(ctx, address, func(most time.Duration) bool {
			return time.Since(began)-time.Duration(heard.Load()) > most
		}, cancel)
	}()
	go func() {
		defer close(sending)
		s.sendAll(ctx, stream)
	}()
	for {
		d, err := receive(stream)
		if err != nil {
			cancel(err)
			<-sending
			<-guarded
			closeStream(stream)
			return context.Cause(ctx) // of a node that hangs it is the guard's
		}
		heard.Store(int64(time.Since(began)))
		s.take(&d)
	}
}

// take takes a frame.
func (s *Subscription) take(d *frame.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Settled > 0 {
		s.settled = s.base + d.Settled
		s.changed()
	}
	for _, r := range d.Late {
		s.late = append(s.late, broker.Range(r))
	}
	s.late = s.late[max(0, len(s.late)-ackRanges):]
	if len(d.Messages) == 0 {
		return
	}
	b := broker.Batch{
		Offset: d.Offset, Time: d.Time, Attempt: d.Attempt, Messages: d.Messages,
		Gap: (*broker.Range)(d.Gap),
	}
	for range record.Messages(d.Messages) {
		b.Count++
	}
	if b.Count == 0 {
		return
	}
	if d.Attempt > 0 { // in performance mode messages have no offset
		s.begun, s.next = true, d.Offset+uint64(b.Count)
	}
	if s.start.From == broker.FromGroup {
		s.had.Add(broker.Range{First: b.Offset, Last: b.Offset + uint64(b.Count) - 1})
	}
	s.batches = append(s.batches, b)
	signal(s.came)
}

// sendAll sends credit and acks until the stream ends.
func (s *Subscription) sendAll(ctx context.Context, stream grpc.ClientStream) {
	for {
		for _, m := range s.toSend() {
			if err := stream.SendMsg(m); err != nil {
				return // receive has the status
			}
		}
		select {
		case <-s.work:
		case <-ctx.Done():
			return
		}
	}
}

// grant takes the credit there is, or nil: messages and bytes go together, since a kind of
// credit that a node was never given does not count there.
func (s *Subscription) grant() *pb.Credit {
	messages := s.credit.messages
	if s.most > 0 {
		messages = min(messages, s.most-s.granted)
	}
	if messages <= 0 || s.credit.bytes <= 0 {
		return nil
	}
	c := &pb.Credit{Messages: uint32(messages), Bytes: uint64(s.credit.bytes)}
	s.credit = credit{}
	s.granted += messages
	return c
}

func (s *Subscription) toSend() []proto.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []proto.Message
	if c := s.grant(); c != nil {
		all = append(all, &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Credit{Credit: c}})
	}
	for _, m := range s.told {
		all = append(all, m)
	}
	s.told, s.ranges = nil, 0
	s.changed()
	return all
}
