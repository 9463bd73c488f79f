package graphql

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"

	"wirelab/wire/endpoint"
	"wirelab/wire/http1"
	"wirelab/wire/httprpc"
	"wirelab/wire/sse"
	"wirelab/wire/status"
)

// Dial returns a client. It connects with its first calls.
func Dial(to endpoint.Dialing) *httprpc.Client { return http1.Dial(to, false) }

// poster makes the requests of one operation: its text is fixed, its variables are not.
type poster[Vars any] struct {
	head     []byte // the body up to the variables
	template *http.Request
}

// newPoster panics on a name or a query that JSON cannot hold, which is a
// mistake in the source.
func newPoster[Vars any](c *httprpc.Client, name, query, accept string) poster[Vars] {
	text, err := json.Marshal(struct {
		Query         string `json:"query"`
		OperationName string `json:"operationName"`
	}{query, name})
	if err != nil {
		panic(err)
	}
	head := append(bytes.TrimSuffix(text, []byte("}")), `,"variables":`...)
	return poster[Vars]{head: head, template: c.Request(http.MethodPost, Path, httprpc.MediaJSON, accept)}
}

// fill gives r the body of a request with vars.
func (p poster[Vars]) fill(r *http.Request, vars Vars) error {
	text, err := json.Marshal(vars)
	if err != nil {
		return status.Errorf(status.InvalidArgument, "variables: %v", err)
	}
	body := make([]byte, 0, len(p.head)+len(text)+1)
	body = append(append(append(body, p.head...), text...), '}')
	r.ContentLength = int64(len(body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

// Ask returns the stub of a query: the operation called name in the text query.
func Ask[Vars, Data any](c *httprpc.Client, name, query string) func(context.Context, Vars) (Data, error) {
	p := newPoster[Vars](c, name, query, mediaResponse)
	return func(ctx context.Context, vars Vars) (data Data, err error) {
		r := p.template.WithContext(ctx)
		if err := p.fill(r, vars); err != nil {
			return data, err
		}
		reply, err := c.Do(r, mediaResponse)
		if err != nil {
			return data, err
		}
		text, err := readReply(reply)
		_ = reply.Body.Close() // it has been read, or is past use
		if err != nil {
			return data, c.StreamFailed(ctx, err)
		}
		return parseResponse[Data](text)
	}
}

// readReply reads a reply's body, or a byte more than the limit of it. Servers
// announce the length of what they send whole, so that the room is known.
func readReply(reply *http.Response) ([]byte, error) {
	if n := reply.ContentLength; 0 <= n && n <= httprpc.MessageLimit {
		text := make([]byte, n)
		_, err := io.ReadFull(reply.Body, text)
		return text, err
	}
	return io.ReadAll(io.LimitReader(reply.Body, httprpc.MessageLimit+1))
}

// parseResponse reads a whole reply.
func parseResponse[Data any](text []byte) (data Data, err error) {
	if len(text) > httprpc.MessageLimit {
		return data, status.Errorf(status.ResourceExhausted, "reply of more than %d bytes", httprpc.MessageLimit)
	}
	var r response[Data]
	if err := json.Unmarshal(text, &r); err != nil {
		return data, status.Caused(status.BadProtocol, status.Internal, "the reply is not JSON of a result")
	}
	return r.result()
}

// errNoEnd is a stream whose transport ended it well but whose last event is missing.
var errNoEnd = errors.New("the stream was cut short: its complete event is missing")

// Subscribe returns the stub of a subscription. Leaving its loop early ends
// the call.
func Subscribe[Vars, Data any](
	c *httprpc.Client, name, query string,
) func(context.Context, Vars) iter.Seq2[Data, error] {
	p := newPoster[Vars](c, name, query, httprpc.MediaEvents)
	return func(ctx context.Context, vars Vars) iter.Seq2[Data, error] {
		return func(yield func(Data, error) bool) {
			var invalid error
			err := c.Receive(ctx, p.template, httprpc.MediaEvents,
				func(r *http.Request) { invalid = p.fill(r, vars) },
				func(reply *http.Response) error { return readEvents(ctx, c, reply.Body, yield) })
			if invalid != nil {
				err = invalid
			}
			if err != nil && !errors.Is(err, httprpc.ErrLeft) {
				var none Data
				yield(none, err)
			}
		}
	}
}

// readEvents yields the items of a subscription. It returns nil at its proper
// end, httprpc.ErrLeft if the consumer left, and else the stream's error.
func readEvents[Data any](
	ctx context.Context, c *httprpc.Client, body io.Reader, yield func(Data, error) bool,
) error {
	reader := sse.NewReader(body)
	for {
		event, err := reader.Next()
		if errors.Is(err, io.EOF) {
			err = errNoEnd
		}
		if err != nil {
			return c.StreamFailed(ctx, err)
		}
		switch event.Name {
		case completeEvent:
			return rest(ctx, c, reader)
		case nextEvent:
			data, err := parseResponse[Data](event.Data)
			if err != nil {
				_ = rest(ctx, c, reader) // the item's error is the better one
				return err
			}
			if !yield(data, nil) {
				return httprpc.ErrLeft
			}
		default: // as the protocol asks: what one does not know one passes over
		}
	}
}

// rest reads to the body's end, so that its connection serves again.
func rest(ctx context.Context, c *httprpc.Client, reader *sse.Reader) error {
	for {
		if _, err := reader.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return c.StreamFailed(ctx, err)
		}
	}
}
