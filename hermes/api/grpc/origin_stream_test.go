package grpc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"wirelab/hermes"
	api "wirelab/hermes/api/grpc"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/gen/origin"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// originStream is a PublishStream as the origin's clients have it.
type originStream = grpc.ClientStreamingClient[origin.PublishRequest, origin.PublishStreamResponse]

// originPublisher opens one, and sends messages on it.
func originPublisher(t *testing.T, s *served) (originStream, func(topic, payload string, mode origin.DeliveryMode)) {
	t.Helper()
	call, err := origin.NewBrokerServiceClient(s.conn).PublishStream(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	return call, func(topic, payload string, mode origin.DeliveryMode) {
		t.Helper()
		if err := call.Send(&origin.PublishRequest{Topic: topic, Payload: []byte(payload), Mode: mode}); err != nil {
			t.Fatal(err)
		}
	}
}

// payloads are those of a run.
func payloads(t testing.TB, run []byte) (all []string) {
	t.Helper()
	for text := range record.Messages(run) {
		m := new(hermes.Message)
		if err := record.ReadMessage(text, m); err != nil {
			t.Fatal(err)
		}
		all = append(all, string(m.Payload))
	}
	return all
}

// The origin's stream has many messages on their way: what comes later does not wait until the disks have what came
// before. (Its published figure is 75 times what one fsync for each message allows.)
func TestOriginStreamHasManyOnTheirWay(t *testing.T) {
	t.Parallel()
	m := memory(t)
	const n = 500
	var mu sync.Mutex // guards all below
	seen, modes := 0, map[hermes.Mode]int{}
	var answers []func()
	s := serve(t, &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		mu.Lock()
		defer mu.Unlock()
		first := seen == 0
		seen += run.Count
		modes[run.Mode] += run.Count
		run.Messages = slices.Clone(run.Messages)
		answer := func() { m.Publish(ctx, run, done) }
		if first { // its topic is there: only now may others follow
			answer()
			return
		}
		if answers = append(answers, answer); seen < n {
			return
		}
		for _, answer := range answers {
			answer()
		}
	}}, api.Options{})
	call, send := originPublisher(t, s)
	for i := range n {
		send("t", fmt.Sprint(i), origin.DeliveryMode_EVENTUAL)
	}
	if r, err := call.CloseAndRecv(); err != nil || r.GetProcessedCount() != n || r.GetFailedCount() != 0 {
		t.Fatalf("%v, %v; the broker saw %d", r, err, seen)
	}
	if modes[hermes.Eventual] != n {
		t.Errorf("the modes are %v: each message is acknowledged as its mode has it", modes)
	}
}

// Whatever fails, what the origin's stream counts as stored is exactly stored data, and in order.
func TestOriginStreamCountsExactly(t *testing.T) {
	t.Parallel()
	m := memory(t)
	random := rand.New(rand.NewPCG(1, 25))
	var mu sync.Mutex // guards random
	s := serve(t, &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		mu.Lock()
		kind := random.IntN(6)
		mu.Unlock()
		switch kind {
		case 0:
			done(broker.Verdict{Err: status.Errorf(status.ResourceExhausted, "no room")})
		case 1:
			done(broker.Verdict{Err: status.Errorf(status.Unavailable, "no leader")})
		default:
			m.Publish(ctx, run, done)
		}
	}}, api.Options{})
	call, send := originPublisher(t, s)
	const n = 3000
	sent := map[string]int{}
	for i := range n {
		topic := []string{"t", "made", "t", "no name"}[i/7%4]
		send(topic, fmt.Sprint(i), origin.DeliveryMode(i/50%2))
		sent[topic]++
	}
	r, err := call.CloseAndRecv()
	if err != nil || r.GetProcessedCount()+r.GetFailedCount() != n {
		t.Fatalf("%v, %v: %d were sent", r, err, n)
	}
	stored := 0
	for _, topic := range []string{"t", "made"} {
		last := -1
		for _, p := range storedIn(t, m, topic) {
			stored++
			var i int
			if _, err := fmt.Sscan(p, &i); err != nil || i <= last {
				t.Fatalf("topic %s: %q after %d", topic, p, last)
			}
			last = i
		}
	}
	if int64(stored) != r.GetProcessedCount() || stored == 0 || r.GetFailedCount() < int64(sent["no name"]) {
		t.Errorf("%d are stored, and the answer is %v", stored, r)
	}
}

// storedIn is what a topic has, from its first message to its last; nothing if it is not there.
func storedIn(t *testing.T, m *brokertest.InMemory, topic string) (all []string) {
	t.Helper()
	ctx := patient(t)
	is, err := m.Topic(ctx, topic, true)
	if err != nil && status.CodeOf(err) == status.NotFound {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	feed, err := m.Subscribe(ctx, broker.Start{Topic: topic, From: broker.FromOldest})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	for uint64(len(all)) < is.Next-is.First {
		b, err := feed.Next(ctx, broker.Room{Bytes: hermes.RunLimit})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, payloads(t, b.Messages)...)
	}
	return all
}

// A topic that is deleted under the origin's stream is made again, and what comes keeps its order.
func TestOriginStreamMakesTopics(t *testing.T) {
	t.Parallel()
	m := memory(t)
	var once sync.Once
	deleted := make(chan struct{})
	s := serve(t, &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
		if strings.Contains(string(run.Messages), "delete") {
			once.Do(func() {
				if err := m.DeleteTopic(ctx, "gone"); err != nil {
					t.Error(err)
				}
				close(deleted)
			})
		}
		m.Publish(ctx, run, done)
	}}, api.Options{})
	call, send := originPublisher(t, s)
	want := []string{}
	send("gone", "before", origin.DeliveryMode_CONSISTENT)
	for len(storedIn(t, m, "gone")) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("nothing is stored")
		}
	}
	for i := range 200 {
		payload := fmt.Sprint("delete ", i)
		want = append(want, payload)
		send("gone", payload, origin.DeliveryMode_CONSISTENT)
	}
	r, err := call.CloseAndRecv()
	if err != nil || r.GetProcessedCount() != 201 || r.GetFailedCount() != 0 {
		t.Fatalf("%v, %v", r, err)
	}
	<-deleted
	if all := storedIn(t, m, "gone"); !slices.Equal(all, want) {
		t.Errorf("%q", all)
	}
}

// A stream whose client goes, or whose node stops, ends, with messages that have no answer on their way.
func TestOriginStreamEnds(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		m := memory(t)
		held := make(chan struct{}, 1)
		s := serve(t, &faulty{Broker: m, publish: func(ctx context.Context, run broker.Run, done func(broker.Verdict)) {
			select {
			case held <- struct{}{}:
			default:
			}
			context.AfterFunc(ctx, func() { done(broker.Verdict{Err: status.Public(ctx.Err())}) })
		}}, api.Options{})
		ctx, cancel := context.WithCancel(patient(t))
		defer cancel()
		call, err := origin.NewBrokerServiceClient(s.conn).PublishStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if err := call.Send(&origin.PublishRequest{Topic: "t", Payload: []byte("x")}); err != nil {
				t.Fatal(err)
			}
		}
		<-held
		if !stop {
			cancel()
			continue
		}
		go s.stop()
		var reply origin.PublishStreamResponse
		wantCode(t, "a node that stops", call.RecvMsg(&reply), codes.Unavailable)
	}
}
