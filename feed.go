package wirelab

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
)

// feedKept is how many reference events are kept for comparison with events that arrive late or twice. An event
// older than that cannot be checked, so it counts as wrong. On a wire that keeps order one event is enough.
const feedKept = 1024

// Feeding describes a server stream that is a feed: its items are events that carry a [Stamp]. feed makes the
// request for a stream of rate events per second; rate 0 means as fast as the reader reads. A feed has no fixed
// length: a load holds it open and times each event.
//
// The events must be the same at any rate, because those of the reference, read at rate 0, are what the others are
// compared with.
//
// Feeding is a function rather than a method of [Operation], because Operation does not know the type Req.
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

// events are the expected events of a feed. They are read from the reference on demand.
type events[Rep Message[Rep]] struct {
	next  func() (Rep, error, bool)
	kept  []Rep // event n is at (n-1) % len, for the last len events read
	asked uint64
}

// check compares an event with the reference event of the same sequence number, so a lost event does not make the
// events after it wrong. It allocates only for a [Mismatch].
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

// Feed returns the function that reads the operation as a feed of service and checks it against reference: see
// [Client.Feed]. It returns nil for an operation that is not a feed.
func (o Operation[S]) Feed() func(ctx context.Context, service, reference S, rate int64,
	each func(Stamp, error) bool) error {
	return o.feed
}
