package client

import (
	"context"
	"iter"
	"sync"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/offsets"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// ackRanges is how many ranges wait to be sent; then Ack waits.
const ackRanges = 4096

// Subscription is messages of a topic, in order. Next, Batch and All are for one goroutine
// at a time; the rest for any.
type Subscription struct {
	c     *Client
	start broker.Start
	end   context.CancelFunc
	done  chan struct{} // closed when its goroutines have ended

	mu      sync.Mutex // guards all below
	batches []broker.Batch
	current broker.Batch // what Next has not given of a batch
	err     error        // set: it has ended
	begun   bool         // something came, or where it would come from is known
	had     offsets.Set  // of a group: what came on this stream; a node takes acks of nothing else
	former  bool         // of a group: there was another stream before
	next    uint64       // the offset behind what came, if begun
	closing bool
	at      bool // a node has it registered

	// Whatever is to be sent. It is bounded: credit is a sum, and acks wait at ackRanges.
	credit  credit
	handed  credit // what the last batch took, which is the reader's now
	most    int    // how many messages it takes in all; 0: any number
	given   int    // how many the reader has had
	granted int    // how many the nodes were given credit for, but for what went with its stream
	told    []*pb.SubscribeRequest
	ranges  int
	// Acks and nacks, as frames: taken from the user; given to earlier streams; known to be
	// stored, or lost. Invariant: base <= settled <= taken.
	taken, base, settled uint64
	lost                 bool           // some went with their stream
	late                 []broker.Range // came too late; at most ackRanges, the last

	came chan struct{} // 1: batches, err
	room chan struct{} // closed and made anew: ranges or settled or err changed
	work chan struct{} // 1: something is to be sent
}

// credit is how much a node may send.
type credit struct{ messages, bytes int }

// Subscribe begins to deliver a topic, and returns when a node has registered it: messages from then on are not
// missed. The subscription ends with Close or with the client, not with ctx.
func (c *Client) Subscribe(ctx context.Context, start broker.Start) (*Subscription, error) {
	return c.SubscribeFor(ctx, start, 0)
}

// SubscribeFor is [Client.Subscribe] for a reader who takes a number of messages and then closes; 0: any
// number. No more are asked for, so that of a group the next ones stay free for other members.
func (c *Client) SubscribeFor(ctx context.Context, start broker.Start, messages int) (*Subscription, error) {
	if messages < 0 {
		return nil, status.Errorf(status.InvalidArgument, "%d messages are less than none", messages)
	}
	if err := hermes.CheckTopic(start.Topic); err != nil {
		return nil, err
	}
	switch {
	case start.From > broker.FromGroup:
		return nil, status.Errorf(status.InvalidArgument, "beginning %d is none", start.From)
	case start.InFlight < 0 || start.InFlight > hermes.GroupRanges:
		return nil, status.Errorf(status.InvalidArgument, "in flight is %d; 0 to %d are allowed", start.InFlight,
			hermes.GroupRanges)
	case start.From == broker.FromGroup:
		if err := hermes.CheckGroup(start.Group); err != nil {
			return nil, err
		}
	}
	s := &Subscription{
		c: c, start: start, most: messages, done: make(chan struct{}),
		came: make(chan struct{}, 1), room: make(chan struct{}), work: make(chan struct{}, 1),
	}
	life, end := context.WithCancel(c.ctx)
	s.end = end
	ctx, cancel := context.WithTimeout(ctx, c.options.RetryFor)
	defer cancel()
	var p pause
	var asked tried
	for {
		if !p.wait(ctx) {
			end()
			return nil, asked.ended(ctx)
		}
		// The stream outlives ctx, but opening it does not.
		attempt, stop := context.WithCancel(life)
		unhook := context.AfterFunc(ctx, stop)
		stream, address, err := s.connect(attempt, &asked)
		if unhook() && err == nil && c.spawn(func() { defer stop(); s.run(life, stream, address) }) {
			return s, nil
		}
		stop()
		if err == nil {
			err = status.Public(ctx.Err())
		}
		if c.ctx.Err() != nil {
			err = errClosed
		}
		switch {
		case c.ctx.Err() != nil || !uncertain(status.CodeOf(err)):
			end()
			return nil, err
		case ctx.Err() != nil:
			end()
			return nil, asked.ended(ctx)
		}
	}
}

// Next waits for a message, which tells in Gap what retention took before it. It is valid
// for ever. The error of a subscription that ended
// stays; that of ctx does not end it.
func (s *Subscription) Next(ctx context.Context) (hermes.Delivered, error) {
	for s.current.Count == 0 {
		b, err := s.Batch(ctx)
		if err != nil {
			return hermes.Delivered{}, err
		}
		s.current = b
	}
	b := &s.current
	d := hermes.Delivered{Topic: s.start.Topic, Time: b.Time, Attempt: b.Attempt}
	if b.Attempt > 0 { // in performance mode there is none
		d.Offset = b.Offset
	}
	d.Gap, b.Gap = (*hermes.Gap)(b.Gap), nil
	for message := range record.Messages(b.Messages) {
		if err := record.ReadMessage(message, &d.Message); err != nil {
			return d, status.Errorf(status.Internal, "message %d of topic %s: %s", b.Offset, s.start.Topic,
				status.Public(err).Message)
		}
		break
	}
	b.Messages = record.Skip(b.Messages, 1)
	b.Count--
	b.Offset++
	return d, nil
}

// Batch waits for messages that follow one another; record.Messages reads them. What Next
// has begun, it gives the rest of.
func (s *Subscription) Batch(ctx context.Context) (broker.Batch, error) {
	if b := s.current; b.Count > 0 {
		s.current = broker.Batch{}
		return b, nil
	}
	s.read()
	for {
		s.mu.Lock()
		if len(s.batches) > 0 {
			b := s.batches[0]
			s.batches = s.batches[1:]
			s.handed = credit{b.Count, len(b.Messages)}
			s.given += b.Count
			s.mu.Unlock()
			return b, nil
		}
		err := s.err
		s.mu.Unlock()
		if err != nil {
			return broker.Batch{}, err
		}
		select {
		case <-s.came:
		case <-s.done: // err is set by then
			s.mu.Lock()
			err, left := s.err, len(s.batches)
			s.mu.Unlock()
			if left == 0 {
				return broker.Batch{}, err
			}
		case <-ctx.Done():
			return broker.Batch{}, status.Public(ctx.Err())
		}
	}
}

// read gives the credit of the batch that the reader had until now.
func (s *Subscription) read() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.credit.messages += s.handed.messages
	s.credit.bytes += s.handed.bytes
	s.handed = credit{}
	o := &s.c.options
	if 2*s.credit.messages >= o.AheadMessages || 2*s.credit.bytes >= o.AheadBytes {
		signal(s.work) // not for each: a frame for every message would cost as much as the message
	}
}

