package httprpc

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"wirelab/wire/status"
)

// Framing is a way for the items of a stream to lie in the body of a reply, for
// [GetStream].
type Framing[Req, Rep any] struct {
	MediaType string
	// Send answers c with the items that call makes of req. ctx ends with the
	// call, and what waits for the reader ends with ctx.
	Send func(ctx context.Context, c *Call, req Req, call func(context.Context, Req) iter.Seq2[Rep, error]) error
}

// Lines is the framing of NDJSON; see the package comment. codec is one of JSON.
func Lines[Req, Rep any](codec Codec[Rep]) Framing[Req, Rep] {
	return Framing[Req, Rep]{
		MediaType: MediaNDJSON,
		Send: func(ctx context.Context, c *Call, req Req, call func(context.Context, Req) iter.Seq2[Rep, error]) error {
			return SendItems(ctx, c, MediaNDJSON, newLineSink(c, &codec), call(ctx, req))
		},
	}
}

// GetStream is the route of a call whose request is in its URL and whose reply
// is a stream, for [NewREST]: in the framing that Accept names, or else in the
// first that it covers. It panics without a framing: a mistake in the source.
func GetStream[Req, Rep any](
	parameters []Parameter[Req], call func(context.Context, Req) iter.Seq2[Rep, error], framings ...Framing[Req, Rep],
) Route {
	if len(framings) == 0 {
		panic("httprpc: a stream without a framing")
	}
	return Route{
		Method: http.MethodGet, parameters: names(parameters),
		Answer: func(ctx context.Context, c *Call) error {
			framing, err := chosen(c, framings)
			if err != nil {
				return err
			}
			if err := c.withoutBody(); err != nil {
				return err
			}
			req, err := readURL(parameters, c.place, c.variables, c.Request.URL.RawQuery)
			if err != nil {
				return err
			}
			if c.Request.Method == http.MethodHead {
				c.Begin(framing.MediaType) // the stream itself may have no end
				return nil
			}
			ctx, release := c.Interruptible(ctx)
			defer release()
			return framing.Send(ctx, c, req, call)
		},
	}
}

// chosen is the framing that the caller of c wants.
func chosen[Req, Rep any](c *Call, framings []Framing[Req, Rep]) (Framing[Req, Rep], error) {
	accept := strings.Join(c.Request.Header["Accept"], ",")
	if accept == "" {
		return framings[0], nil
	}
	for choice := range strings.SplitSeq(accept, ",") {
		i := slices.IndexFunc(framings, func(f Framing[Req, Rep]) bool { return f.MediaType == bare(choice) })
		if i >= 0 && !refusedByWeight(choice) {
			return framings[i], nil
		}
	}
	offered := make([]string, len(framings))
	for i, f := range framings {
		if covers(accept, f.MediaType) {
			return f, nil
		}
		offered[i] = f.MediaType
	}
	return Framing[Req, Rep]{}, refuse(c.handler.manner.accept, status.InvalidArgument,
		"nothing in Accept %q is known here: %s", accept, strings.Join(offered, ", "))
}

// CallGetStream returns the stub of a [GetStream] route that reads [Lines].
// Leaving its loop early ends the call. It panics as [CallGet] does.
func CallGetStream[Req, Rep any](
	c *Client, path string, parameters []Parameter[Req], reply Codec[Rep],
) func(context.Context, Req) iter.Seq2[Rep, error] {
	ask := Asking(c, path, parameters, MediaNDJSON)
	return func(ctx context.Context, req Req) iter.Seq2[Rep, error] {
		return func(yield func(Rep, error) bool) {
			r, err := ask(ctx, &req)
			if err == nil {
				err = c.Receive(ctx, r, MediaNDJSON, func(*http.Request) {}, func(resp *http.Response) error {
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
