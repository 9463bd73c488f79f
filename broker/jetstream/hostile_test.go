package jetstream_test

import (
	"context"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"wirelab"
	"wirelab/broker/jetstream"
	"wirelab/broker/workqueue"
	"wirelab/system/nats"
)

// TestHostileMessages checks that a client which may publish to the subject of the queue cannot end its consumers.
// Messages with headers that look like the server's own, without our headers, without a body, or that make a
// handler panic go to the handler and to the dead letters (ms-D01, ms-D05).
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	address := within(t, nats.Options{})
	b := queues(t, address, jetstream.Settings{})
	o := safe
	o.Attempts = 1
	p := declare(t, b, o)
	conn, err := client.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, headers := range []client.Header{
		{"Status": {"400"}, "Description": {"Bad Request"}},
		{"Status": {"503"}},
		{"Status": {"408"}, "Nats-Pending-Messages": {"-9223372036854775808"}},
		{"Status": {"100"}},
		{},
	} {
		if _, err := conn.RequestMsg(
			&client.Msg{Subject: "wirelab.queue." + o.Name, Header: headers},
			time.Minute,
		); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, p, "panic")
	publish(t, p, "fine")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	seen := make(chan string, 16)
	go func() {
		ended <- b.Consume(ctx, o, func(_ context.Context, d workqueue.Delivery) error {
			seen <- d.ID
			switch d.ID {
			case "fine":
				return nil
			case "panic":
				panic("over this one")
			}
			return wirelab.Errorf(wirelab.InvalidArgument, "no entry")
		})
	}()
	count := map[string]int{}
	for range 7 {
		select {
		case id := <-seen:
			count[id]++
		case err := <-ended:
			t.Fatalf("the consumer ended with %v", err)
		}
	}
	if count[""] != 5 || count["panic"] != 1 || count["fine"] != 1 {
		t.Errorf("handled %v", count)
	}
	settle(t, b, o, 0, 6)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// FuzzHeaders checks that headers cannot raise the number of messages that are still to come, and that a message
// that can be acknowledged is never taken for one of the server's own.
func FuzzHeaders(f *testing.F) {
	f.Add("408", "12", "", []byte(nil), 64)
	f.Add("400", "-9223372036854775808", "$JS.ACK.s.c.1.2.3.4.5", []byte("x"), 1)
	f.Fuzz(func(t *testing.T, status, left, reply string, body []byte, asked int) {
		m := &client.Msg{
			Reply: reply, Data: body,
			Header: client.Header{"Status": {status}, "Nats-Pending-Messages": {left}},
		}
		asked = max(asked, 0)
		if got := jetstream.ToCome(m, asked); got < 0 || got > asked {
			t.Errorf("%q of %d: %d are to come", left, asked, got)
		}
		if jetstream.OfServer(m) && (reply != "" || len(body) > 0) {
			t.Errorf("%q with %q passes for the server's", body, reply)
		}
	})
}
