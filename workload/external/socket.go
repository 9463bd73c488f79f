package external

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"wirelab"
	"wirelab/workload/external/request"
)

// sockets are the WebSockets of a client: one for each call in flight, kept for further calls.
type sockets struct {
	wire Wire
	to   wirelab.Dialing
	room chan struct{} // one element for each connection in use

	mu     sync.Mutex // guards all below
	idle   []*socket
	closed bool
}

// socket is one connection, opened for a request: its path and fields belong to the handshake.
type socket struct {
	*websocket.Conn
	stream net.Conn // below the WebSocket
	of     *prepared
}

func newSockets(w Wire, to wirelab.Dialing) *sockets {
	return &sockets{wire: w, to: to, room: make(chan struct{}, to.ConnectionCount())}
}

// call implements [port]: it sends the messages of the request, and reads its replies.
func (p *sockets) call(ctx context.Context, c *prepared, s *scratch) (request.Reply, error) {
	select {
	case p.room <- struct{}{}:
		defer func() { <-p.room }()
	case <-ctx.Done():
		return request.Reply{}, wirelab.Public(ctx.Err())
	}
	on, err := p.take(ctx, c)
	if err != nil {
		return request.Reply{}, failed(ctx, p.wire, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = on.stream.Close() })
	reply, err := on.exchange(c, s)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = on.CloseNow() // data still in flight would be taken for the reply to the next call
		return request.Reply{}, failed(ctx, p.wire, ended(err))
	}
	p.give(on)
	return reply, nil
}

// ended returns the error for a close frame.
func ended(err error) error {
	if status := websocket.CloseStatus(err); status >= 0 {
		return wirelab.Caused(wirelab.Closed, wirelab.Unavailable, "the server closed the WebSocket: %v", status)
	}
	return err
}

// exchange makes one call on an open connection.
func (s *socket) exchange(c *prepared, into *scratch) (request.Reply, error) {
	messages := c.Messages
	if messages == nil && c.Body != nil {
		messages = [][]byte{c.Body}
	}
	for i, m := range messages {
		kind := websocket.MessageText
		if i < len(c.Binary) && c.Binary[i] || !utf8.Valid(m) { // a text message must be UTF-8 (RFC 6455, 5.6)
			kind = websocket.MessageBinary
		}
		if err := s.Write(context.Background(), kind, m); err != nil {
			return request.Reply{}, err
		}
	}
	into.body = into.body[:0]
	for range max(c.calls.Messages, 1) {
		_, from, err := s.Reader(context.Background())
		if err != nil {
			return request.Reply{}, err
		}
		if into.body, err = appendAll(into.body, from); err != nil {
			return request.Reply{}, err
		}
		into.body = append(into.body, '\n')
	}
	return request.Reply{Status: http.StatusOK, Body: into.body}, nil
}

// appendAll reads a message to its end.
func appendAll(into []byte, from io.Reader) ([]byte, error) {
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		n, err := from.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
		switch {
		case errors.Is(err, io.EOF):
			return into, nil
		case err != nil:
			return into, err
		case len(into) > replyLimit:
			return into, wirelab.Errorf(wirelab.ResourceExhausted, "reply of more than %d bytes", replyLimit)
		}
	}
}

// take returns an idle connection for the request, or opens one.
func (p *sockets) take(ctx context.Context, c *prepared) (*socket, error) {
	p.mu.Lock()
	for i, s := range p.idle {
		if s.of == c || s.of.URL == c.URL && slices.Equal(s.of.Fields, c.Fields) {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			p.mu.Unlock()
			return s, nil
		}
	}
	var old *socket
	if len(p.idle) > 0 && len(p.idle) >= cap(p.room) {
		old, p.idle = p.idle[0], p.idle[1:] // of another path: the total number of connections is bounded
	}
	p.mu.Unlock()
	if old != nil {
		old.end()
	}
	return p.open(ctx, c)
}

// give keeps a connection for a later call.
func (p *sockets) give(s *socket) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if closed {
		s.end()
	}
}

// open opens a connection. Each has a separate transport, so that its net.Conn is known.
func (p *sockets) open(ctx context.Context, c *prepared) (*socket, error) {
	var stream net.Conn
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			opened, err := p.to.Open(ctx)
			stream = opened
			return opened, err
		},
		TLSClientConfig: p.to.TLS(), DisableCompression: true, DisableKeepAlives: true, Protocols: protocols,
	}
	at := *c.http.URL
	at.Scheme = "ws"
	if p.wire.Secure {
		at.Scheme = "wss"
	}
	var offered []string // the library refuses a subprotocol that it did not offer itself
	for _, line := range c.http.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			offered = append(offered, strings.TrimSpace(name))
		}
	}
	//nolint:bodyclose // the body is the connection
	conn, resp, err := websocket.Dial(ctx, at.String(),
		&websocket.DialOptions{
			HTTPClient: &http.Client{Transport: transport}, HTTPHeader: c.http.Header, Host: c.http.Host,
			CompressionMode: websocket.CompressionDisabled, Subprotocols: offered,
		})
	if err != nil {
		transport.CloseIdleConnections()
		if resp != nil {
			if refusal := refused(&request.Reply{Status: resp.StatusCode}); refusal != nil {
				return nil, refusal
			}
		}
		return nil, err
	}
	conn.SetReadLimit(replyLimit)
	return &socket{Conn: conn, stream: stream, of: c}, nil
}

// end closes a connection with a handshake, if the server answers.
func (s *socket) end() {
	timer := time.AfterFunc(farewell, func() { _ = s.stream.Close() })
	defer timer.Stop()
	_ = s.Close(websocket.StatusNormalClosure, "") // the server may be gone
}

// Close implements [io.Closer].
func (p *sockets) Close() error {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range idle {
		all.Go(s.end)
	}
	all.Wait()
	return nil
}
