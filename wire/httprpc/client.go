package httprpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"wirelab/wire/multiplex"
	"wirelab/wire/status"
)

// Client calls one server. It is safe for concurrent use. It uses the round
// tripper without an http.Client above it: redirects and cookies have no
// meaning for a call.
type Client struct {
	transport http.RoundTripper
	scheme    string
	address   string
	major     int // of the HTTP version every reply must be of
	close     func() error
	buffers   sync.Pool // of *bytes.Buffer, for replies
}

// NewClient returns a client of the server at scheme://address whose replies
// must be of HTTP version major. Close calls release.
func NewClient(transport http.RoundTripper, scheme, address string, major int, release func() error) *Client {
	return &Client{
		transport: transport, scheme: scheme, address: address, major: major, close: release,
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

// Transport is what the client sends requests through, for those who make theirs themselves.
func (c *Client) Transport() http.RoundTripper { return c.transport }

// Close closes the client's connections.
func (c *Client) Close() error { return c.close() }

// Request makes a request for [Client.Do] to send copies of. It is never sent itself.
func (c *Client) Request(method, path, contentType, accept string) *http.Request {
	r := &http.Request{
		Method: method,
		URL:    &url.URL{Scheme: c.scheme, Host: c.address, Path: path},
		Host:   c.address,
		Header: http.Header{"Accept": {accept}},
	}
	if contentType != "" {
		r.Header["Content-Type"] = []string{contentType}
	}
	return r
}

// Do sends r, a copy of a template made with its WithContext, and returns the
// reply if it is a success of type want; the caller reads its body to the end
// and closes it.
func (c *Client) Do(r *http.Request, want string) (*http.Response, error) {
	return c.do(r, want, http.StatusOK)
}

// do is [Client.Do] for a success of a status.
func (c *Client) do(r *http.Request, want string, success int) (*http.Response, error) {
	ctx := r.Context()
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		if left <= 0 {
			return nil, status.Public(context.DeadlineExceeded)
		}
		// Rounded up: the server must not give up before its caller does.
		millis := int64((left + time.Millisecond - 1) / time.Millisecond)
		r.Header = maps.Clone(r.Header) // the template's is shared by all calls
		r.Header[headerTimeout] = []string{strconv.FormatInt(min(millis, timeoutMax), 10)}
	}
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, c.failed(ctx, err)
	}
	if resp.ProtoMajor != c.major || (c.major == 1 && resp.ProtoMinor != 1) {
		finish(resp)
		return nil, status.Caused(status.BadProtocol, status.Internal, "the reply came over %s", resp.Proto)
	}
	if err := unasked(resp); err != nil {
		finish(resp)
		return nil, err
	}
	sent := resp.Header.Get("Content-Type")
	if resp.StatusCode == success && (sent == want || bare(sent) == want) {
		return resp, nil
	}
	defer finish(resp)
	if resp.StatusCode == success {
		return nil, status.Caused(status.BadProtocol, status.Internal, "reply of type %q, want %q", sent, want)
	}
	err = c.readBody(resp, func(data []byte) error { return decodeError(resp.StatusCode, sent, data) })
	return nil, c.failed(ctx, err)
}

// unasked names what a server may send to any client, and this one does not take.
func unasked(resp *http.Response) error {
	switch coding := resp.Header.Get("Content-Encoding"); {
	case coding != "" && !strings.EqualFold(coding, "identity"):
		return status.Errorf(status.Unimplemented,
			"the reply is compressed (Content-Encoding: %.40q), though the request did not ask for it; have the "+
				"server "+
				"send replies as they are", coding)
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "":
		return status.Errorf(status.Unimplemented,
			"status %d: the server redirects to %.200q, and redirects are not followed; name that server instead",
			resp.StatusCode, resp.Header.Get("Location"))
	}
	return nil
}

// finish closes a reply. Its error is of no use: what was wanted has been read.
func finish(resp *http.Response) { _ = resp.Body.Close() }

