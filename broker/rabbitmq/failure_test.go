package rabbitmq_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker/brokertest"
	"wirelab/broker/workqueue"
	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// opened connects, declares a queue and returns a publisher to it.
func opened(t *testing.T, s *rabbitmq.Server, o workqueue.Options) (workqueue.Queues, workqueue.Publisher) {
	t.Helper()
	b, err := queues(t.Context(), s.URL(), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Delete(context.Background(), o); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.Declare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p, err := b.Publisher(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return b, p
}

// wants checks the code of an error, and that its text contains no secret.
func wants(t *testing.T, what string, err error, code wirelab.Code, secret string) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != code {
		t.Errorf("%s: %v, want %v", what, err, code)
	}
	if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("%s: the error holds the password: %v", what, err)
	}
}

// TestOpenRefused checks that an invalid address gives a coded error without its password, and that no unusable
// broker is returned (ms-D08).
func TestOpenRefused(t *testing.T) {
	right, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	const secret = "hunter2"
	for what, c := range map[string]struct {
		url  string
		code wirelab.Code
	}{
		"no URL":           {"amqp://user:" + secret + "@host:port:1/%zz", wirelab.InvalidArgument},
		"another scheme":   {"http://user:" + secret + "@" + right.Host, wirelab.InvalidArgument},
		"a wrong password": {"amqp://wirelab:" + secret + "@" + right.Host + "/", wirelab.Unauthenticated},
		"no server":        {"amqp://wirelab:" + secret + "@127.0.0.1:1/", wirelab.Unavailable},
		"no answer":        {"amqp://wirelab:" + secret + "@" + silent.Addr().String() + "/", wirelab.Unavailable},
	} {
		long := time.Minute
		if what == "no answer" {
			long = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), long)
		b, err := queues(ctx, c.url, false)
		cancel()
		if err == nil {
			_ = b.Close()
		}
		wants(t, what, err, c.code, secret)
	}
	other := *right
	other.Path = "/elsewhere"
	password, _ := right.User.Password()
	_, err = queues(t.Context(), other.String(), false)
	wants(t, "another virtual host", err, wirelab.PermissionDenied, password)
}

// TestReturned checks that a message to a queue that was deleted in the meantime is returned: the exchange alone
// would confirm it (ms-D04).
func TestReturned(t *testing.T) {
	o := workqueue.Options{Name: "returned", Confirms: true}
	b, p := opened(t, server, o)
	if err := b.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err := p.Publish(t.Context(), workqueue.Message{ID: "1", Body: []byte("x")})
		wants(t, "publish to a deleted queue", err, wirelab.NotFound, "")
	}
	if err := b.Declare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Publish(
		t.Context(),
		workqueue.Message{ID: "1", Body: []byte("x")},
	); err != nil ||
		r.Confirmed.IsZero() {
		t.Errorf("publish to a queue that is there again: %v %v", r, err)
	}
}

