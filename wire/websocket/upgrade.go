package websocket

import (
	"net"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"wirelab/wire/exchange"
)

// upgrader turns HTTP requests into connections of an exchange server.
type upgrader struct {
	calls *exchange.Server
	// attending counts the connections that HTTP still has and the requests
	// being answered, which last as long as the connections they become. Each
	// is added while another is counted, or before the server stops accepting.
	attending sync.WaitGroup
}

// follow is the http.Server's ConnState.
func (u *upgrader) follow(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		u.attending.Add(1)
	case http.StateClosed, http.StateHijacked:
		u.attending.Done()
	case http.StateActive, http.StateIdle: // still counted
	}
}

// ServeHTTP implements http.Handler.
func (u *upgrader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.attending.Add(1)
	defer u.attending.Done()
	stream, ok := r.Context().Value(connKey{}).(net.Conn)
	if !ok || r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:    []string{Subprotocol},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return // the library has answered
	}
	conn := newConn(socket, stream)
	if socket.Subprotocol() != Subprotocol {
		_ = socket.Close(websocket.StatusPolicyViolation, "subprotocol "+Subprotocol+" is needed")
		conn.Abort()
		return
	}
	u.calls.Attend(conn)
}
