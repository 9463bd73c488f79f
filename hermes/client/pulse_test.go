package client_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// frost connects to nodes, one of which may freeze: its connections stay and nothing comes
// out of them, as from a process that is stopped.
type frost struct {
	mu     sync.Mutex
	at     string        // "": none is frozen
	thawed chan struct{} // closed at the end
}

type frozenConn struct {
	net.Conn
	f  *frost
	at string
}

func (f *frost) connect(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	return &frozenConn{conn, f, address}, err
}

func (f *frost) freeze(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = address
}

func (c *frozenConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.f.mu.Lock()
	frozen := c.f.at == c.at
	c.f.mu.Unlock()
	if frozen {
		<-c.f.thawed
	}
	return n, err
}

// A node that is stopped keeps its connections and answers nothing. Publishes, subscriptions
// and calls leave it long before their patience is over, since it does not even say that it lives.
func TestNodeFreezes(t *testing.T) {
	t.Parallel()
	m := memory(t)
	f := &frost{thawed: make(chan struct{})}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var addresses []string
	lead := ""
	b := &faulty{Broker: m, leader: func() (broker.Member, bool) {
		return broker.Member{ID: 1, GRPC: lead},
			lead != ""
	}}
	for range 2 {
		addresses = append(addresses, serve(t, b, api.Options{}).address)
	}
	lead = addresses[0] // both name it, frozen or not, as nodes do until they elect
	c := connect(t, client.Options{
		Addresses: addresses, Connect: f.connect, Patience: time.Minute / 4,
		RetryFor: time.Minute,
	})
	t.Cleanup(func() { close(f.thawed) })
	s, err := c.Subscribe(ctx, broker.Start{Topic: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		payload := string('0' + rune(i))
		if _, err := c.Publish(ctx, "t", hermes.Consistent, &hermes.Message{Payload: []byte(payload)}); err != nil {
			t.Fatal(i, err)
		}
		if d, err := s.Next(ctx); err != nil || string(d.Payload) != payload {
			t.Fatalf("%d: %q, %v", i, d.Payload, err)
		}
		if _, err := c.Status(ctx); err != nil {
			t.Fatal(i, err)
		}
		f.freeze(addresses[0])
	}
	wantStored(t, m, sequence(2))
}
