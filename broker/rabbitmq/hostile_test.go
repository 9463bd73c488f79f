package rabbitmq_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	client "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker/workqueue"
)

// TestHostileHeaders checks that a client which may publish to the queue cannot make a message return for ever, nor
// break the connections of its consumers. Counts of other types, signs and sizes, invalid dates, headers as long as
// a frame, and a missing id all end in the dead letters after the attempts of the queue (ms-D01, ms-D05).
func TestHostileHeaders(t *testing.T) {
	o := workqueue.Options{Name: "hostile", Confirms: true, Attempts: 3, Retry: time.Millisecond}
	b, _ := opened(t, server, o)
	conn, err := client.Dial(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := channel.Confirm(false); err != nil {
		t.Fatal(err)
	}
	hostile := []client.Table{
		nil,
		{"wirelab-failures": int64(math.MaxInt64), "x-delivery-count": int64(math.MaxInt64)},
		{"wirelab-failures": int64(math.MinInt64), "wirelab-due": int64(math.MaxInt64)},
		{
			"wirelab-failures": "three", "wirelab-due": "never", "x-death": "text",
			"wirelab-code": strings.Repeat("x", 60_000),
		},
		{
			"wirelab-failures": client.Table{"n": int32(1)},
			"x-death":          []any{client.Table{"count": "many"}},
			"x-delivery-count": []byte{1},
		},
		{
			"wirelab-failures": int16(1), "wirelab-due": 1e300,
			"odd": []any{int16(1), nil, client.Decimal{Scale: 2, Value: 3}},
		},
		{"long": strings.Repeat("x", 130_850)}, // with the rest 131,064 bytes: the maximum of a frame
	}
	for i, headers := range hostile {
		m := client.Publishing{Headers: headers, Body: []byte{'0' + byte(i)}, MessageId: strings.Repeat("\x01", 20*i)}
		confirmed, err := channel.PublishWithDeferredConfirm("", o.Name, true, false, m)
		if err != nil {
			t.Fatal(err)
		}
		if !confirmed.Wait() {
			t.Fatalf("message %d was not taken", i)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	seen := make(chan string, 1000)
	go func() {
		ended <- b.Consume(ctx, o, func(_ context.Context, d workqueue.Delivery) error {
			seen <- fmt.Sprintf("%s, attempt %d", d.Body, d.Attempt)
			if d.Attempt < 1 {
				t.Errorf("attempt %d of %s", d.Attempt, d.Body)
			}
			return wirelab.Errorf(wirelab.Internal, "not today")
		})
	}()
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for dead := 0; dead < len(hostile); {
		var waiting int
		if waiting, dead, err = b.Depth(within, o); err != nil {
			t.Fatalf("%d wait, %d are dead: %v; seen %d times", waiting, dead, err, len(seen))
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := len(seen); n < len(hostile) || n > len(hostile)*o.Attempts {
		t.Errorf("handled %d times, want at most %d attempts each", n, o.Attempts)
	}
	letters, err := b.Dead(t.Context(), o, 100)
	if err != nil || len(letters) != len(hostile) {
		t.Fatalf("%d letters, %v", len(letters), err)
	}
	for _, m := range letters {
		if i := int(m.Body[0] - '0'); m.ID != strings.Repeat("\x01", 20*i) {
			t.Errorf("letter %s has id %q", m.Body, m.ID)
		}
	}
}