// A consumer whose queue is deleted ends, since the queue will not come back by itself.
func TestConsumerOfDeleted(t *testing.T) {
	o := workqueue.Options{Name: "deleted"}
	b, p := opened(t, server, o)
	handled, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- b.Consume(t.Context(), o, func(context.Context, workqueue.Delivery) error {
			handled <- struct{}{}
			return nil
		})
	}()
	if _, err := p.Publish(t.Context(), workqueue.Message{ID: "1", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	<-handled
	if err := b.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	wants(t, "consume", <-ended, wirelab.NotFound, "")
}

// TestPanic checks that a handler that panics has failed, and that the consumer continues.
func TestPanic(t *testing.T) {
	o := workqueue.Options{Name: "panic", Attempts: 2, Retry: time.Millisecond, Confirms: true}
	b, p := opened(t, server, o)
	ctx, cancel := context.WithCancel(t.Context())
	ended, calls := make(chan error, 1), make(chan int, 3)
	go func() {
		ended <- b.Consume(ctx, o, func(_ context.Context, d workqueue.Delivery) error {
			calls <- d.Attempt
			panic("a fault in the handler")
		})
	}()
	if _, err := p.Publish(t.Context(), workqueue.Message{ID: "1", Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if first, second := <-calls, <-calls; first != 1 || second != 2 {
		t.Errorf("attempts %d and %d", first, second)
	}
	for dead := 0; dead == 0; {
		var err error
		if _, dead, err = b.Depth(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestFrozen checks that a server that hangs, as one that is stopped or swapped out, delays no call beyond its
// deadline, and no Close for long.
func TestFrozen(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits out deadlines, one after the other")
	}
	o := workqueue.Options{Name: "frozen", Confirms: true, Persistent: true}
	b, p := opened(t, server, o)
	other, err := queues(t.Context(), server.URL(), false)
	if err != nil {
		t.Fatal(err)
	}
	left, err := other.Publisher(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	consumed := make(chan error, 1)
	go func() {
		consumed <- other.Consume(ctx, o, func(context.Context, workqueue.Delivery) error { return nil })
	}()
	thaw := brokertest.Freeze(t, server.PID())
	for what, call := range map[string]struct {
		do   func(context.Context) error
		code wirelab.Code
	}{
		"publish": {func(ctx context.Context) error {
			_, err := p.Publish(ctx, workqueue.Message{ID: "1", Body: []byte("x")})
			return err
		}, wirelab.DeadlineExceeded},
		"publisher": {
			func(ctx context.Context) error { _, err := b.Publisher(ctx, o); return err },
			wirelab.Unavailable,
		},
		"declare": {func(ctx context.Context) error { return b.Declare(ctx, o) }, wirelab.Unavailable},
		"depth": {
			func(ctx context.Context) error { _, _, err := b.Depth(ctx, o); return err },
			wirelab.Unavailable,
		},
		"open": {func(ctx context.Context) error {
			_, err := queues(ctx, server.URL(), false)
			return err
		}, wirelab.Unavailable},
	} {
		// A slow machine may use up a deadline before anything is written.
		var err error
		for after := 100 * time.Millisecond; after < time.Minute; after *= 4 {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			err = call.do(ctx)
			cancel()
			if err == nil || wirelab.CodeOf(err) == call.code {
				break
			}
		}
		wants(t, what+" at a frozen server", err, call.code, "")
	}
	cancel()
	if err := <-consumed; err != nil {
		t.Errorf("consume: %v", err)
	}
	_ = left.Close()
	if err := other.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	thaw()
	if _, err := p.Publish(t.Context(), workqueue.Message{ID: "2", Body: []byte("x")}); err != nil {
		t.Errorf("publish to a server that continues: %v", err)
	}
}

// TestBlocked checks that a server that is short of disk blocks publishers only: a bounded number waits and reports
// why, and everything else works, consumers above all.
func TestBlocked(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts another server")
	}
	rabbitmqtest.Need(t)
	full, err := rabbitmq.Start(
		t.Context(),
		rabbitmq.Options{Settings: []rabbitmq.Setting{{Name: "disk_free_limit.absolute", Value: "900000GB"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := full.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, confirms := range []bool{true, false} {
		o := workqueue.Options{Name: "blocked", Confirms: confirms, Buffer: 1}
		_, p := opened(t, full, o)
		var last error
		// The server notices with the first message and blocks the connection. Unconfirmed messages pass until that
		// notice has arrived.
		for began := time.Now(); time.Since(began) < time.Minute; {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, last = p.Publish(ctx, workqueue.Message{ID: "1", Body: []byte("x")})
			cancel()
			if last != nil && wirelab.CodeOf(last) == wirelab.Unavailable {
				break
			}
		}
		wants(t, "publish to a full server", last, wirelab.Unavailable, "")
		const calls = 3
		results := make(chan error, calls)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // in case none fails at once
		for range calls {
			go func() {
				_, err := p.Publish(ctx, workqueue.Message{ID: "2", Body: []byte("x")})
				results <- err
			}()
		}
		for range calls - o.Buffer {
			wants(t, "a call too many", <-results, wirelab.ResourceExhausted, "")
		}
		cancel()
		wants(t, "a call that was given up", <-results, wirelab.Canceled, "")
	}
}
