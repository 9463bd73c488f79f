package httprpc

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	"wirelab/wire/status"
)

// ServerStream is the route of a call with one request, in JSON, and a stream of replies.
func ServerStream[Req, Rep any](
	request Codec[Req], reply Codec[Rep], call func(context.Context, Req) iter.Seq2[Rep, error],
) Route {
	return Route{Method: http.MethodPost, Answer: func(ctx context.Context, c *Call) error {
		if err := c.streams(MediaJSON, MediaNDJSON); err != nil {
			return err
		}
		req, err := readMessage(c, &request)
		if err != nil {
			return err
		}
		ctx, release := c.Interruptible(ctx)
		defer release()
		return SendItems(ctx, c, MediaNDJSON, newLineSink(c, &reply), call(ctx, req))
	}}
}

// ClientStream is the route of a call with a stream of requests and one reply, in JSON.
func ClientStream[Req, Rep any](
	request Codec[Req], reply Codec[Rep], call func(context.Context, iter.Seq2[Req, error]) (Rep, error),
) Route {
	return Route{Method: http.MethodPost, Answer: func(ctx context.Context, c *Call) error {
		if err := c.streams(MediaNDJSON, MediaJSON); err != nil {
			return err
		}
		ctx, items, release := receiving(ctx, c, &request)
		defer release()
		var data []byte
		err := Guard(ctx, func() error {
			rep, err := call(ctx, items)
			if err != nil {
				return err
			}
			data, err = reply.Encode(rep)
			return err
		})
		if !c.received.Load() && c.Request.ProtoMajor == 1 {
			// The rest of the request is in the way of the next.
			c.Writer.Header().Set("Connection", "close")
		}
		if err != nil {
			c.fail(err) // before release, which may wait
			return nil
		}
		return c.send(data)
	}}
}

// Bidi is the route of a call with streams both ways, which flow at once.
func Bidi[Req, Rep any](
	request Codec[Req], reply Codec[Rep], call func(context.Context, iter.Seq2[Req, error]) iter.Seq2[Rep, error],
) Route {
	return Route{Method: http.MethodPost, Answer: func(ctx context.Context, c *Call) error {
		if err := c.streams(MediaNDJSON, MediaNDJSON); err != nil {
			return err
		}
		ctx, items, release := receiving(ctx, c, &request)
		defer release()
		err := SendItems(ctx, c, MediaNDJSON, newLineSink(c, &reply), call(ctx, items))
		if err != nil && !c.begun {
			c.fail(err) // before release, which may wait
			return nil
		}
		return err
	}}
}

// streams checks that the request is of type in, or of none, and that the
// caller takes out, and lets an HTTP/1.1 reply start before its request ended.
func (c *Call) streams(in, out string) error {
	c.reply = MediaJSON // of a failure before the first message, and of a single reply
	if sent := c.Request.Header.Get("Content-Type"); sent != "" && bare(sent) != in {
		return refuse(c.handler.manner.content, status.InvalidArgument, "content type %q is not known here: %s",
			sent, in)
	}
	if err := c.Accepts(out); err != nil {
		return err
	}
	// HTTP/2 and HTTP/3 always can, and may say that they know no such thing.
	_ = http.NewResponseController(c.Writer).EnableFullDuplex()
	return nil
}

// Accepts refuses a caller whose Accept does not cover mediaType.
func (c *Call) Accepts(mediaType string) error {
	accept := c.Request.Header["Accept"]
	if len(accept) == 0 || covers(accept[0], mediaType) {
		return nil
	}
	return refuse(c.handler.manner.accept, status.InvalidArgument, "nothing in Accept %q is known here: %s", accept[0],
		mediaType)
}

// lastWords is how long after a call's end its reply may still take to be
// written: enough for an error line to a caller that reads, not more for one
// that does not.
const lastWords = time.Second

// Interruptible returns a context for a streaming call and makes its end stop
// a read of the request and, a little later, a write of the reply, which
// would otherwise wait for a caller that does nothing. Call release before
// the answer returns: the connection may serve another call then.
func (c *Call) Interruptible(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	control := http.NewResponseController(c.Writer)
	if c.Request.Body == nil || c.Request.Body == http.NoBody {
		c.received.Store(true)
	}
	// All versions can set deadlines; one that could not would only wait
	// longer, so the errors are of no use. First, the deadline for a request's
	// body is lifted: a stream may last.
	_ = control.SetReadDeadline(time.Time{})
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		now := time.Now()
		if !c.received.Load() {
			// Not after the body's end: net/http watches an HTTP/1.1
			// connection then, would take the deadline for the caller's
			// leaving, and cancel every later call on it.
			_ = control.SetReadDeadline(now)
		}
		_ = control.SetWriteDeadline(now.Add(lastWords))
	})
	return ctx, func() {
		if !stop() {
			<-interrupted
			if c.begun {
				_ = control.Flush() // while the deadline holds
			}
			_ = control.SetWriteDeadline(time.Time{})
		}
		cancel()
	}
}