// readBody reads a reply's body to its end and passes it to use, which must
// not keep it.
func (c *Client) readBody(resp *http.Response, use func([]byte) error) error {
	buffer := c.buffers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer func() {
		if buffer.Cap() <= bufferKept {
			c.buffers.Put(buffer)
		}
	}()
	n, err := buffer.ReadFrom(io.LimitReader(resp.Body, MessageLimit+1))
	if err != nil {
		return err
	}
	if n > MessageLimit {
		return status.Errorf(status.ResourceExhausted, "reply of more than %d bytes", MessageLimit)
	}
	return use(buffer.Bytes())
}

// failed is what the caller receives of a call that failed with err.
func (c *Client) failed(ctx context.Context, err error) error {
	var full *multiplex.Full
	if errors.As(err, &full) && errors.Is(full, context.DeadlineExceeded) {
		return status.Errorf(status.DeadlineExceeded, "%v", full)
	}
	if ctx.Err() != nil {
		return status.Public(ctx.Err())
	}
	if code := status.CodeOf(err); code == status.DeadlineExceeded || code == status.Canceled {
		return status.Public(err)
	}
	var coded *status.Error
	if errors.As(err, &coded) {
		return coded
	}
	var reset http2.StreamError
	if errors.As(err, &reset) {
		return status.Caused(status.Reset, status.Unavailable, "%s: the server reset the stream: %v", c.address,
			reset.Code)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Lost(status.Unavailable, err,
			"%s: the server closed the connection before its reply was whole (%v)",
			c.address, err)
	}
	return status.Lost(status.Unavailable, err, "%s: %v", c.address, err)
}

// CallUnary returns the stub of a [Unary] route.
func CallUnary[Req, Rep any](
	c *Client, path string, request Codec[Req], reply Codec[Rep],
) func(context.Context, Req) (Rep, error) {
	return callUnary(c, path, http.StatusOK, request, reply)
}

// CallAccepted returns the stub of a [Unary] route that is [Route.Accepted].
func CallAccepted[Req, Rep any](
	c *Client, path string, request Codec[Req], reply Codec[Rep],
) func(context.Context, Req) (Rep, error) {
	return callUnary(c, path, http.StatusAccepted, request, reply)
}

func callUnary[Req, Rep any](
	c *Client, path string, success int, request Codec[Req], reply Codec[Rep],
) func(context.Context, Req) (Rep, error) {
	want := reply.Encoding.mediaType()
	template := c.Request(http.MethodPost, path, request.Encoding.mediaType(), want)
	return func(ctx context.Context, req Req) (rep Rep, err error) {
		data, err := request.Encode(req)
		if err != nil {
			return rep, fmt.Errorf("request: %w", err)
		}
		r := template.WithContext(ctx)
		setBody(r, data)
		resp, err := c.do(r, want, success) //nolint:bodyclose // readReply closes it
		if err != nil {
			return rep, err
		}
		return readReply(ctx, c, resp, &reply)
	}
}

// setBody gives r a body that can be sent again, as HTTP/2 and HTTP/3 do where
// a server that stops has refused it unread.
func setBody(r *http.Request, data []byte) {
	r.ContentLength = int64(len(data))
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

// flaw says what is wrong with a reply, where that is in its form.
func flaw(data []byte, err error) string {
	var syntax *json.SyntaxError
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return ": it begins with a byte-order mark"
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		return ": it is compressed by gzip, and its header does not say so; have the server send replies as they are"
	case errors.As(err, &syntax):
		return fmt.Sprintf(": byte %d: %v", syntax.Offset, syntax)
	case errors.Is(err, errNotUTF8):
		return ": it is " + errNotUTF8.Error()
	}
	return ""
}

// readReply reads the one message of a reply and closes it.
func readReply[T any](ctx context.Context, c *Client, resp *http.Response, codec *Codec[T]) (v T, err error) {
	defer finish(resp)
	err = c.readBody(resp, func(data []byte) (err error) {
		if v, err = codec.Decode(data); err != nil {
			return status.Caused(status.BadProtocol, status.Internal, "the reply cannot be read as %s%s",
				codec.Encoding.mediaType(), flaw(data, err))
		}
		return nil
	})
	if err != nil {
		return v, c.failed(ctx, err)
	}
	return v, nil
}
