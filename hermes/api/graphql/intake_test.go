package graphql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"wirelab/hermes/api/intake"
)

// What comes by POST and over WebSockets counts in the node's bound until it is answered. Without room it is
// refused with the bound, and the request of a subscription, which lasts, is small.
func TestIntake(t *testing.T) {
	t.Parallel()
	s := start(t, memory(t))
	k := s.open("/graphql")
	long := strings.Repeat("x", 200<<10)
	empty := func() {
		t.Helper()
		for s.intake.Counts().Bytes != 0 { // an answer is sent before its request is let go of
			time.Sleep(time.Millisecond)
		}
	}
	for range 10 {
		s.want(s.ask("/graphql", `query($p:String){topics(prefix:$p){name}}`, "p", "t"), `{"topics":`)
		k.subscribe("x", `{topics{name}}`)
		k.next()
		k.next()
	}
	empty()
	k.send(`{"id":"y","type":"subscribe","payload":{"query":"subscription{messages(topic:\"t\"){offset}}","extensions":"` +
		long + `"}}`)
	if text := k.next(); !strings.Contains(text, "at most 65536 bytes") {
		t.Errorf("a large subscription gets %.300s", text)
	}
	empty()
	if err := s.intake.Admit(t.Context().Done(), intake.Least); err != nil {
		t.Fatal(err)
	}
	if text := s.raw("/graphql", `{topics{name}}`); !strings.Contains(text, "RESOURCE_EXHAUSTED") &&
		!strings.Contains(text, "resource_exhausted") ||
		!strings.Contains(text, "16777216 bytes") {
		t.Errorf("without room a question gets %s", text)
	}
	k.subscribe("z", `{topics{name}}`)
	if code := k.closed(); code != websocket.StatusTryAgainLater {
		t.Errorf("without room a WebSocket ends with %d", code)
	}
}
