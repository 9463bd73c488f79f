package null_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/jetstream"
	"wirelab/broker/null"
	"wirelab/broker/rabbitmq"
)

// kinds returns the nulls, each with its client.
func kinds() map[string]struct {
	server *null.Server
	open   func(context.Context, broker.Config) (broker.Broker, error)
} {
	return map[string]struct {
		server *null.Server
		open   func(context.Context, broker.Config) (broker.Broker, error)
	}{
		"nats": {
			null.NATS(null.Options{}),
			func(ctx context.Context, r broker.Config) (broker.Broker, error) { return jetstream.Open(ctx, r) },
		},
		"amqp": {
			null.AMQP(),
			func(ctx context.Context, r broker.Config) (broker.Broker, error) { return rabbitmq.Open(ctx, r) },
		},
	}
}

// serve serves a null until the test ends, and returns its address.
func serve(t testing.TB, s *null.Server) string {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- s.Serve(ctx, at) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return at.Addr().String()
}

// TestEachArrives checks that a null does what a driver needs of a broker: missing topics are reported, every
// message is acknowledged, and each reaches every group, in order.
func TestEachArrives(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			b, err := kind.open(ctx, broker.Config{Addresses: []string{serve(t, kind.server)}, Ephemeral: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close() }()
			topic := broker.Topic{Name: "t", Groups: []string{"one", "two"}}
			if err := b.CreateTopic(ctx, topic); err != nil {
				t.Fatal(err)
			}
			if err := b.CreateTopic(ctx, topic); wirelab.CodeOf(err) != wirelab.Conflict {
				t.Errorf("made twice: %v", err)
			}
			const sends, batch = 3000, 3
			arrived := reads(ctx, t, b, topic)
			publish(ctx, t, b, topic.Name, sends, batch)
			for group, all := range arrived {
				all.await(t, sends*batch)
				if all.turned.Load() != 0 {
					t.Errorf("group %s: %d messages out of order", group, all.turned.Load())
				}
			}
			if err := b.DeleteTopic(ctx, topic); err != nil {
				t.Error(err)
			}
			if err := b.DeleteTopic(ctx, topic); err != nil {
				t.Errorf("removed twice: %v", err)
			}
		})
	}
}

// arrivals counts the messages a group received.
type arrivals struct{ count, turned, last atomic.Int64 }

func (a *arrivals) await(t *testing.T, n int64) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); a.count.Load() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d messages of %d arrived", a.count.Load(), n)
		}
	}
}

func reads(ctx context.Context, t *testing.T, b broker.Broker, topic broker.Topic) map[string]*arrivals {
	t.Helper()
	all := map[string]*arrivals{}
	for _, group := range topic.Groups {
		a := &arrivals{}
		all[group] = a
		sub, err := b.Subscribe(
			ctx,
			broker.Subscription{Topic: topic.Name, Group: group},
			func(_ context.Context, d broker.Delivery) broker.Disposition {
				var n int64
				_, _ = fmt.Sscan(string(d.Body), &n) // 0 if the body is not a number
				if n != a.last.Swap(n)+1 {
					a.turned.Add(1)
				}
				a.count.Add(1)
				return broker.Ack()
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			if err := sub.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	return all
}

// publish sends messages and waits until all are acknowledged.
func publish(ctx context.Context, t *testing.T, b broker.Broker, topic string, sends, batch int) {
	t.Helper()
	p, err := b.Publisher(ctx, broker.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	n := 0
	for range sends {
		var bodies [][]byte
		for range batch {
			n++
			bodies = append(bodies, fmt.Append(nil, n))
		}
		open.Add(1)
		p.Send(ctx, topic, broker.Messages(bodies...), func(_ broker.Receipt, err error) {
			if err != nil {
				t.Error(err)
			}
			open.Done()
		})
	}
	open.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzConversation checks that a null continues for other clients whatever one client sends.
func FuzzConversation(f *testing.F) {
	f.Add(
		true,
		[]byte(
			"CONNECT {}\r\nPING\r\nSUB _INBOX.a.* 1\r\nPUB $JS.API.STREAM.CREATE.t _INBOX.a.1 "+
				"12\r\n{\"name\":\"t\"}\r\nPUB t _INBOX.a.2 1\r\nx\r\n",
		),
	)
	f.Add(true, []byte("HPUB t 4 5\r\nabcde\r\nPUB $JS.API.CONSUMER.MSG.NEXT 0\r\n\r\nUNSUB 1\r\n"))
	f.Add(
		false,
		[]byte(
			"AMQP\x00\x00\x09\x01\x01\x00\x01\x00\x00\x00\x05\x00\x14\x00\x0a\x00\xce\x01\x00\x01\x00\x00\x00\x04\x00\x3c\x00\x28\xce",
		),
	)
	servers := map[bool]*null.Server{true: null.NATS(null.Options{}), false: null.AMQP()}
	at := map[bool]string{true: serve(f, servers[true]), false: serve(f, servers[false])}
	f.Fuzz(func(t *testing.T, nats bool, said []byte) {
		conn, err := net.Dial("tcp", at[nats])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Write(said); err != nil {
			t.Skip("the null has left already")
		}
		_ = conn.(*net.TCPConn).CloseWrite() // it may have left
		_ = conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
		buffer := make([]byte, 1<<16)
		for {
			if _, err := conn.Read(buffer); err != nil {
				if e, ok := err.(net.Error); ok && e.Timeout() {
					t.Fatalf("nothing came of %q, and no end", said)
				}
				return
			}
		}
	})
}
