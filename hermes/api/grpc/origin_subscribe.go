package grpc

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/gen/origin"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// originStart is where the origin's groups begin (hb-F23): none is the tail, __REPLAY__
// the oldest message. Topics are made where they are not there.
func originStart(r *origin.SubscribeRequest) (broker.Start, error) {
	if r.GetAction() != "SUBSCRIBE" {
		return broker.Start{}, status.Errorf(status.InvalidArgument, "the first message's action must be SUBSCRIBE")
	}
	if err := hermes.CheckTopic(r.GetTopic()); err != nil {
		return broker.Start{}, err
	}
	start := broker.Start{Topic: r.GetTopic(), Create: true}
	switch r.GetGroupId() {
	case "":
	case hermes.Replay:
		start.From = broker.FromOldest
	default:
		if err := hermes.CheckGroup(r.GetGroupId()); err != nil {
			return broker.Start{}, err
		}
		start.From, start.Group = broker.FromGroup, r.GetGroupId()
	}
	return start, nil
}

// originSubscription is one Subscribe of the origin's. It has no credit: its messages under way are bounded by
// HTTP/2's windows, and for a group by whatever is not acknowledged. An acknowledgement has no answer there,
// and so one that came too late has none either: the message comes to another member too.
type originSubscription struct {
	call  grpc.ServerStream
	start broker.Start
	acks  acks
	end   context.CancelCauseFunc
}

func (d *api) originSubscribe(call grpc.ServerStream) error {
	if d.subscriptions.Add(1) > d.most {
		d.subscriptions.Add(-1)
		return status.Errorf(status.ResourceExhausted, "the node has all %d subscriptions that it takes: go to another",
			d.most)
	}
	defer d.subscriptions.Add(-1)
	var first origin.SubscribeRequest
	if err := next(call, &first); err != nil {
		return handshake(err)
	}
	start, err := originStart(&first)
	if err != nil {
		return err
	}
	ctx, end := d.until(call.Context())
	defer end(nil)
	feed, err := d.broker.Subscribe(ctx, start)
	if err != nil {
		return stopped(ctx, err)
	}
	defer feed.Close()
	s := &originSubscription{call: call, start: start, acks: newAcks(), end: end}
	d.readers.Go(func() { s.read(ctx) })
	acking := make(chan struct{})
	go func() {
		defer close(acking)
		s.acks.do(ctx, feed, func(uint64, []broker.Range) error { return nil }, end)
	}()
	err = s.deliver(ctx, feed)
	end(err)
	<-acking
	if cause := context.Cause(ctx); !errors.Is(cause, errDone) {
		return cause
	}
	return nil
}

// deliver sends one message after the other, as the origin does.
func (s *originSubscription) deliver(ctx context.Context, feed broker.Feed) error {
	var m hermes.Message
	for {
		b, err := feed.Next(ctx, broker.Room{Bytes: deliveryBytes})
		if err != nil {
			return err
		}
		offset, sent := b.Offset, 0
		for message := range record.Messages(b.Messages) {
			if err := record.ReadMessage(message, &m); err != nil {
				feed.Return(b.Count - sent)
				return err
			}
			if err := s.call.SendMsg(&origin.Message{
				Id: originID(s.start.Topic, offset, b.Attempt), Topic: s.start.Topic, Payload: m.Payload,
				Timestamp: b.Time,
			}); err != nil {
				feed.Return(b.Count - sent)
				return received(err)
			}
			offset++
			sent++
		}
	}
}

// originID is a message's id: its topic and offset, which no other has (hb-D13). One in performance mode has no
// offset, and cannot be acknowledged.
func originID(topic string, offset uint64, attempt uint32) string {
	if attempt == 0 {
		return ""
	}
	return topic + "/" + strconv.FormatUint(offset, 10)
}

func (s *originSubscription) read(ctx context.Context) {
	for {
		var r origin.SubscribeRequest
		err := next(s.call, &r)
		if errors.Is(err, io.EOF) {
			s.acks.close()
			return
		}
		if err == nil {
			err = s.acknowledge(ctx, &r)
		}
		if err != nil {
			s.end(err)
			return
		}
	}
}

// acknowledge takes an ACK. Without a group there is nothing to do for it, and the
// origin's clients send it all the same.
func (s *originSubscription) acknowledge(ctx context.Context, r *origin.SubscribeRequest) error {
	if r.GetAction() != "ACK" {
		return status.Errorf(status.InvalidArgument, "after SUBSCRIBE the action must be ACK")
	}
	if s.start.From != broker.FromGroup {
		return nil
	}
	topic, digits, ok := strings.Cut(r.GetAckMessageId(), "/")
	offset, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || topic != s.start.Topic {
		return status.Errorf(status.InvalidArgument, "ack_message_id %.60q is no id of a message of topic %s",
			r.GetAckMessageId(), s.start.Topic)
	}
	return s.acks.add(ctx, ack{ranges: []broker.Range{{First: offset, Last: offset}}})
}
