package wirelab

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
)

// feedKept is how many events of the reference are kept, so that an event that
// arrives late or twice can be compared. An older event cannot be distinguished
// from an invented one. A wire that keeps order never needs this.
const feedKept = 1024

// Feeding describes a server stream that is a feed: its items are events that
// carry a [Stamp]. feed makes the request for a stream with a rate in events per
// second; 0 means as fast as the stream is read. Such a stream continues for as
// long as there are events; a load holds it open and times each event.
//
// A feed must give the same events at any rate, because all events are compared
// with those of the reference at rate 0. Feeding is a separate constructor because
// a method of [Operation] does not know Req.
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

// events are the expected events of a feed, read from the reference when they are needed.
type events[Rep Message[Rep]] struct {
	next  func() (Rep, error, bool)
	kept  []Rep // event n at (n-1) % len, for the last len pulled
	asked uint64
}

// check compares an event with the reference's event of the same sequence number,
// so that a lost event does not make later ones wrong. It allocates only for a
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
		return nil, Errorf(InvalidArgument, "%s is not a feed: its replies do not say when they were sent", operation)
	}
	reference := c.reference()
	return func(ctx context.Context, each func(Stamp, error) bool) error {
		return o.feed(ctx, c.stub, reference, rate, each)
	}, nil
}

// Feed returns the function that reads the operation as a feed, or nil if it is not one:
// see [Client.Feed]. service is the stub, reference the service that it must answer like.
func (o Operation[S]) Feed() func(ctx context.Context, service, reference S, rate int64,
	each func(Stamp, error) bool) error {
	return o.feed
}
