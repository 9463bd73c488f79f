// Package websocket carries the messages of package exchange over WebSocket, one binary message each. It knows
// the upgrade, the subprotocol and the library; it knows neither operations nor the content of a message.
//
// # The wire
//
// A client asks for an upgrade of GET / over HTTP/1.1 and offers
// [Subprotocol]; a server that is not offered it refuses. Then every message
// is one binary WebSocket message, whose content package exchange defines. A
// text message ends the connection. Either side says goodbye by WebSocket's
// closing handshake between calls, and by closing the connection in one.
//
// # Knobs that matter
//
// Compression (permessage-deflate) is off on both sides: of small messages it
// makes larger ones. A message takes at most exchange.MessageLimit bytes, over
// any number of frames; the library's own limit would be 32 KiB. A request
// from a page of another origin is refused, which is the library's default. An
// upgrade must arrive within [upgradeTimeout]. There are no pings: an idle
// connection costs nothing, and TCP keep-alive finds dead peers.
package websocket

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"wirelab"
	"wirelab/wire/exchange"
)

// Subprotocol is the name under which both sides know what the messages mean.
const Subprotocol = "exchange.v1.wirelab"

const (
	upgradeTimeout = 10 * time.Second
	// farewell is how long a closing handshake may take.
	farewell = time.Second
	// headerLimit is the size in bytes above which an upgrade is refused.
	headerLimit = 16 << 10
)

// connKey is the context key of a server connection's net.Conn.
type connKey struct{}

// Serve answers calls by handlers. It follows the contract of
// [wirelab.Server].
func Serve(ctx context.Context, at wirelab.Endpoint, handlers ...exchange.Handler) error {
	if at.Listener == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "WebSocket needs a listener")
	}
	calls := exchange.NewServer(handlers...)
	upgrades := &upgrader{calls: calls}
	server := &http.Server{
		Handler:           upgrades,
		ReadHeaderTimeout: upgradeTimeout,
		MaxHeaderBytes:    headerLimit,
		ConnState:         upgrades.follow,
		// Clients that misbehave are answered, not recorded.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	served := make(chan error, 1) // bounded by the one send
	go func() { served <- server.Serve(at.Listener) }()
	var err error
	select {
	case <-ctx.Done():
		_ = at.Listener.Close() // before the drain, so that no new one comes in
		err = <-served
	case err = <-served:
	}
	if ctx.Err() != nil {
		err = nil // that the listener was closed
	} else {
		err = wirelab.Errorf(wirelab.Unavailable, "accept: %v", err)
	}
	calls.Stop(at.DrainTime())
	// The rest has not been upgraded, or was refused: no call is in it.
	_ = server.Close()
	upgrades.attending.Wait()
	return err
}

// Dial returns a client. It connects when it is first used.
func Dial(to wirelab.Dialing) *exchange.Client {
	return exchange.NewClient(to.ConnectionCount(), func(ctx context.Context) (exchange.Conn, error) {
		return dial(ctx, to)
	})
}

// dial opens one connection. Each has its own transport, which is how its net.Conn is known and nothing idle is
// left behind.
func dial(ctx context.Context, to wirelab.Dialing) (exchange.Conn, error) {
	var stream net.Conn
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			opened, err := to.Open(ctx)
			stream = opened
			return opened, err
		},
		DisableCompression:     true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: headerLimit,
		Protocols:              http1(),
	}
	//nolint:bodyclose // the body is the connection
	socket, _, err := websocket.Dial(ctx, "ws://"+to.Address+"/",
		&websocket.DialOptions{
			HTTPClient:      &http.Client{Transport: transport},
			Subprotocols:    []string{Subprotocol},
			CompressionMode: websocket.CompressionDisabled,
		})
	if err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	if got := socket.Subprotocol(); got != Subprotocol {
		_ = socket.CloseNow()
		return nil, wirelab.Errorf(wirelab.Unavailable, "the server speaks subprotocol %q, not %q", got, Subprotocol)
	}
	return newConn(socket, stream), nil
}

func http1() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	return p
}

// conn is an [exchange.Conn] over a WebSocket.
type conn struct {
	socket *websocket.Conn
	stream net.Conn // under it
}

var _ exchange.Conn = (*conn)(nil)

func newConn(socket *websocket.Conn, stream net.Conn) *conn {
	socket.SetReadLimit(exchange.MessageLimit)
	return &conn{socket: socket, stream: stream}
}

// Send implements [exchange.Conn]. The library is given no context: it would
// hook itself to it at each message, and Abort does the same for a whole call.
func (c *conn) Send(frame []byte) error {
	return c.socket.Write(context.Background(), websocket.MessageBinary, frame[exchange.Headroom:])
}

// Receive implements [exchange.Conn].
func (c *conn) Receive(into []byte) ([]byte, error) {
	kind, message, err := c.socket.Reader(context.Background())
	if err != nil {
		return nil, translate(err)
	}
	if kind != websocket.MessageBinary {
		_ = c.socket.Close(websocket.StatusUnsupportedData, "binary messages only")
		return nil, errors.New("text message")
	}
	for {
		into = slices.Grow(into, 512)
		n, err := message.Read(into[len(into):cap(into)])
		into = into[:len(into)+n]
		if errors.Is(err, io.EOF) {
			return into, nil
		}
		if err != nil {
			return nil, translate(err)
		}
	}
}

// translate tells a message that was too large, for whichever side, from
// every other end of a connection.
func translate(err error) error {
	if errors.Is(err, websocket.ErrMessageTooBig) || websocket.CloseStatus(err) == websocket.StatusMessageTooBig {
		return exchange.ErrTooLarge
	}
	return err
}

// Close implements [exchange.Conn].
func (c *conn) Close() {
	timer := time.AfterFunc(farewell, func() { _ = c.stream.Close() })
	defer timer.Stop()
	_ = c.socket.Close(websocket.StatusNormalClosure, "")
}

// Abort implements [exchange.Conn]. The connection goes first: the library's
// own way would wait for a closing handshake that is under way.
func (c *conn) Abort() {
	_ = c.stream.Close()
	_ = c.socket.CloseNow()
}
