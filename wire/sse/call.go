package sse

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"time"

	"wirelab/wire/httprpc"
	"wirelab/wire/status"
)

// errNoEnd is a stream whose transport ended it well but whose last event is missing.
var errNoEnd = errors.New("the stream was cut short: its end event is missing")

// resumeTries is how often in a row our client connects again without getting
// an event, each wait twice the one before: with 200 ms it gives up after 3 s.
const resumeTries = 4

// retryMax is how long our client waits at most before it connects again.
const retryMax = 5 * time.Second

// CallServerStream returns the stub of a [ServerStream] route. Leaving its
// loop early ends the call.
func CallServerStream[Req, Rep any](
	c *httprpc.Client, path string, request Query[Req], reply httprpc.Codec[Rep],
) func(context.Context, Req) iter.Seq2[Rep, error] {
	template := c.Request(http.MethodGet, path, "", httprpc.MediaEvents)
	stream := &Stream[Req, Rep]{Codec: reply}
	return stream.stub(c, func(ctx context.Context, req *Req) (*http.Request, error) {
		r := template.WithContext(ctx)
		at := *r.URL // the template's is shared
		at.RawQuery = request.Encode(*req).Encode()
		r.URL = &at
		return r, nil
	})
}

// Call returns the stub of a route of [httprpc.GetStream] that offers the
// stream's [Stream.Framing]. Leaving its loop early ends the call. A connection
// that breaks is opened again, if the stream can be resumed, and the consumer
// sees nothing of it but the time that it takes.
func Call[Req, Rep any](
	c *httprpc.Client, path string, parameters []httprpc.Parameter[Req], stream Stream[Req, Rep],
) func(context.Context, Req) iter.Seq2[Rep, error] {
	return stream.stub(c, httprpc.Asking(c, path, parameters, httprpc.MediaEvents))
}

// stub makes calls whose requests ask makes.
func (s *Stream[Req, Rep]) stub(
	c *httprpc.Client, ask func(context.Context, *Req) (*http.Request, error),
) func(context.Context, Req) iter.Seq2[Rep, error] {
	return func(ctx context.Context, req Req) iter.Seq2[Rep, error] {
		return func(yield func(Rep, error) bool) {
			in := &inlet[Req, Rep]{client: c, stream: s, ask: ask, yield: yield}
			if s.Resume != nil {
				in.retry = s.Resume.Retry // until the server says otherwise
			}
			if err := in.all(ctx, req); err != nil && !errors.Is(err, httprpc.ErrLeft) {
				var none Rep
				yield(none, err)
			}
		}
	}
}

// inlet reads one call's stream, from as many connections as it takes.
type inlet[Req, Rep any] struct {
	client *httprpc.Client
	stream *Stream[Req, Rep]
	ask    func(context.Context, *Req) (*http.Request, error)
	yield  func(Rep, error) bool

	last  string // id of the last item; "": it had none, or there was none
	count int64  // items so far
	retry time.Duration
}

// all reads the stream to its end. It returns httprpc.ErrLeft if the consumer
// left.
func (in *inlet[Req, Rep]) all(ctx context.Context, req Req) error {
	rest, known := req, false // known: there was a reply that began well
	for tries := 0; ; tries++ {
		before := in.count
		begun, cut, err := in.once(ctx, rest)
		known = known || begun
		// What may pass: a connection that broke, and a server, once it has
		// answered, that cannot be reached or says that it is going away.
		passing := cut || !begun && known && err != nil && status.CodeOf(err) == status.Unavailable
		if !passing || in.stream.Resume == nil || in.count > 0 && in.last == "" {
			return err
		}
		if in.count > before {
			tries = 0
		}
		if tries >= resumeTries {
			return err
		}
		rest = req
		if !in.stream.Resume.Rest(&rest, in.count) {
			return nil // all that was asked for has come, but for the word that it has
		}
		if err := pause(ctx, in.retry<<tries); err != nil {
			return err
		}
	}
}

// pause waits, at most [retryMax].
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, retryMax))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.Public(ctx.Err())
	}
}

// once reads what one connection brings, of which begun is whether a reply
// began well, and cut whether that broke off.
func (in *inlet[Req, Rep]) once(ctx context.Context, req Req) (begun, cut bool, err error) {
	r, err := in.ask(ctx, &req)
	if err != nil {
		return false, false, err
	}
	if in.last != "" {
		r.Header = maps.Clone(r.Header) // all calls share it
		r.Header[headerLast] = []string{in.last}
	}
	err = in.client.Receive(ctx, r, httprpc.MediaEvents, func(*http.Request) {}, func(resp *http.Response) (err error) {
		begun = true
		cut, err = in.read(ctx, resp)
		return err
	})
	return begun, cut, err
}

// read yields the items of one reply. It returns nil at the stream's proper
// end, httprpc.ErrLeft if the consumer left, and else its error, with whether
// that is of a stream that broke off.
func (in *inlet[Req, Rep]) read(ctx context.Context, resp *http.Response) (cut bool, err error) {
	events, before := NewReader(resp.Body), in.count
	defer func() {
		if told := events.Retry(); told > 0 {
			in.retry = min(told, retryMax)
		}
	}()
	for {
		event, err := events.Next()
		switch {
		case errors.Is(err, ErrTooLong) || errors.Is(err, ErrNotUTF8):
			return false, status.Caused(status.BadProtocol, status.Internal, "reply: %v", err)
		case errors.Is(err, io.EOF):
			return true, in.client.StreamFailed(ctx, errNoEnd)
		case err != nil:
			return true, in.client.StreamFailed(ctx, err)
		}
		switch event.Name {
		case in.stream.Name, in.stream.other():
			item, err := in.stream.Codec.Decode(event.Data)
			if err != nil {
				return false, status.Caused(status.BadProtocol, status.Internal, "an event of the reply cannot be read")
			}
			if !in.take(item, event.ID, before) {
				return false, httprpc.ErrLeft
			}
		case in.stream.failure():
			_, _ = events.Next() // to the body's end, so that its connection serves again
			return false, httprpc.DecodeError(event.Data)
		case endEvent:
			if _, err := events.Next(); err == nil { // if it breaks off here, the stream is still whole
				return false, in.client.StreamFailed(ctx, errors.New("something follows the end event"))
			}
			return false, nil
		}
		// Events of other names are for other readers.
	}
}

// take gives an item of a reply, which began after the first before, to the
// consumer and reports whether it wants more.
func (in *inlet[Req, Rep]) take(item Rep, id string, before int64) bool {
	if r := in.stream.Resume; r != nil && r.Shift != nil && before > 0 {
		r.Shift(&item, before)
	}
	in.last = id
	in.count++
	return in.yield(item, nil)
}
