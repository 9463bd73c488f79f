package grpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/wire/status"
)

// deliveryBytes is how much one Delivery holds at most, if more than one message: enough
// that a frame's own cost does not count, little enough that two subscribers on one
// connection take turns.
const deliveryBytes = 256 << 10

// errDone is the clean end of a subscription: the client closed its half and its acks are done.
var errDone = errors.New("the client has closed its half")

// subscription is one Subscribe: a goroutine that reads what the client asks, one that
// does its acks, and the handler, which delivers.
type subscription struct {
	call   grpc.ServerStream
	sends  sync.Mutex // a stream takes one message at a time
	feed   broker.Feed
	credit credit
	acks   acks
	end    context.CancelCauseFunc
}

func (d *api) subscribe(call grpc.ServerStream) error {
	if d.subscriptions.Add(1) > d.most {
		d.subscriptions.Add(-1)
		return status.Errorf(status.ResourceExhausted, "the node has all %d subscriptions that it takes: go to another",
			d.most)
	}
	defer d.subscriptions.Add(-1)
	var first pb.SubscribeRequest
	if err := next(call, &first); err != nil {
		return handshake(err)
	}
	if first.GetStart() == nil {
		return status.Errorf(status.InvalidArgument, "the first frame of a subscription must be start")
	}
	start, err := starting(first.GetStart())
	if err != nil {
		return err
	}
	ctx, end := d.until(call.Context())
	defer end(nil)
	// Asked before subscribing, so that it is not ahead of what comes.
	var tail uint64
	if t, err := d.broker.Topic(ctx, start.Topic, false); err == nil {
		tail = t.Next
	}
	feed, err := d.broker.Subscribe(ctx, start)
	if err != nil {
		return stopped(ctx, err)
	}
	defer feed.Close()
	if err := call.SendMsg(&frame.Delivery{Offset: tail, Live: true}); err != nil {
		return received(err)
	}
	s := &subscription{call: call, feed: feed, end: end, credit: newCredit(), acks: newAcks()}
	s.credit.add(first.GetStart().GetCredit())
	return s.run(ctx, d)
}

// until is a context that ends with a stream or with the server, for the cause it has.
func (d *api) until(stream context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, end := context.WithCancelCause(stream)
	unhook := context.AfterFunc(d.stop, func() { end(errStopping) })
	return ctx, func(cause error) { unhook(); end(cause) }
}

// stopped is why a call failed: the broker knows only that the context of until ended, and not that the server stops.
func stopped(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errStopping) {
		return cause
	}
	return err
}

// handshake is the fault where the first frame could not be had.
func handshake(err error) error {
	if errors.Is(err, io.EOF) {
		return status.Errorf(status.InvalidArgument, "the subscription ended before its start")
	}
	return err
}

// run delivers until the first of: the feed fails, an ack fails, the client is done or
// gone, the server stops. What ended it is what the client receives. (hb-D20)
func (s *subscription) run(ctx context.Context, d *api) error {
	d.readers.Go(func() { s.read(ctx) })
	acking := make(chan struct{})
	go func() {
		defer close(acking)
		s.acks.do(ctx, s.feed, s.settled, s.end)
	}()
	err := s.deliver(ctx)
	s.end(err)
	<-acking
	cause := context.Cause(ctx)
	if errors.Is(cause, errDone) {
		return nil
	}
	if cause != nil {
		return cause
	}
	return err
}

// deliver sends what the feed gives, as far as the credit goes. No more is asked of the feed than can be sent at
// once: what lies here, another member could have.
func (s *subscription) deliver(ctx context.Context) error {
	for {
		room, err := s.credit.wait(ctx)
		if err != nil {
			return err
		}
		b, err := s.feed.Next(ctx, room)
		if err != nil {
			return err
		}
		s.credit.spend(b.Count, len(b.Messages))
		if err := s.send(&frame.Delivery{
			Offset: b.Offset, Messages: b.Messages, Time: b.Time, Attempt: b.Attempt,
			Gap: (*frame.Range)(b.Gap),
		}); err != nil {
			s.feed.Return(b.Count)
			return err
		}
	}
}

