package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/hermes/node"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
	"wirelab/internal/leaktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// patience is how long a step of a test may take before it is taken to hang.
const patience = time.Minute

// options are a node's that is quick about everything and small.
func options(fs vfs.FS) node.Options {
	return node.Options{
		Self: broker.Member{ID: 1, Name: "one", Peer: "127.0.0.1:1"}, FS: fs, Dir: "/hermes",
		Tick: 5 * time.Millisecond, Maintenance: 20 * time.Millisecond, FreeBytes: 1,
		Log: wal.Options{SegmentBytes: 256 << 10},
	}
}

// start starts a node and waits until it knows who leads.
func start(t *testing.T, o node.Options) *node.Node {
	t.Helper()
	n, err := node.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	led(t, n)
	return n
}

// open is start, and closes the node with the test.
func open(t *testing.T, o node.Options) *node.Node {
	t.Helper()
	n := start(t, o)
	t.Cleanup(func() { stop(t, n) })
	return n
}

// stop closes a node, as a graceful stop does.
func stop(t *testing.T, n *node.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error("close:", err)
	}
}

// skipShort leaves out what takes a second or two.
func skipShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes a second or two")
	}
}

// until asks again until the answer is yes.
func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !ask() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatalf("%s never came true", what)
		}
	}
}

// led waits until a node knows who leads.
func led(t *testing.T, n *node.Node) uint64 {
	t.Helper()
	var id uint64
	until(t, "a leader", func() bool {
		m, ok := n.Leader()
		id = m.ID
		return ok
	})
	return id
}

func publish(t *testing.T, b broker.Broker, topic string, payloads ...string) broker.Verdict {
	t.Helper()
	v := brokertest.Publish(t.Context(), b, broker.Run{
		Topic: topic, Messages: brokertest.Messages(payloads...),
		Count: len(payloads),
	})
	if v.Err != nil {
		t.Fatal("publish:", v.Err)
	}
	return v
}

func create(t *testing.T, b broker.Broker, want broker.Topic) {
	t.Helper()
	if _, err := b.CreateTopic(t.Context(), want); err != nil {
		t.Fatal("create:", err)
	}
}

// history is a topic's messages from the oldest to the n-th.
func history(t *testing.T, b broker.Broker, topic string, n int) []string {
	t.Helper()
	f, err := b.Subscribe(t.Context(), broker.Start{Topic: topic, From: broker.FromOldest})
	if err != nil {
		t.Fatal("subscribe:", err)
	}
	defer f.Close()
	return next(t, f, n)
}

// next is a feed's next n messages, each as offset:payload. A node whose disk is behind says
// so, and that is no end of the feed.
func next(t *testing.T, f broker.Feed, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []string
	for len(all) < n {
		b, err := f.Next(ctx, broker.Room{Bytes: 1 << 20})
		if errors.Is(err, node.ErrBehind) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			t.Fatalf("next after %d of %d: %v", len(all), n, err)
		}
		payloads, err := brokertest.Payloads(b.Messages)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range payloads {
			all = append(all, fmt.Sprintf("%d:%s", b.Offset+uint64(i), p))
		}
	}
	return all
}

func TestContractAlone(t *testing.T) {
	n := open(t, options(vfs.NewMemory()))
	brokertest.Run(t, n)
}
