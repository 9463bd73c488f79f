package external_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
)

// socketText is a chain over WebSocket, whose second step says in its handshake who it is.
const socketText = `
service: chat
wires:
  ws: {target: "ws://%s"}
operations:
  enter: {calls: {ws: {path: /enter, body: {who: ann}}}, ignore: [/token]}
  say:
    calls: {ws: {path: /say, headers: {Authorization: "Bearer {{.token}}"}, body: {token: "{{.token}}"}}}
    expect: learnt
  talk:
    steps:
      - {call: enter, save: {token: /token}}
      - {call: say}
`

// Binary messages, and subprotocols, of which a server takes one.
func TestBinaryMessages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"two"}})
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }() // the other end knows
		for {
			kind, message, err := conn.Read(r.Context())
			if err != nil || conn.Write(r.Context(), kind, fmt.Appendf(nil, "%v %x %s", kind, message,
				conn.Subprotocol())) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	text := "service: s\nwires: {w: {target: '" + strings.Replace(server.URL, "http", "ws", 1) +
		"'}}\noperations: {op: {calls: {w: {path: /, messages: 4, " +
		`send: [hi, {base64: aGk=}, {base64: /w==}, {base64: hi, more: 1}], headers: {Sec-WebSocket-Protocol: "one, two"}}}}}`
	p, err := prepared(t, text)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Try(t.Context(), "w", target(p), "op", false)
	want := "MessageText 6869 two\nMessageBinary 6869 two\nMessageBinary ff two\nMessageText " +
		"7b22626173653634223a226869222c226d6f7265223a317d two\n"
	if err != nil || string(reply.Reply.Body) != want {
		t.Errorf("%v\n%s\nnot\n%s", err, reply.Reply.Body, want)
	}
	for _, wrong := range []string{"{base64: '*'}", "{base64: 5}", "{base64: [a]}"} {
		_, err := prepared(t, strings.Replace(text, "{base64: /w==}", wrong, 1))
		if err == nil || !strings.Contains(err.Error(), "operations.op.calls.w.send[2].base64: ") ||
			!strings.Contains(err.Error(), "is not base64") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// A connection that another user opened is not reused: its handshake has identified that user.
func TestChainOverWebSocket(t *testing.T) {
	var issued atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }() // the other end knows
		for {
			_, message, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			var said struct{ Token string }
			_ = json.Unmarshal(message, &said)
			reply := fmt.Sprintf(`{"same": %t}`, r.Header.Get("Authorization") == "Bearer "+said.Token)
			if r.URL.Path == "/enter" {
				reply = fmt.Sprintf(`{"token": "token-%04d"}`, issued.Add(1))
			}
			if conn.Write(r.Context(), websocket.MessageText, []byte(reply)) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "http://")
	p, err := prepared(t, fmt.Sprintf(socketText, address))
	if err != nil {
		t.Fatal(err)
	}
	call, err := dialled(t, p, "ws", address).Caller("talk", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if issued.Load() != 4 {
		t.Errorf("%d tokens", issued.Load())
	}
}
