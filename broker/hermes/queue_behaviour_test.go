package hermes_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker/brokertest"
	driver "wirelab/broker/hermes"
	"wirelab/broker/workqueue"
	vocabulary "wirelab/hermes"
	api "wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/hermes/local"
)

var safe = workqueue.Options{Name: "entries", Confirms: true, Persistent: true, Retry: 10 * time.Millisecond}

func queues(t *testing.T, c *local.Cluster) workqueue.Queues {
	t.Helper()
	b, err := patient(t.Context(), address(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return workqueue.New(b)
}

func coded(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != want {
		t.Errorf("%s: error %v, want one that is %v", what, err, want)
	}
}

// TestParse checks that the address of a cluster lists its nodes, with or without a token.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hermes://127.0.0.1:9090":            "127.0.0.1:9090 ",
		"hermes://a:1,b:2,[::1]:3/":          "a:1 b:2 [::1]:3 ",
		"hermes://s3cret@host:9090":          "host:9090 s3cret",
		"hermes://with@sign@host:9090,b:1":   "host:9090 b:1 with@sign",
		"":                                   "",
		"127.0.0.1:9090":                     "",
		"hermes://":                          "",
		"hermes://s3cret@":                   "",
		"hermes://s3cret@host":               "",
		"hermes://s3cret@:9090":              "",
		"hermes://s3cret@host:9090,,other:1": "",
		"nats://s3cret@host:9090":            "",
	} {
		nodes, token, err := driver.Parse(text)
		if want == "" {
			coded(t, text, err, wirelab.InvalidArgument)
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: tells the token: %v", text, err)
			}
			continue
		}
		if got := strings.Join(append(nodes, token), " "); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestOpenFails checks that a failing Open returns soon, with the cause.
func TestOpenFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	brief, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := patient(brief, "hermes://127.0.0.1:1")
	coded(t, "no server, and little time", err, wirelab.DeadlineExceeded)
	_, err = patient(t.Context(), "hermes://127.0.0.1:1")
	coded(t, "no server", err, wirelab.Unavailable)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = patient(ended, "hermes://127.0.0.1:1")
	coded(t, "an ended context", err, wirelab.Canceled)
}

// TestLeaderIsKilled kills the leader in mid-stream while the other two nodes continue: no call fails, and no
// confirmed message is lost, although the node is not restarted.
func TestLeaderIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	const callers, each, killAt = 4, 200, 200
	c := start(t, 3)
	b := queues(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Declare(ctx, safe); err != nil {
		t.Fatal(err)
	}
	p, err := b.Publisher(ctx, safe)
	if err != nil {
		t.Fatal(err)
	}
	account := brokertest.NewAccount()
	whole, end := context.WithCancel(ctx)
	var consuming, publishing sync.WaitGroup
	consuming.Go(func() {
		if err := b.Consume(whole, safe, func(_ context.Context, d workqueue.Delivery) error {
			if account.Delivered(d.Message) == callers*each {
				end()
			}
			return nil
		}); err != nil {
			t.Errorf("consume: %v", err)
		}
	})
	enough := make(chan struct{})
	for i := range callers {
		publishing.Go(func() {
			for k := range each {
				id := strings.Repeat("i", i+1) + strings.Repeat("k", k%100) + strings.Repeat("l", k/100)
				m := workqueue.Message{ID: id, Body: []byte(id)}
				account.Published(m)
				if _, err := p.Publish(ctx, m); err != nil {
					t.Errorf("publish: %v", err)
					return
				}
				if account.Confirmed(id) == killAt {
					close(enough)
				}
			}
		})
	}
	select {
	case <-enough:
		leader(t, c).Kill()
	case <-ctx.Done():
		t.Error("no confirmations")
	}
	publishing.Wait()
	<-whole.Done()
	consuming.Wait()
	sum := account.Tally()
	t.Logf("through a killed leader: %v", sum)
	if sum.Confirmed != callers*each || sum.Delivered != callers*each ||
		len(sum.Missing)+len(sum.Altered)+len(sum.Unknown) > 0 {
		t.Errorf("%v", sum)
	}
}

// leader returns the node that leads.
func leader(t *testing.T, c *local.Cluster) *local.Node {
	t.Helper()
	s, err := connect(t, c).Status(t.Context())
	if err != nil || s.Leader == 0 {
		t.Fatalf("leader %d, %v", s.Leader, err)
	}
	return c.Nodes[s.Leader-1]
}

func connect(t *testing.T, c *local.Cluster) *client.Client {
	t.Helper()
	admin, err := client.New(client.Options{Addresses: c.GRPC()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return admin
}

// TestBesideTheContract checks behaviour outside the contract: another kind of queue is refused; a retention set by
// others stays; a handler that panics has failed; a message from other software, without an id, is delivered
// unchanged. Hermes's own dead letters stay empty.
func TestBesideTheContract(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	b, admin := queues(t, c), connect(t, c)
	if b.Name() != "Hermes, 1 node" {
		t.Errorf("it is %q", b.Name())
	}
	classic := safe
	classic.Kind = workqueue.Classic
	coded(t, "a classic queue", b.Declare(t.Context(), classic), wirelab.Unimplemented)
	if err := b.Declare(t.Context(), safe); err != nil {
		t.Fatal(err)
	}
	const topic = "wirelab-queue-entries"
	if _, err := admin.ConfigureTopic(t.Context(), api.Topic{Name: topic, RetentionAge: int64(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := b.Declare(t.Context(), safe); err != nil {
		t.Errorf("declare what has a retention: %v", err)
	}
	if state, err := admin.Topic(t.Context(), topic, true); err != nil || state.RetentionAge != int64(time.Hour) {
		t.Errorf("the retention is %d, %v", state.RetentionAge, err)
	}
	if _, err := admin.Publish(
		t.Context(),
		topic,
		vocabulary.Consistent,
		&vocabulary.Message{Payload: []byte("foreign")},
	); err != nil {
		t.Fatal(err)
	}
	once := safe
	once.Attempts = 1
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var consuming sync.WaitGroup
	consuming.Go(func() {
		if err := b.Consume(
			ctx,
			once,
			func(context.Context, workqueue.Delivery) error { panic("at the disco") },
		); err != nil {
			t.Error(err)
		}
	})
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for dead := 0; dead != 1; {
		var err error
		if _, dead, err = b.Depth(ctx, once); err != nil {
			t.Fatal(err)
		}
		<-look.C
	}
	cancel()
	consuming.Wait()
	letters, err := b.Dead(t.Context(), once, 5)
	if err != nil || len(letters) != 1 || letters[0].ID != "" || string(letters[0].Body) != "foreign" {
		t.Errorf("dead letters %v, %v", letters, err)
	}
	if own, err := admin.Topic(t.Context(), vocabulary.DeadLetters, true); err != nil || own.Next != 0 {
		t.Errorf("Hermes's own dead letters are %d, %v", own.Next, err)
	}
}
