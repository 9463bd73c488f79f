package wirelab

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
)

// feedKept is how many events of a feed are kept for one that comes late or
// twice to be compared with. Beyond it an event cannot be told from a made-up
// one; on a wire that keeps order it is never needed.
const feedKept = 1024

// Feeding describes a server stream that is a feed: its items are events that
// carry a [Stamp], and feed makes the request for a stream of so many events
// per second, or for 0 one as fast as it is read. Such a stream goes on for as
// long as there are events; a load holds it open and times each.
//
// The same feed at any rate must give the same events, since those of the
// reference, at rate 0, are what the others are compared with. It is a
// constructor of its own because a method of [Operation] knows no Req.
func Feeding[S, Req any, Rep interface {
	Message[Rep]
	Stamped
}](
	name string, draw func(*rand.Rand) Req,
	call func(S, context.Context, Req) iter.Seq2[Rep, error],
	feed func(rate int64) Req, more ...Drawing[Req],
) Operation[S] {
	o := ServerStreaming(name, draw, call, more...)
	o.feed = func(ctx context.Context, service, reference S, rate int64, each func(Stamp, error) bool) error {
		next, stop := iter.Pull2(call(reference, ctx, feed(0)))
		defer stop()
		want := events[Rep]{next: next, kept: make([]Rep, feedKept)}
		for got, err := range call(service, ctx, feed(rate)) {
			if err != nil {
				return err
			}
			stamp := got.Stamped()
			if !each(stamp, want.check(got, stamp.Sequence)) {
				return nil
			}
		}
		return nil
	}
	return o
}

// events are what a feed is to bring, asked of the reference as they are needed.
type events[Rep Message[Rep]] struct {
	next  func() (Rep, error, bool)
	kept  []Rep // event n at (n-1) % len, for the last len pulled
	asked uint64
}

// check compares an event with the reference's of the same sequence number,
// so that one that is lost makes only itself wrong. It allocates only for a
// [Mismatch].
func (e *events[Rep]) check(got Rep, sequence uint64) error {
	kept := uint64(len(e.kept))
	if sequence == 0 || sequence > e.asked+kept || sequence+kept <= e.asked {
		return &Mismatch{
			Got:  fmt.Sprintf("event %d: %+v", sequence, got),
			Want: fmt.Sprintf("one near event %d", e.asked+1),
		}
	}
	for e.asked < sequence {
		item, err, ok := e.next()
		switch {
		case !ok:
			return &Mismatch{Got: fmt.Sprintf("event %d: %+v", sequence, got), Want: fmt.Sprintf("%d events", e.asked)}
		case err != nil:
			return &Mismatch{Got: fmt.Sprintf("event %d: %+v", sequence, got), Want: err.Error()}
		}
		e.kept[e.asked%kept] = item
		e.asked++
	}
	if want := e.kept[(sequence-1)%kept]; !got.Equal(want) {
		return &Mismatch{Got: fmt.Sprintf("event %d: %+v", sequence, got), Want: fmt.Sprintf("%+v", want)}
	}
	return nil
}

// Feed implements [Client].
func (c *typedClient[S]) Feed(operation string,
	rate int64,
) (func(context.Context, func(Stamp, error) bool) error, error) {
	o, err := c.workload.operation(operation)
	if err != nil {
		return nil, err
	}
	if o.feed == nil {
		return nil, Errorf(InvalidArgument, "%s is no feed: its replies do not say when they were sent", operation)
	}
	reference := c.reference()
	return func(ctx context.Context, each func(Stamp, error) bool) error {
		return o.feed(ctx, c.stub, reference, rate, each)
	}, nil
}

// Feed is how the operation is read as a feed: see [Client.Feed], with the stub
// as service and what it must answer like as reference. nil unless it is one.
func (o Operation[S]) Feed() func(ctx context.Context, service, reference S, rate int64,
	each func(Stamp, error) bool) error {
	return o.feed
}
