package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/client"
	"wirelab/internal/leaktest"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// memory is a broker with a topic t.
func memory(t testing.TB) *brokertest.InMemory {
	t.Helper()
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: "t"}); err != nil {
		t.Fatal(err)
	}
	return m
}

// patient is a context that a test which hangs ends by.
func patient(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// faulty is a broker whose publishes go through a function.
type faulty struct {
	broker.Broker
	publish func(ctx context.Context, run broker.Run, done func(broker.Verdict))
	leader  func() (broker.Member, bool)
}

func (f *faulty) Publish(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
	if f.publish == nil {
		f.Broker.Publish(ctx, run, done)
		return
	}
	f.publish(ctx, run, done)
}

func (f *faulty) Leader() (broker.Member, bool) {
	if f.leader == nil {
		return f.Broker.Leader()
	}
	return f.leader()
}

// stored is the payloads of topic t.
func stored(t *testing.T, b broker.Broker) []string {
	t.Helper()
	ctx := patient(t)
	state, err := b.Topic(ctx, "t", true)
	if err != nil {
		t.Fatal(err)
	}
	f, err := b.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for uint64(len(all)) < state.Next {
		batch, err := f.Next(ctx, broker.Room{Bytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		payloads, err := brokertest.Payloads(batch.Messages)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, payloads...)
	}
	return all
}

// numbers publishes n numbered messages and returns the errors that came, by number.
func numbers(t *testing.T, c *client.Client, n int) map[int]error {
	t.Helper()
	ctx := patient(t)
	var mu sync.Mutex
	failed := map[int]error{}
	for i := range n {
		var once atomic.Bool
		err := c.Send(ctx, "t", hermes.Consistent, &hermes.Message{Payload: fmt.Append(nil, i)},
			func(_ client.Receipt, err error) {
				if once.Swap(true) {
					t.Errorf("message %d was answered twice", i)
				}
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed[i] = err
				}
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return failed
}

func sequence(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	return all
}

func wantStored(t *testing.T, b broker.Broker, want []string) {
	t.Helper()
	have := stored(t, b)
	if slices.Equal(have, want) {
		return
	}
	for i := range max(len(have), len(want)) {
		if i >= len(have) || i >= len(want) || have[i] != want[i] {
			t.Fatalf("%d messages are stored where %d were to be; they differ from %d on: %.100q, want %.100q",
				len(have),
				len(want), i, have[min(i, len(have)):], want[min(i, len(want)):])
		}
	}
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}, RunMessages: 7})
	ctx := patient(t)
	const n = 100
	receipts := make([]client.Receipt, n)
	var wg sync.WaitGroup
	wg.Add(n)
	for i := range n {
		if err := c.Send(ctx, "t", hermes.Consistent, &hermes.Message{Payload: fmt.Append(nil, i)},
			func(r client.Receipt, err error) {
				defer wg.Done()
				if receipts[i] = r; err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	for i, r := range receipts {
		if r.Offset != uint64(i) || r.Time == 0 || r.Term == 0 || r.Index == 0 || r.Duplicate || r.Provisional {
			t.Fatalf("message %d: %+v", i, r)
		}
	}
	wantStored(t, m, sequence(n))
	if r, err := c.Publish(ctx, "t", hermes.Consistent, &hermes.Message{}); err != nil || r.Offset != n {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	m := memory(t)
	c := connect(t, client.Options{Addresses: []string{serve(t, m, api.Options{}).address}})
	ctx := patient(t)
	for _, r := range []struct {
		why   string
		topic string
		mode  hermes.Mode
		m     hermes.Message
		code  status.Code
	}{
		{"a name that is none", "a b", 0, hermes.Message{}, status.InvalidArgument},
		{"a mode that is none", "t", 3, hermes.Message{}, status.InvalidArgument},
		{
			"a payload that is too long", "t", 0,
			hermes.Message{Payload: make([]byte, hermes.PayloadLimit+1)},
			status.InvalidArgument,
		},
		{"a header without a name", "t", 0, hermes.Message{Headers: []hermes.Header{{}}}, status.InvalidArgument},
		{"a topic that is not there", "none", 0, hermes.Message{}, status.NotFound},
	} {
		if _, err := c.Publish(ctx, r.topic, r.mode, &r.m); err == nil || status.CodeOf(err) != r.code {
			t.Errorf("%s: %v", r.why, err)
		}
	}
	if failed := numbers(t, c, 10); len(failed) > 0 {
		t.Error(failed)
	}
	wantStored(t, m, sequence(10))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []client.Options{
		{},
		{Addresses: []string{"x"}, InFlight: hermes.ProducerRuns + 1},
		{Addresses: []string{"x"}, RunMessages: -1},
		{Addresses: []string{"x"}, RunBytes: hermes.RunLimit + 1},
		{Addresses: []string{"x"}, Linger: -1},
	} {
		if _, err := client.New(o); err == nil || status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A broker that stores and says that the outcome is unknown, or does not store and says so, or answers late:
// every message is stored once, in order.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	m := memory(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	f := &faulty{Broker: m}
	var mu sync.Mutex
	f.publish = func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		mu.Lock()
		defer mu.Unlock() // runs keep their order
		unknown := broker.Verdict{Err: status.Errorf(status.Unavailable, "no leader")}
		switch r.IntN(6) {
		case 0:
			done(unknown)
		case 1:
			m.Publish(ctx, run, func(broker.Verdict) { done(unknown) })
		default:
			m.Publish(ctx, run, done)
		}
	}
	c := connect(t, client.Options{
		Addresses: []string{serve(t, f, api.Options{}).address}, RunMessages: 5,
		InFlight: 8,
	})
	const n = 500
	if failed := numbers(t, c, n); len(failed) > 0 {
		t.Error(failed)
	}
	wantStored(t, m, sequence(n))
}

// A run that is refused fails, and those behind it are stored all the same, once and in order.
func TestRefusedBetween(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var calls atomic.Int64
	f := &faulty{Broker: m}
	f.publish = func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		if calls.Add(1)%7 == 0 {
			done(broker.Verdict{Err: status.Errorf(status.ResourceExhausted, "the disk is nearly full")})
			return
		}
		m.Publish(ctx, run, done)
	}
	c := connect(t, client.Options{
		Addresses: []string{serve(t, f, api.Options{}).address}, RunMessages: 3,
		InFlight: 4,
	})
	const n = 300
	failed := numbers(t, c, n)
	if len(failed) == 0 || len(failed) == n {
		t.Fatalf("%d of %d failed", len(failed), n)
	}
	var want []string
	for i := range n {
		err, bad := failed[i]
		if !bad {
			want = append(want, fmt.Sprint(i))
		} else if status.CodeOf(err) != status.ResourceExhausted {
			t.Errorf("message %d: %v", i, err)
		}
	}
	wantStored(t, m, want)
}

// A producer that was silent for so long that it was forgotten gets another.
func TestForgottenProducer(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var forgotten atomic.Uint64
	f := &faulty{Broker: m}
	f.publish = func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		if run.Producer == forgotten.Load() {
			done(broker.Verdict{Err: status.Errorf(status.NotFound, "producer %d is unknown", run.Producer)})
			return
		}
		m.Publish(ctx, run, func(v broker.Verdict) { forgotten.CompareAndSwap(0, run.Producer); done(v) })
	}
	c := connect(t, client.Options{Addresses: []string{serve(t, f, api.Options{}).address}})
	if failed := numbers(t, c, 50); len(failed) > 0 {
		t.Error(failed)
	}
	wantStored(t, m, sequence(50))
}

// A node that stops in the middle: the client continues at another, and nothing is lost or stored twice.
func TestNodeStops(t *testing.T) {
	t.Parallel()
	m := memory(t)
	apis := []*served{serve(t, m, api.Options{}), serve(t, m, api.Options{})}
	c := connect(t, client.Options{Addresses: []string{apis[0].address, apis[1].address}, RunMessages: 4})
	ctx := patient(t)
	if _, err := c.Publish(ctx, "t", hermes.Consistent, &hermes.Message{Payload: []byte("0")}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const n = 1000
	for i := 1; i < n; i++ {
		wg.Add(1)
		if err := c.Send(ctx, "t", hermes.Consistent, &hermes.Message{Payload: fmt.Append(nil, i)},
			func(_ client.Receipt, err error) {
				defer wg.Done()
				if err != nil {
					t.Errorf("message %d: %v", i, err)
				}
			}); err != nil {
			t.Fatal(err)
		}
		if i == n/2 {
			wg.Go(apis[0].stop)
		}
	}
	wg.Wait()
	apis[0].stop()
	if _, err := c.Publish(ctx, "t", hermes.Consistent, &hermes.Message{Payload: fmt.Append(nil, n)}); err != nil {
		t.Error(err)
	}
	wantStored(t, m, sequence(n+1))
}

// A node that hangs, connections and all, is left for another.
func TestNodeHangs(t *testing.T) {
	t.Parallel()
	m := memory(t)
	hung := make(chan struct{})
	var once sync.Once
	silent := &faulty{Broker: m, publish: func(context.Context, broker.Run, func(broker.Verdict)) {
		once.Do(func() { close(hung) })
	}}
	good := serve(t, m, api.Options{})
	// It learns of the other as of a leader, once the first hangs.
	silent.leader = func() (broker.Member, bool) {
		select {
		case <-hung:
			return broker.Member{ID: 9, GRPC: good.address}, true
		default:
			return broker.Member{}, false
		}
	}
	c := connect(t, client.Options{Addresses: []string{serve(t, silent, api.Options{}).address}, Patience: time.Second})
	if _, err := c.Publish(patient(t), "t", hermes.Consistent, &hermes.Message{Payload: []byte("0")}); err != nil {
		t.Error(err)
	}
	wantStored(t, m, sequence(1))
}

// Until a producer's first run is answered, no second is sent: a topic would take it as the
// first, and the first could never follow.
func TestFirstRunAlone(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var calls atomic.Int64
	release := make(chan struct{})
	var late sync.WaitGroup
	f := &faulty{Broker: m}
	f.publish = func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		if calls.Add(1) > 1 {
			m.Publish(ctx, run, done)
			return
		}
		late.Go(func() {
			<-release
			done(broker.Verdict{Err: status.Errorf(status.Unavailable, "no leader")})
		})
	}
	c := connect(t, client.Options{Addresses: []string{serve(t, f, api.Options{}).address}, RunMessages: 1})
	ctx := patient(t)
	for i := range 10 {
		if err := c.Send(ctx, "t", hermes.Consistent, &hermes.Message{Payload: fmt.Append(nil, i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Status(ctx); err != nil { // time enough for a second run to come
		t.Fatal(err)
	}
	if n := calls.Load(); n > 1 {
		t.Errorf("%d runs came before the first was answered", n)
	}
	close(release)
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	late.Wait()
	wantStored(t, m, sequence(10))
}

// Everything at once: refused for certain, not known, stored and not known. A message that is reported as
// stored is stored once and in order; refusals are not; of the rest either is true, once.
func TestEverythingFails(t *testing.T) {
	t.Parallel()
	m := memory(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	f := &faulty{Broker: m}
	var mu sync.Mutex
	f.publish = func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		mu.Lock()
		defer mu.Unlock() // runs keep their order
		unknown := broker.Verdict{Err: status.Errorf(status.Unavailable, "no leader")}
		switch r.IntN(12) {
		case 0:
			done(unknown)
		case 1:
			m.Publish(ctx, run, func(broker.Verdict) { done(unknown) })
		case 2:
			done(broker.Verdict{Err: status.Errorf(status.ResourceExhausted, "the disk is nearly full")})
		case 3:
			done(broker.Verdict{Err: status.Errorf(status.NotFound, "producer %d is unknown", run.Producer)})
		default:
			m.Publish(ctx, run, done)
		}
	}
	c := connect(t, client.Options{
		Addresses: []string{serve(t, f, api.Options{}).address}, RunMessages: 4,
		InFlight: 8,
	})
	const n = 600
	failed := numbers(t, c, n)
	have, at := stored(t, m), 0
	for i := range n {
		is := at < len(have) && have[at] == fmt.Sprint(i)
		if is {
			at++
		}
		err, bad := failed[i]
		switch {
		case !bad && !is:
			t.Fatalf("message %d was told to be stored, but at %d is %.60q", i, at, have[min(at, len(have)):])
		case bad && is && status.CodeOf(err) != status.Unavailable:
			t.Errorf("message %d is stored, but was refused: %v", i, err)
		}
	}
	if at != len(have) {
		t.Errorf("messages from %d on were stored twice or out of order: %.60q", at, have[at:])
	}
}