// All yields what Next gives, until an error, which comes last; the end of ctx is none.
func (s *Subscription) All(ctx context.Context) iter.Seq2[hermes.Delivered, error] {
	return func(yield func(hermes.Delivered, error) bool) {
		for {
			d, err := s.Next(ctx)
			if err != nil && ctx.Err() != nil {
				return
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// Ack acknowledges messages of a group by their offsets. It waits for room only; that it
// is stored is certain once Settle or Close returned without an error. An offset that never came is InvalidArgument.
func (s *Subscription) Ack(ctx context.Context, ranges ...broker.Range) error {
	return s.tell(ctx, ranges, func(r []*pb.Range) *pb.SubscribeRequest {
		return &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Ack{Ack: &pb.Ack{Ranges: r}}}
	})
}

// Nack gives messages of a group back, to come again to any member after a delay.
func (s *Subscription) Nack(ctx context.Context, reason string, delay time.Duration, ranges ...broker.Range) error {
	if delay < 0 {
		return status.Errorf(status.InvalidArgument, "the delay must not be negative")
	}
	return s.tell(ctx, ranges, func(r []*pb.Range) *pb.SubscribeRequest {
		return &pb.SubscribeRequest{Does: &pb.SubscribeRequest_Nack{Nack: &pb.Nack{
			Ranges: r, Reason: reason,
			Delay: int64(delay),
		}}}
	})
}

func (s *Subscription) tell(ctx context.Context, ranges []broker.Range,
	form func([]*pb.Range) *pb.SubscribeRequest,
) error {
	if s.start.From != broker.FromGroup {
		return status.Errorf(status.InvalidArgument, "only members of a group acknowledge")
	}
	if len(ranges) == 0 {
		return nil
	}
	if len(ranges) > ackRanges {
		return status.Errorf(status.InvalidArgument, "%d ranges at once; at most %d are allowed", len(ranges),
			ackRanges)
	}
	wire := make([]*pb.Range, len(ranges))
	for i, r := range ranges {
		if r.Last < r.First {
			return status.Errorf(status.InvalidArgument, "range %d to %d is the wrong way round", r.First, r.Last)
		}
		wire[i] = &pb.Range{First: r.First, Last: r.Last}
	}
	var refused error
	err := s.wait(ctx, func() bool {
		if s.closing || s.ranges > 0 && s.ranges+len(wire) > ackRanges {
			return s.closing
		}
		var here []*pb.Range
		if here, refused = s.here(wire); len(here) > 0 {
			s.put(form(here), here)
		}
		return true
	})
	if err == nil {
		err = refused
	}
	if err == nil && s.isClosing() {
		err = errDone
	}
	return err
}

// here are those of the ranges that came on the present stream. What came on one before went back with it: its
// acks are lost, and the messages come again. The lock is held.
func (s *Subscription) here(wire []*pb.Range) ([]*pb.Range, error) {
	var all []*pb.Range
	for _, r := range wire {
		offset, missing := s.had.Missing(broker.Range{First: r.GetFirst(), Last: r.GetLast()})
		switch {
		case !missing:
			all = append(all, r)
		case !s.former:
			return nil, broker.Strange(offset)
		default:
			s.lost = true
		}
	}
	return all, nil
}

// Attached reports whether a node has the subscription registered, as far as is known here: not
// while another node is looked for, nor after its end.
func (s *Subscription) Attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *Subscription) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// put adds whatever is to be told. Acks that follow one another become one.
func (s *Subscription) put(m *pb.SubscribeRequest, ranges []*pb.Range) {
	s.ranges += len(ranges)
	signal(s.work)
	if n := len(s.told); n > 0 && m.GetAck() != nil && s.told[n-1].GetAck() != nil {
		last := s.told[n-1].GetAck()
		last.Ranges = append(last.Ranges, ranges...)
		return
	}
	s.told = append(s.told, m)
	s.taken++
}

// wait waits until ready, which is called under the lock, says so.
func (s *Subscription) wait(ctx context.Context, ready func() bool) error {
	for {
		s.mu.Lock()
		if s.err != nil {
			defer s.mu.Unlock()
			return s.err
		}
		ok, room := ready(), s.room
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-room:
		case <-ctx.Done():
			return status.Public(ctx.Err())
		}
	}
}

// Settle waits until it is certain of every ack and nack so far. Unavailable: some went with their node, and
// what they were about comes again; the others are stored. [broker.LateError]: some came too late and were
// dropped; the others are stored. Each is reported once.
func (s *Subscription) Settle(ctx context.Context) error {
	s.mu.Lock()
	upTo := s.taken
	s.mu.Unlock()
	err := s.wait(ctx, func() bool { return s.settled >= upTo })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		s.lost = false
		return status.Errorf(status.Unavailable, "the node went away with acks that may not be stored: their messages "+
			"come again")
	}
	if late := s.late; len(late) > 0 {
		s.late = nil
		return &broker.LateError{Ranges: late}
	}
	return nil
}

var errDone = status.Errorf(status.Canceled, "the subscription is closed")

// Close ends the subscription, after what was acknowledged is stored, or ctx ended. Next
// says Canceled from then on. The error says that acks may not be stored.
func (s *Subscription) Close(ctx context.Context) error {
	s.mu.Lock()
	ended := s.err
	s.closing = true
	s.mu.Unlock()
	var err error
	if ended == nil && s.start.From == broker.FromGroup {
		err = s.Settle(ctx)
	}
	s.end()
	<-s.done
	return err
}
