package external

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"wirelab"
	"wirelab/wire/http1"
	"wirelab/wire/http2"
	"wirelab/wire/http3"
	"wirelab/wire/httprpc"
	"wirelab/workload/external/request"
)

// replyLimit is the maximum length of one reply in bytes.
const replyLimit = 16 << 20

// open opens the client's end of a wire. It connects with the first call.
func open(_ context.Context, w Wire, to wirelab.Dialing) (port, error) {
	switch w.Kind {
	case WebSocket:
		return newSockets(w, to), nil
	case GRPC:
		return openGRPC(w, to)
	}
	over, closing, err := w.transport(to)
	if err != nil {
		return nil, err
	}
	return &httpPort{over: over, wire: w, close: closing}, nil
}

// transport returns the transport of the wire.
func (w Wire) transport(to wirelab.Dialing) (http.RoundTripper, func() error, error) {
	var client *httprpc.Client
	var err error
	switch {
	case w.Proxy != "":
		return w.throughProxy(to)
	case w.Version == HTTP1:
		client = http1.Dial(to, w.Secure)
	case w.Version == HTTP2:
		client = http2.Dial(to, w.Secure)
	case w.Version == HTTP3:
		client, err = http3.Dial(to)
	default:
		err = wirelab.Errorf(wirelab.InvalidArgument, "wire %s: version %q", w.Name, w.Version)
	}
	if err != nil {
		return nil, nil, err
	}
	return client.Transport(), client.Close, nil
}

// throughProxy returns a transport through a proxy, which is reached over HTTP/1.1.
func (w Wire) throughProxy(to wirelab.Dialing) (http.RoundTripper, func() error, error) {
	at, err := url.Parse(w.Proxy)
	if err != nil {
		return nil, nil, wirelab.Errorf(wirelab.InvalidArgument, "wire %s: proxy: %v", w.Name, err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(w.Version == HTTP1)
	protocols.SetHTTP2(w.Version == HTTP2)
	transport := &http.Transport{
		Proxy: http.ProxyURL(at),
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			towards := to
			towards.Address, towards.Next = address, nil
			return towards.Open(ctx)
		},
		Protocols: protocols, TLSClientConfig: to.TLS(), DisableCompression: true,
		MaxConnsPerHost: to.ConnectionCount(), MaxIdleConnsPerHost: to.ConnectionCount(),
	}
	return transport, func() error { transport.CloseIdleConnections(); return nil }, nil
}

// prepare prepares a request as far as possible in advance.
func (w Wire) prepare(r request.Request, calls *Calls) (*prepared, error) {
	made := &prepared{Request: r, calls: calls}
	if w.Kind == GRPC {
		return made, made.grpcRequest()
	}
	at, err := url.Parse(r.URL)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "URL %q: %v", r.URL, errors.Unwrap(err))
	}
	at.Scheme, at.Host = w.scheme(), w.Authority
	made.http = &http.Request{Method: r.Method, URL: at, Host: w.Authority, Header: http.Header{}}
	for _, f := range r.Fields {
		if strings.EqualFold(f.Name, "host") {
			made.http.Host = f.Value
			continue
		}
		name := http.CanonicalHeaderKey(f.Name)
		made.http.Header[name] = append(made.http.Header[name], f.Value)
	}
	if made.http.Header.Get("User-Agent") == "" {
		made.http.Header.Set("User-Agent", "wirelab")
	}
	return made, nil
}

func (w Wire) scheme() string {
	if w.Secure {
		return "https"
	}
	return "http"
}

// newScratch returns the scratch of a caller over the wire.
func newScratch(w Wire) *scratch {
	s := &scratch{}
	if w.Cookies {
		s.cookies, _ = cookiejar.New(nil) // without options it cannot fail
	}
	return s
}

// httpPort is plain HTTP and the protocols over it.
type httpPort struct {
	over  http.RoundTripper
	wire  Wire
	close func() error
}

// replayed returns the port that learns calls for the raw driver, and reads its replies.
func (w Wire) replayed(over http.RoundTripper) port {
	if w.Kind == GRPC {
		return replayedGRPC(over, w)
	}
	return &httpPort{over: over, wire: w, close: func() error { return nil }}
}

// Close implements [io.Closer].
func (p *httpPort) Close() error { return p.close() }

// call implements [port].
func (p *httpPort) call(ctx context.Context, c *prepared, s *scratch) (request.Reply, error) {
	r := c.http.WithContext(ctx)
	if len(c.Body) > 0 {
		r.ContentLength = int64(len(c.Body))
		r.Body = io.NopCloser(bytes.NewReader(c.Body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.Body)), nil }
	}
	if s.cookies != nil {
		r.Header = r.Header.Clone() // all calls share that of the template
		for _, cookie := range s.cookies.Cookies(r.URL) {
			r.AddCookie(cookie)
		}
	}
	resp, err := p.over.RoundTrip(r)
	if err != nil {
		return request.Reply{}, failed(ctx, p.wire, err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read as far as needed
	if s.cookies != nil {
		s.cookies.SetCookies(r.URL, resp.Cookies())
	}
	reply := request.Reply{Status: resp.StatusCode, Proto: resp.Proto}
	to := resp.Header.Get("Location")
	switch {
	case c.fields:
		reply.Fields = fieldsOfHeader(resp.Header)
	case to != "" && resp.StatusCode < http.StatusBadRequest && resp.StatusCode >= http.StatusMultipleChoices:
		reply.Fields = []request.Field{{Name: "Location", Value: to}}
	}
	if p.wire.Kind == SSE && resp.StatusCode == http.StatusOK {
		reply.Body, err = readEvents(resp, c.calls.Messages)
	} else {
		reply.Body, err = s.read(resp.Body)
	}
	if err != nil {
		return request.Reply{}, failed(ctx, p.wire, err)
	}
	return reply, nil
}

// read reads the body of a reply into the scratch.
func (s *scratch) read(body io.Reader) ([]byte, error) {
	into := bytes.NewBuffer(s.body[:0])
	n, err := into.ReadFrom(io.LimitReader(body, replyLimit+1))
	s.body = into.Bytes()
	if err == nil && n > replyLimit {
		err = wirelab.Errorf(wirelab.ResourceExhausted, "reply of more than %d bytes", replyLimit)
	}
	return s.body, err
}

// failed returns the error for the caller of a call without a complete reply.
func failed(ctx context.Context, w Wire, err error) error {
	var coded *wirelab.Error
	switch {
	case ctx.Err() != nil:
		return wirelab.Public(ctx.Err())
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wirelab.Lost(wirelab.Unavailable, err, "%s closed the connection before its reply was whole", w.Address)
	}
	return wirelab.Lost(wirelab.Unavailable, err, "%s: %v", w.Address, err)
}

// farewell is the time limit for the closing handshake of a WebSocket.
const farewell = time.Second
