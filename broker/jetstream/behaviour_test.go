package jetstream_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"wirelab"
	"wirelab/broker"
	"wirelab/broker/brokertest"
	"wirelab/broker/jetstream"
	"wirelab/broker/workqueue"
	"wirelab/system/nats"
	natsserver "wirelab/system/nats/server"
)

// within runs a server in this process until the test ends, and returns its address.
func within(t *testing.T, o nats.Options) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	urls := make(chan string, 1)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(urls)
		if err := natsserver.Run(ctx, o, nil, func(url string) { urls <- url }); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	address, ok := <-urls
	if !ok {
		t.FailNow()
	}
	return address
}

func queues(t *testing.T, address string, s jetstream.Settings) workqueue.Queues {
	t.Helper()
	q, _ := bothOf(t, address, s)
	return q
}

// bothOf returns the queues of a broker, and the broker.
func bothOf(t *testing.T, address string, s jetstream.Settings) (workqueue.Queues, *jetstream.Broker) {
	t.Helper()
	b, err := patient(t.Context(), address, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return workqueue.New(b), b
}

// patient connects as a service does.
func patient(ctx context.Context, address string, s jetstream.Settings) (*jetstream.Broker, error) {
	return jetstream.OpenWith(ctx, broker.Config{Addresses: []string{address}, Patient: true}, s)
}

func declare(t *testing.T, b workqueue.Queues, o workqueue.Options) workqueue.Publisher {
	t.Helper()
	if err := b.Declare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	p, err := b.Publisher(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func publish(t *testing.T, p workqueue.Publisher, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := p.Publish(t.Context(), workqueue.Message{ID: id, Body: []byte(id)}); err != nil {
			t.Fatalf("publish %s: %v", id, err)
		}
	}
}

func coded(t *testing.T, what string, err error, want wirelab.Code) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != want {
		t.Errorf("%s: error %v, want one that is %v", what, err, want)
	}
}

// settle waits until the queue and its dead letters have these depths. The server updates its counts
// asynchronously, so they lag behind its answers.
func settle(t *testing.T, b workqueue.Queues, o workqueue.Options, waiting, dead int) {
	t.Helper()
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		w, d, err := b.Depth(patience, o)
		if err == nil && w == waiting && d == dead {
			return
		}
		select {
		case <-look.C:
		case <-patience.Done():
			t.Fatalf("%d wait, %d are dead, %v; want %d and %d", w, d, err, waiting, dead)
		}
	}
}

var safe = workqueue.Options{Name: "entries", Confirms: true, Persistent: true, Retry: 10 * time.Millisecond}

// TestOpenFails checks that a failing Open gives the cause, without the password.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	address := within(t, nats.Options{Password: "verysecret"})
	bare, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	bare.Start()
	t.Cleanup(func() { bare.Shutdown(); bare.WaitForShutdown() })
	if !bare.ReadyForConnections(time.Minute) {
		t.Fatal("the server without JetStream takes no connections")
	}
	for name, c := range map[string]struct {
		address string
		code    wirelab.Code
	}{
		"no address":         {"", wirelab.InvalidArgument},
		"no host":            {"verysecret", wirelab.InvalidArgument},
		"an invalid URL":     {"nats://a:verysecret@[::1", wirelab.InvalidArgument},
		"no server":          {"nats://a:verysecret@127.0.0.1:1", wirelab.Unavailable},
		"the wrong password": {strings.Replace(address, "verysecret", "guess", 1), wirelab.Unauthenticated},
		"no JetStream":       {bare.ClientURL(), wirelab.Unavailable},
	} {
		_, err := patient(t.Context(), c.address, jetstream.Settings{})
		coded(t, name, err, c.code)
		if err != nil && strings.Contains(err.Error(), "verysecret") {
			t.Errorf("%s: tells the password: %v", name, err)
		}
	}
	_, err = patient(t.Context(), address, jetstream.Settings{AckWait: -1})
	coded(t, "a wait of less than nothing", err, wirelab.InvalidArgument)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = patient(ended, address, jetstream.Settings{})
	coded(t, "an ended context", err, wirelab.Canceled)
}

// TestPersistentIsTheQueues checks that a publisher that needs messages on disk refuses a queue that was declared
// without.
func TestPersistentIsTheQueues(t *testing.T) {
	t.Parallel()
	b := queues(t, within(t, nats.Options{}), jetstream.Settings{})
	if !strings.HasPrefix(b.Name(), "NATS JetStream "+natsserver.Version()) {
		t.Errorf("it is %q", b.Name())
	}
	loose := safe
	loose.Persistent = false
	declare(t, b, loose)
	coded(t, "declare it as persistent", b.Declare(t.Context(), safe), wirelab.Conflict)
	_, err := b.Publisher(t.Context(), safe)
	coded(t, "a persistent publisher", err, wirelab.Conflict)
	if err := b.Delete(t.Context(), loose); err != nil {
		t.Fatal(err)
	}
	declare(t, b, safe)
	coded(t, "declare it as loose", b.Declare(t.Context(), loose), wirelab.Conflict)
	// A publisher that needs less than the queue provides is accepted.
	if _, err := b.Publisher(t.Context(), loose); err != nil {
		t.Errorf("a publisher that asks for less: %v", err)
	}
}

