package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// bigFake is a broker in this process that keeps what is published, has many topics and slow
// disks, and loses one message and doubles another of what is replayed.
type bigFake struct {
	fake
	mu      sync.Mutex
	kept    [][]byte
	topics  int
	groups  bool
	killed  []int
	slow    []time.Duration
	replays int
}

func (*bigFake) Name() string    { return "hermes" }
func (*bigFake) Version() string { return "a fake" }
func (*bigFake) Syncs() bool     { return true }
func (*bigFake) PIDs() []int     { return []int{os.Getpid()} }

func (f *bigFake) Topic(context.Context) (topic, error) { return f, nil }

type keptPublisher struct {
	f     *bigFake
	acked func(error)
}

func (p keptPublisher) Publish(_ context.Context, payload []byte) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if len(p.f.kept) < 10_000 { // of the shapes without a backlog none is asked for
		p.f.kept = append(p.f.kept, slices.Clone(payload))
	}
	p.acked(nil)
	return nil
}

func (keptPublisher) Close() {}

func (f *bigFake) Stream(_ context.Context, _ setting, acked func(error)) (publisher, error) {
	return keptPublisher{f, acked}, nil
}

func (f *bigFake) Replay(_ context.Context, got func([]byte)) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replays++
	for _, m := range f.kept {
		if n := binary.LittleEndian.Uint64(m); n == f.twin {
			got(m)
		}
		got(m)
	}
	return func() {}, nil
}

func (f *bigFake) Spread(_ context.Context, count int) (topic, error) {
	f.topics = count
	return f, nil
}

func (f *bigFake) Groups(context.Context) error {
	f.groups = true
	return nil
}

func (f *bigFake) Scrape(context.Context, int) (int, error) { return 4096, nil }

func (f *bigFake) Again(_ context.Context, node int) (time.Duration, error) {
	f.killed = append(f.killed, node)
	return time.Duration(node+1) * time.Second, nil
}

func (f *bigFake) Slow(_ context.Context, _ bool, longer time.Duration) error {
	f.slow = append(f.slow, longer)
	return nil
}

// The shapes that are about size do what they say, and tell every figure that they have.
func TestShapesOfSize(t *testing.T) {
	f := &bigFake{fake: fake{twin: 3}}
	b := &bench{
		options: options{
			rounds: 1, perSec: 1000, seed: 1, window: window{length: 20 * time.Millisecond},
			shapes: []string{backlogShape, topicsShape, slowShape},
			scale:  scale{backlog: 1000, pace: 1000, topics: 20, slow: time.Second},
		},
		progress: io.Discard, rivals: []rival{f}, best: map[string]setting{}, found: map[string]map[string][]outcome{},
	}
	if err := b.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.whole() != 1 {
		t.Fatal("a round is not whole")
	}
	one := b.found[backlogShape]["hermes"][0]
	if one.Missing != 0 || one.Doubled != 1 || one.Rate <= 0 || f.replays != 1 {
		t.Errorf("the backlog: %+v, want all of it once, but for one that came twice", one)
	}
	if f.topics != 20 || !f.groups || !slices.Equal(f.killed, []int{0, 1, 2}) {
		t.Errorf("%d topics, groups %v, killed %v", f.topics, f.groups, f.killed)
	}
	if !slices.Equal(f.slow, []time.Duration{time.Second, time.Second, 0}) {
		t.Errorf("disks were slowed by %v", f.slow)
	}
	var table bytes.Buffer
	if err := b.table(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"read: most memory of a node", "read: CPU a message", "publish meanwhile", "all topics' rate by one's", "node 3 ready after kill -9",
		"3s", "rate left, a follower's slow", "rate left, the leader's slow", "1 doubled",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, table.String())
		}
	}
}

// What does not come is missing, and what comes twice is doubled; what was published
// meanwhile is neither.
func TestTally(t *testing.T) {
	a := newTally(130)
	for n := range uint64(140) {
		payload := binary.LittleEndian.AppendUint64(nil, n)
		if n != 64 {
			a.got(payload, 130)
		}
		if n == 129 {
			a.got(payload, 130)
		}
	}
	a.got(nil, 130)
	if a.missing != 1 || a.doubled != 1 {
		t.Errorf("%d missing and %d doubled, want one of each", a.missing, a.doubled)
	}
	select {
	case <-a.all:
		t.Error("all is said to have come")
	default:
	}
	a.got(binary.LittleEndian.AppendUint64(nil, 64), 130)
	select {
	case <-a.all:
	default:
		t.Error("all came, and it is not said")
	}
}
