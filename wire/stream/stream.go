// Package stream turns the streams of a call library, which are pulled and
// pushed one message at a time, into the iterators that services speak. It
// knows no protocol, no library and no workload: it is the one place where the
// order of cancel, wait and close is decided, for every wire that has streams.
package stream

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
)

// Items is the stream of what receive returns, until it returns an error that
// is [io.EOF] or wraps it. Any other error is passed through translate,
// yielded, and ends the stream. It may be ranged over once.
func Items[M, T any](receive func() (M, error), convert func(M) T, translate func(error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			message, err := receive()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					var none T
					yield(none, translate(err))
				}
				return
			}
			if !yield(convert(message), nil) {
				return
			}
		}
	}
}

// Valid passes items on up to the first that is not valid, which it replaces by
// its error: an item that wires would carry differently reaches none of them.
func Valid[T interface{ Validate() error }](items iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range items {
			if err == nil {
				err = item.Validate()
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Failed is the stream that holds nothing but an error.
func Failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// Duplex is one call with streams both ways, as a library gives it to a
// client. Send and CloseSend are called by one goroutine, the others by
// another.
type Duplex[Out, In any] struct {
	// Send sends one message. Its error tells only that the call is over:
	// Receive knows why.
	Send func(Out) error
	// CloseSend tells the server that no more follows.
	CloseSend func() error
	// Receive returns the next reply, an error that is or wraps [io.EOF] at
	// the end of a call that succeeded, or why it failed.
	Receive func() (In, error)
	// Close releases the call. It comes last, after the context has ended. May be nil.
	Close func()
	// Translate turns the library's errors into the house's.
	Translate func(error) error
}

// Converse makes a call with streams both ways: it sends out from one goroutine and yields the replies from the
// caller's, so that neither waits for the other whatever the windows of the wire hold.
//
// open starts the call under the context it is given. That context ends when the caller stops early, when out holds
// an error (which is then the error of the call: the server must not take a broken conversation for a finished
// one), or when the call is over. out is read by one goroutine only, and no longer once the iteration has returned;
// so an iteration that is stopped early returns only when out has delivered, or refused, the item it is working on.
// An out that waits must therefore watch a separate context.
//
// A panic in out is raised again in the caller's goroutine.
func Converse[Out, In any](
	ctx context.Context, out iter.Seq2[Out, error], open func(context.Context) (Duplex[Out, In], error),
) iter.Seq2[In, error] {
	return func(yield func(In, error) bool) {
		var none In
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		call, err := open(ctx)
		if err != nil {
			yield(none, err)
			return
		}
		s := sender[Out]{cancel: cancel}
		var sending sync.WaitGroup
		sending.Go(func() { s.run(ctx, out, call.Send, call.CloseSend) })
		// In this order. Without the cancel the sender may wait for a window that
		// is never opened again; and Close would take the call from under it.
		stop := sync.OnceFunc(func() {
			cancel()
			sending.Wait()
			if call.Close != nil {
				call.Close()
			}
		})
		defer stop() // also when yield panics or ends the goroutine

		for {
			reply, err := call.Receive()
			if err == nil {
				if !yield(reply, nil) {
					return
				}
				continue
			}
			stop() // before s is read: its goroutine has ended then
			switch {
			case s.panicked != nil:
				panic(s.panicked) // the source's own, which is its caller's mistake and belongs on this goroutine
			case s.err != nil:
				yield(none, s.err)
			case !errors.Is(err, io.EOF):
				yield(none, call.Translate(err))
			}
			return
		}
	}
}

// sender is the sending half of a call. Its fields are read after its goroutine ended.
type sender[Out any] struct {
	cancel   context.CancelFunc
	err      error // what out held
	panicked any
}

// run sends out until it ends, fails, or the call is over. Of those only the
// first is an end that the server may take for one.
func (s *sender[Out]) run(
	ctx context.Context, out iter.Seq2[Out, error], send func(Out) error, closeSend func() error,
) {
	over := false
	defer func() {
		// Not over: out held an error, panicked, or ended this goroutine as a
		// failing test does. Without the cancel the receiver would wait for ever.
		s.panicked = recover()
		if !over {
			s.cancel()
		}
	}()
	for item, err := range out {
		if err != nil {
			s.err = err
			return
		}
		if send(item) != nil {
			over = true
			return
		}
	}
	over = true
	if ctx.Err() == nil {
		// A failure to close is a failure of the call, which Receive reports.
		_ = closeSend()
	}
}
