package httprpc

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/wire/status"
)

// CallServerStream returns the stub of a [ServerStream] route. Leaving its
// loop early ends the call.
func CallServerStream[Req, Rep any](
	c *Client, path string, request Codec[Req], reply Codec[Rep],
) func(context.Context, Req) iter.Seq2[Rep, error] {
	template := c.Request(http.MethodPost, path, MediaJSON, MediaNDJSON)
	return func(ctx context.Context, req Req) iter.Seq2[Rep, error] {
		return func(yield func(Rep, error) bool) {
			data, err := request.Encode(req)
			if err == nil {
				err = c.Receive(ctx, template, MediaNDJSON, func(r *http.Request) { setBody(r, data) },
					func(resp *http.Response) error {
						return readItems(ctx, c, resp, &reply, yield, nil)
					})
			}
			if err != nil && !errors.Is(err, ErrLeft) {
				var none Rep
				yield(none, err)
			}
		}
	}
}

// ErrLeft is a stream whose consumer wants no more of it.
var ErrLeft = errors.New("the consumer left")

// Receive sends a copy of template, completed by fill, for a stream of type
// want and passes the reply to read, under a context that ends when it
// returns, so that what was not read is not waited for.
func (c *Client) Receive(
	ctx context.Context, template *http.Request, want string, fill func(*http.Request), read func(*http.Response) error,
) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	r := template.WithContext(inner)
	fill(r)
	resp, err := c.Do(r, want)
	if err != nil {
		return c.outer(ctx, err)
	}
	defer finish(resp)
	return c.outer(ctx, read(resp))
}

// outer prefers the end of the caller's own context over an error of the
// context derived from it.
func (c *Client) outer(ctx context.Context, err error) error {
	if err != nil && !errors.Is(err, ErrLeft) && ctx.Err() != nil {
		return status.Public(ctx.Err())
	}
	return err
}

// readItems yields a reply's items. It returns nil at the stream's proper end,
// ErrLeft if the consumer left, and else the stream's error. sent tells whether
// the request's stream has ended; it is nil where there is none.
func readItems[T any](
	ctx context.Context, c *Client, resp *http.Response, codec *Codec[T], yield func(T, error) bool, sent *atomic.Bool,
) error {
	lines := newLineReader(resp.Body, codec)
	for {
		f, err := lines.next()
		switch {
		case err != nil:
			return c.StreamFailed(ctx, err)
		case f.err != nil || f.end:
			if sent != nil && !sent.Load() {
				return f.err // the server waits for the request to stop before it ends the body
			}
			// To the body's end, so that its connection serves again. If it
			// breaks off there, the stream is still whole.
			if errors.Is(lines.rest(), errAfterLast) && f.end {
				return c.StreamFailed(ctx, errAfterLast)
			}
			return f.err
		}
		if !yield(f.item, nil) {
			return ErrLeft
		}
	}
}

// StreamFailed is what the caller receives of a reply that broke off.
func (c *Client) StreamFailed(ctx context.Context, err error) error {
	var nonsense malformed
	if errors.As(err, &nonsense) {
		return status.Caused(status.BadProtocol, status.Internal, "reply: %v", nonsense)
	}
	return c.failed(ctx, err)
}

// CallClientStream returns the stub of a [ClientStream] route. The source runs
// in the caller's goroutine; what it ends with is what the call ends with.
func CallClientStream[Req, Rep any](
	c *Client, path string, request Codec[Req], reply Codec[Rep],
) func(context.Context, iter.Seq2[Req, error]) (Rep, error) {
	template := c.Request(http.MethodPost, path, MediaNDJSON, MediaJSON)
	return func(ctx context.Context, source iter.Seq2[Req, error]) (rep Rep, err error) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		body, out := io.Pipe() // unbuffered: the source waits for the wire
		var trip sync.WaitGroup
		trip.Go(func() {
			r := template.WithContext(inner)
			r.Body = body
			var resp *http.Response
			if resp, err = c.Do(r, MediaJSON); err == nil { //nolint:bodyclose // readReply closes it
				rep, err = readReply(inner, c, resp, &reply)
			}
			body.CloseWithError(errAnswered)
		})
		sourceErr := sendAll(out, &request, source, new(atomic.Bool))
		trip.Wait()
		if sourceErr != nil {
			err = sourceErr
		}
		return rep, c.outer(ctx, err)
	}
}

// errAnswered stops a sender whose call is over.
var errAnswered = errors.New("the call is answered")

// sendAll writes the source's items and the stream's last line to out, and closes it. It sets last before it
// writes that line. It returns the error the source ended with, if it did; a failed write only stops it, for
// since the reader of out knows why.
func sendAll[T any](out *io.PipeWriter, codec *Codec[T], source iter.Seq2[T, error], last *atomic.Bool) error {
	defer func() { _ = out.Close() }() // never fails
	lines := newLineWriter(out, codec)
	for item, err := range source {
		if err != nil {
			// Told to the server too, so that its service ends as the
			// reference would: what it answered before still arrives. That
			// the line could not be sent changes nothing for the caller.
			last.Store(true)
			_ = lines.end(err)
			return err
		}
		if lines.item(item) != nil {
			return nil
		}
	}
	last.Store(true)
	// A server that has answered need not take the end line.
	_ = lines.end(nil)
	return nil
}

// sourceGrace is how long a finished call waits for its source to notice. A
// source that is asleep then is left to wake and end by itself: it may be
// waiting for the very consumer this call would block.
const sourceGrace = time.Second

// CallBidi returns the stub of a [Bidi] route. The source runs in a separate goroutine while the replies are
// consumed. It has ended when the call has, unless it slept through [sourceGrace].
func CallBidi[Req, Rep any](
	c *Client, path string, request Codec[Req], reply Codec[Rep],
) func(context.Context, iter.Seq2[Req, error]) iter.Seq2[Rep, error] {
	template := c.Request(http.MethodPost, path, MediaNDJSON, MediaNDJSON)
	return func(ctx context.Context, source iter.Seq2[Req, error]) iter.Seq2[Rep, error] {
		return func(yield func(Rep, error) bool) {
			body, out := io.Pipe()
			sent := make(chan error, 1) // receives once: what the source ended with
			var last atomic.Bool
			go func() { sent <- sendAll(out, &request, source, &last) }()

			err := c.Receive(ctx, template, MediaNDJSON, func(r *http.Request) { r.Body = body },
				func(resp *http.Response) error {
					return readItems(ctx, c, resp, &reply, yield, &last)
				})
			body.CloseWithError(errAnswered)
			grace := time.NewTimer(sourceGrace)
			defer grace.Stop()
			select {
			case sourceErr := <-sent:
				if sourceErr != nil && !errors.Is(err, ErrLeft) {
					err = c.outer(ctx, sourceErr)
				}
			case <-grace.C:
			}
			if err != nil && !errors.Is(err, ErrLeft) {
				var none Rep
				yield(none, err)
			}
		}
	}
}
