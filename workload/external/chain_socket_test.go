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

// A connection that was opened by somebody else is not used: its handshake says who that was.
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
