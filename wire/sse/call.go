package sse

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"

	"wirelab"
	"wirelab/wire/httprpc"
)

// The names of the last event of a stream.
const (
	endEvent     = "end"
	failureEvent = "failure"
)

// errNoEnd is a stream whose transport ended it well but whose last event is missing.
var errNoEnd = errors.New("the stream was cut short: its end event is missing")

// Query turns a request into a query and back. Decode must refuse what it
// cannot read with InvalidArgument.
type Query[T any] struct {
	Encode func(T) url.Values
	Decode func(url.Values) (T, error)
}

// ServerStream is the route of a call with one request and a stream of replies.
func ServerStream[Req, Rep any](request Query[Req], reply httprpc.Codec[Rep], call func(context.Context, Req) iter.Seq2[Rep, error]) httprpc.Route {
	return httprpc.Route{Method: http.MethodGet, Answer: func(ctx context.Context, c *httprpc.Call) error {
		if err := c.Accepts(httprpc.MediaEvents); err != nil {
			return err
		}
		query, err := url.ParseQuery(c.Request.URL.RawQuery)
		if err != nil {
			return wirelab.Errorf(wirelab.InvalidArgument, "query: %v", err)
		}
		req, err := request.Decode(query)
		if err != nil {
			return err
		}
		ctx, release := c.Interruptible(ctx)
		defer release()
		c.Writer.Header().Set("Cache-Control", "no-store") // or a proxy may answer the next call
		sink := &sink[Rep]{to: c.Writer, flush: http.NewResponseController(c.Writer).Flush, codec: &reply}
		return httprpc.SendItems(ctx, c, httprpc.MediaEvents, sink, call(ctx, req))
	}}
}

// sink writes items as events.
type sink[T any] struct {
	to     io.Writer
	flush  func() error
	codec  *httprpc.Codec[T]
	buffer []byte
}

func (s *sink[T]) Item(v T) error {
	data, err := s.codec.Encode(v)
	if err != nil {
		return err
	}
	if err := s.write("", data); err != nil {
		return err
	}
	return s.flush()
}

func (s *sink[T]) End(err error) error {
	if err != nil {
		return s.write(failureEvent, httprpc.EncodeError(err))
	}
	return s.write(endEvent, []byte("{}"))
}

func (s *sink[T]) write(name string, data []byte) error {
	s.buffer = AppendEvent(s.buffer[:0], name, data)
	_, err := s.to.Write(s.buffer)
	return err
}

// CallServerStream returns the stub of a [ServerStream] route. Leaving its
// loop early ends the call.
func CallServerStream[Req, Rep any](c *httprpc.Client, path string, request Query[Req], reply httprpc.Codec[Rep]) func(context.Context, Req) iter.Seq2[Rep, error] {
	template := c.Request(http.MethodGet, path, "", httprpc.MediaEvents)
	return func(ctx context.Context, req Req) iter.Seq2[Rep, error] {
		return func(yield func(Rep, error) bool) {
			fill := func(r *http.Request) {
				at := *r.URL // the template's is shared
				at.RawQuery = request.Encode(req).Encode()
				r.URL = &at
			}
			err := c.Receive(ctx, template, httprpc.MediaEvents, fill, func(resp *http.Response) error {
				return readEvents(ctx, c, resp, &reply, yield)
			})
			if err != nil && !errors.Is(err, httprpc.ErrLeft) {
				var none Rep
				yield(none, err)
			}
		}
	}
}

// readEvents yields the items of a stream. It returns nil at its proper end,
// httprpc.ErrLeft if the consumer left, and else its error.
func readEvents[T any](ctx context.Context, c *httprpc.Client, resp *http.Response, codec *httprpc.Codec[T], yield func(T, error) bool) error {
	events := NewReader(resp.Body)
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return c.StreamFailed(ctx, errNoEnd)
		case errors.Is(err, ErrTooLong) || errors.Is(err, ErrNotUTF8):
			return wirelab.Errorf(wirelab.Internal, "reply: %v", err)
		case err != nil:
			return c.StreamFailed(ctx, err)
		}
		switch event.Name {
		case "", "message":
			item, err := codec.Decode(event.Data)
			if err != nil {
				return wirelab.Errorf(wirelab.Internal, "an event of the reply cannot be read")
			}
			if !yield(item, nil) {
				return httprpc.ErrLeft
			}
		case failureEvent, endEvent:
			var failure error
			if event.Name == failureEvent {
				failure = httprpc.DecodeError(event.Data)
			}
			// To the body's end, so that its connection serves again.
			if _, err := events.Next(); !errors.Is(err, io.EOF) && failure == nil {
				return c.StreamFailed(ctx, errors.New("something follows the end event"))
			}
			return failure
		}
		// Events of other names are for other readers.
	}
}