// TestFull checks that a full store returns an error that says so, and works again once there is room.
func TestFull(t *testing.T) {
	t.Parallel()
	b := queues(t, within(t, nats.Options{StoreLimit: 3 << 20}), jetstream.Settings{})
	p := declare(t, b, safe)
	big := workqueue.Message{ID: "big", Body: make([]byte, workqueue.BodyLimit)}
	var err error
	for range 5 {
		if _, err = p.Publish(t.Context(), big); err != nil {
			break
		}
	}
	coded(t, "the message that is too many", err, wirelab.ResourceExhausted)
	if err := b.Delete(t.Context(), safe); err != nil {
		t.Fatal(err)
	}
	if err := b.Declare(t.Context(), safe); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Publish(t.Context(), big); err != nil {
		t.Errorf("in an empty store: %v", err)
	}
}

// TestServerWithDefaultPayload checks that a server with NATS's default limits takes all but the longest bodies,
// and that the error for those names the limit to raise.
func TestServerWithDefaultPayload(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true,
		StoreDir: filepath.Join(t.TempDir(), "s"),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server takes no connections")
	}
	b := queues(t, s.ClientURL(), jetstream.Settings{})
	p := declare(t, b, safe)
	_, err = p.Publish(t.Context(), workqueue.Message{ID: "longest", Body: make([]byte, workqueue.BodyLimit)})
	coded(t, "the longest body", err, wirelab.ResourceExhausted)
	if _, err := p.Publish(
		t.Context(),
		workqueue.Message{ID: "long", Body: make([]byte, workqueue.BodyLimit-256)},
	); err != nil {
		t.Errorf("a body just below: %v", err)
	}
}

// TestInFlight checks that only a bounded number of messages of a publisher is unconfirmed, that more calls wait,
// and that all messages are stored. The bound is two here, and there are forty callers.
func TestInFlight(t *testing.T) {
	t.Parallel()
	b := queues(t, within(t, nats.Options{}), jetstream.Settings{InFlight: 2})
	p := declare(t, b, safe)
	var publishing sync.WaitGroup
	for range 40 {
		publishing.Go(func() { publish(t, p, "a") })
	}
	publishing.Wait()
	// The same id, forty times: the server drops none of them.
	settle(t, b, safe, 40, 0)
}

// TestStandsStill checks that a server that hangs without closing its connections is detected by pings, and that
// waiting calls complete when it continues.
func TestStandsStill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	s := start(t)
	b := queues(t, s.URL(), jetstream.Settings{})
	o := safe
	o.Buffer = 1
	p := declare(t, b, o)
	publish(t, p, "before")
	thaw := brokertest.Freeze(t, s.PID())
	hour, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	results := make(chan error, 3)
	for range 3 {
		go func() {
			_, err := p.Publish(hour, workqueue.Message{ID: "waiting", Body: []byte("x")})
			results <- err
		}()
	}
	coded(t, "the second that would wait", <-results, wirelab.ResourceExhausted)
	coded(t, "the third that would wait", <-results, wirelab.ResourceExhausted)
	thaw()
	if err := <-results; err != nil {
		t.Errorf("the one that waited: %v", err)
	}
}

// Close ends waiting calls: of a publisher its own, of a broker all.
func TestCloseEndsWhatWaits(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := queues(t, s.URL(), jetstream.Settings{})
	first, second := declare(t, b, safe), declare(t, b, safe)
	consuming := make(chan error, 1)
	go func() {
		consuming <- b.Consume(t.Context(), safe,
			func(context.Context, workqueue.Delivery) error { return errors.New("never") })
	}()
	if err := s.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait := func(p workqueue.Publisher) chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := p.Publish(t.Context(), workqueue.Message{ID: "a", Body: []byte("a")})
			ended <- err
		}()
		return ended
	}
	one, other := wait(first), wait(second)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	coded(t, "a call of the closed publisher", <-one, wirelab.Unavailable)
	select {
	case err := <-other:
		t.Errorf("the other publisher's call ended with it: %v", err)
	default:
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	coded(t, "a call of the closed broker", <-other, wirelab.Unavailable)
	coded(t, "a consumer of the closed broker", <-consuming, wirelab.Unavailable)
}

// Messages published without confirms are written before a publisher's Close returns.
func TestWrittenBeforeClose(t *testing.T) {
	t.Parallel()
	address := within(t, nats.Options{})
	b := queues(t, address, jetstream.Settings{})
	loose := safe
	loose.Confirms = false
	p := declare(t, b, loose)
	for range 500 {
		publish(t, p, "a")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	settle(t, queues(t, address, jetstream.Settings{}), loose, 500, 0)
}

// A closed publisher and a closed consumer leave nothing behind in a connection that stays open.
func TestLeaveNothing(t *testing.T) {
	t.Parallel()
	b, bare := bothOf(t, within(t, nats.Options{}), jetstream.Settings{})
	declare(t, b, safe)
	before := bare.Subscriptions()
	for range 5 {
		p, err := b.Publisher(t.Context(), safe)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, p, "a")
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		if err := b.Consume(ctx, safe,
			func(context.Context, workqueue.Delivery) error { stop(); return nil }); err != nil {
			t.Fatal(err)
		}
		stop()
	}
	if after := bare.Subscriptions(); after != before {
		t.Errorf("%d subscriptions, before %d", after, before)
	}
}
