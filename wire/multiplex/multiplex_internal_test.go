package multiplex

import (
	"context"
	"errors"
	"net"
	"testing"
)

// A call whose turn has come by the time that it learns that there is no connection for it gives its place back.
func TestATurnThatComesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	var over *Transport
	over = New(func(context.Context) (net.Conn, error) {
		over.mu.Lock()
		defer over.mu.Unlock()
		over.conn = &conn{limit: 1} // as another call found it, which let those in who wait
		over.next()
		over.conn = nil
		return nil, errors.New("no server is there")
	}, "x:1", nil)
	if err := over.enter(t.Context()); err == nil {
		t.Fatal("a call was let in without a connection")
	}
	if over.taken != 0 || len(over.waiting) != 0 {
		t.Errorf("%d places are taken, and %d wait", over.taken, len(over.waiting))
	}
}