// bodyEnd notes that a request's body was read to its end.
type bodyEnd struct {
	io.Reader
	reached *atomic.Bool
}

func (b bodyEnd) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		b.reached.Store(true)
	}
	return n, err
}

// receiving is Interruptible for a call whose request is a stream, with that
// stream.
func receiving[T any](ctx context.Context, c *Call, codec *Codec[T]) (context.Context, iter.Seq2[T, error], func()) {
	ctx, release := c.Interruptible(ctx)
	body := io.Reader(bodyEnd{c.Request.Body, &c.received})
	if c.Request.ProtoMajor > 1 {
		return ctx, items(ctx, body, codec), release
	}
	// An HTTP/1.1 server learns from the connection alone that its caller
	// left, and net/http does not read it before the request's end.
	ctx, cancel := context.WithCancel(ctx)
	ahead := readAhead(body, cancel)
	c.exact = true // so that a caller sees the answer's end while linger waits for it to stop
	return ctx, items(ctx, ahead, codec), func() {
		if c.received.Load() {
			ahead.stop()
		} else {
			c.linger(ahead)
		}
		cancel()
		release()
	}
}

// linger takes in what a caller still sends after its answer, for a moment:
// to close a connection on unread bytes resets it, and the caller may lose the
// answer by that.
func (c *Call) linger(ahead *ahead) {
	control := http.NewResponseController(c.Writer)
	if c.begun {
		_ = control.Flush() // a caller that is gone needs no answer
	}
	_ = control.SetReadDeadline(time.Now().Add(lastWords))
	ahead.stop()
	if c.received.Load() {
		_ = control.SetReadDeadline(time.Time{}) // the connection may serve again
	}
}

// items is a request's stream of messages; it can be read once. It ends with
// an error if the caller sent one, wrote nonsense, or went away.
func items[T any](ctx context.Context, body io.Reader, codec *Codec[T]) iter.Seq2[T, error] {
	lines := newLineReader(body, codec)
	return func(yield func(T, error) bool) {
		for {
			f, err := lines.next()
			if err == nil && !f.end && f.err == nil {
				if !yield(f.item, nil) {
					return
				}
				continue
			}
			if err == nil {
				// To the body's end, or HTTP/1.1 could not use the connection again.
				err = lines.rest()
			}
			if err != nil {
				err = readFailure(ctx, err)
			} else {
				err = f.err
			}
			if err != nil {
				var none T
				yield(none, err)
			}
			return
		}
	}
}

// readFailure is what a service receives of a request stream that failed.
func readFailure(ctx context.Context, err error) error {
	var nonsense malformed
	switch {
	case ctx.Err() != nil:
		return status.Public(ctx.Err())
	case errors.As(err, &nonsense):
		return status.Errorf(status.InvalidArgument, "%v", nonsense)
	case errors.Is(err, errNoEnd):
		return status.Errorf(status.InvalidArgument, "%v", err)
	}
	return status.Errorf(status.Canceled, "the request's stream broke off")
}

// Sink is where a stream's items are written, framed and flushed one by one.
type Sink[T any] interface {
	Item(T) error
	// End writes the last frame: the error's, or the end if it is nil.
	End(error) error
}

// SendItems answers c with the items, as mediaType, in sink's framing. The reply begins with the first item, so
// that a call that fails before it has its own status.
func SendItems[T any](ctx context.Context, c *Call, mediaType string, sink Sink[T], items iter.Seq2[T, error]) error {
	var broken error // why the reply cannot be written on
	err := Guard(ctx, func() error {
		for item, err := range items {
			if err != nil {
				return err
			}
			if !c.begun {
				c.Begin(mediaType)
			}
			if broken = sink.Item(item); broken != nil {
				return nil
			}
		}
		return nil
	})
	if broken != nil {
		return broken
	}
	if err != nil && !c.begun {
		return err
	}
	if !c.begun {
		c.Begin(mediaType)
	}
	return sink.End(err)
}

// lineSink is the Sink of NDJSON.
type lineSink[T any] struct {
	lines *lineWriter[T]
	flush func() error
}

func newLineSink[T any](c *Call, codec *Codec[T]) *lineSink[T] {
	return &lineSink[T]{
		lines: newLineWriter(io.Writer(c.Writer), codec), flush: http.NewResponseController(c.Writer).Flush,
	}
}

func (s *lineSink[T]) Item(v T) error {
	if err := s.lines.item(v); err != nil {
		return err
	}
	return s.flush()
}

func (s *lineSink[T]) End(err error) error { return s.lines.end(err) }
