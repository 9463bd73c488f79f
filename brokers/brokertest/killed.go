package brokertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"wirelab/brokers"
)

// Killed has kill end a broker's server and start it again, while messages are sent
// and read. Each send must be answered, what was acknowledged must arrive, and the
// reader go on by itself.
func Killed(t *testing.T, broker brokers.Broker, kill func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	x := &trial{T: t, broker: broker, ctx: ctx}
	x.Cleanup(func() {
		if err := broker.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	topic := x.topic("g")
	var mu sync.Mutex // guards seen and acknowledged
	seen, acknowledged := map[string]bool{}, map[string]bool{}
	sub, err := broker.Subscribe(ctx, brokers.Subscription{Topic: topic.Name, Group: "g"}, func(body []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		seen[string(body)] = true
		return true
	})
	x.must(err)
	p, err := broker.Publisher(ctx, 1)
	x.must(err)
	var open sync.WaitGroup
	killed := make(chan error, 1)
	const before, after = 500, 3 * time.Second
	over := time.Time{}
	for n := 0; over.IsZero() || time.Now().Before(over); n++ {
		if n == before {
			go func() { killed <- kill(ctx) }() // waited for below
		}
		select {
		case err := <-killed:
			x.must(err)
			over = time.Now().Add(after)
		default:
		}
		body := fmt.Sprintf("m-%06d", n)
		open.Add(1)
		sending, done := context.WithTimeout(ctx, 5*time.Second)
		p.Send(sending, topic.Name, [][]byte{[]byte(body)}, func(err error) {
			defer done()
			defer open.Done()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				acknowledged[body] = true
			}
		})
		if n >= before {
			time.Sleep(time.Millisecond)
		}
	}
	open.Wait()
	x.must(p.Close())
	missing := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for body := range acknowledged {
			if !seen[body] {
				n++
			}
		}
		return n
	}
	for limit := time.Now().Add(2 * patience); missing() > 0 && time.Now().Before(limit); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := missing(); n > 0 {
		t.Errorf("%d of %d acknowledged messages did not arrive; the subscriber says %v", n, len(acknowledged), sub.Failed())
	}
	if len(acknowledged) <= before {
		t.Errorf("%d messages were acknowledged, none after the server was back", len(acknowledged))
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	x.must(sub.Close(closing))
}