// settled tells how many of the client's frames are done, and what of them came too late.
func (s *subscription) settled(frames uint64, late []broker.Range) error {
	d := &frame.Delivery{Settled: frames}
	for _, r := range late {
		d.Late = append(d.Late, frame.Range(r))
	}
	return s.send(d)
}

// send sends a frame, from either goroutine. A client that does not read holds both, and with them the acks
// that it continues to send.
func (s *subscription) send(d *frame.Delivery) error {
	s.sends.Lock()
	defer s.sends.Unlock()
	if err := s.call.SendMsg(d); err != nil {
		return received(err)
	}
	return nil
}

// read takes credit, acks and nacks until the client's half ends.
func (s *subscription) read(ctx context.Context) {
	for {
		var m pb.SubscribeRequest
		err := next(s.call, &m)
		if errors.Is(err, io.EOF) {
			s.acks.close()
			return
		}
		if err == nil {
			err = s.take(ctx, &m)
		}
		if err != nil {
			s.end(err)
			return
		}
	}
}

func (s *subscription) take(ctx context.Context, m *pb.SubscribeRequest) error {
	switch does := m.GetDoes().(type) {
	case *pb.SubscribeRequest_Credit:
		s.credit.add(does.Credit)
		return nil
	case *pb.SubscribeRequest_Ack:
		ranges, err := ranged(does.Ack.GetRanges())
		if err != nil {
			return err
		}
		return s.acks.add(ctx, ack{ranges: ranges})
	case *pb.SubscribeRequest_Nack:
		ranges, err := ranged(does.Nack.GetRanges())
		if err != nil {
			return err
		}
		if does.Nack.GetDelay() < 0 {
			return status.Errorf(status.InvalidArgument, "a nack's delay must not be negative")
		}
		return s.acks.add(ctx,
			ack{ranges: ranges, back: true, reason: does.Nack.GetReason(), delay: does.Nack.GetDelay()})
	case *pb.SubscribeRequest_Start:
		return status.Errorf(status.InvalidArgument, "a subscription starts once: open another stream")
	}
	return status.Errorf(status.InvalidArgument, "the frame is none of start, credit, ack and nack")
}

// ranged is ranges as they come, each the right way round.
func ranged(in []*pb.Range) ([]broker.Range, error) {
	if len(in) > acksLimit {
		return nil, status.Errorf(status.InvalidArgument, "%d ranges at once; at most %d are allowed", len(in),
			acksLimit)
	}
	out := make([]broker.Range, len(in))
	for i, r := range in {
		if r.GetLast() < r.GetFirst() {
			return nil, status.Errorf(status.InvalidArgument, "range %d to %d is the wrong way round", r.GetFirst(),
				r.GetLast())
		}
		out[i] = broker.Range{First: r.GetFirst(), Last: r.GetLast()}
	}
	return out, nil
}

// starting is a start as the broker takes it.
func starting(s *pb.Start) (broker.Start, error) {
	if err := hermes.CheckTopic(s.GetTopic()); err != nil {
		return broker.Start{}, err
	}
	start := broker.Start{Topic: s.GetTopic(), Create: s.GetCreate()}
	switch from := s.GetFrom().(type) {
	case *pb.Start_Offset:
		start.From, start.Offset = broker.FromOffset, from.Offset
	case *pb.Start_Time:
		start.From, start.Time = broker.FromTime, from.Time
	case *pb.Start_Replay:
		start.From = broker.FromOldest
	case *pb.Start_Group:
		if err := hermes.CheckGroup(from.Group); err != nil {
			return broker.Start{}, err
		}
		start.From, start.Group = broker.FromGroup, from.Group
	}
	if s.GetInFlight() > hermes.GroupRanges {
		return broker.Start{}, status.Errorf(status.InvalidArgument, "in_flight is %d; at most %d are allowed",
			s.GetInFlight(), hermes.GroupRanges)
	}
	if start.InFlight = int(s.GetInFlight()); start.InFlight != 0 && start.Group == "" {
		return broker.Start{}, status.Errorf(status.InvalidArgument, "in_flight is for groups")
	}
	return start, nil
}
