package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is a broker in this process that loses and doubles what it is told to.
type fake struct {
	mu         sync.Mutex
	got        func([]byte)
	lose, twin uint64
}

func (*fake) Name() string                           { return "fake" }
func (*fake) Version() string                        { return "fake 1" }
func (*fake) Syncs() bool                            { return false }
func (*fake) PIDs() []int                            { return nil }
func (*fake) Stop(context.Context) error             { return nil }
func (f *fake) Topic(context.Context) (topic, error) { return f, nil }
func (*fake) Remove(context.Context) error           { return nil }

type fakePublisher struct {
	f     *fake
	acked func(error)
}

func (p fakePublisher) Publish(_ context.Context, payload []byte) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	n := binary.LittleEndian.Uint64(payload)
	for i := 0; p.f.got != nil && n != p.f.lose && i < map[bool]int{false: 1, true: 2}[n == p.f.twin]; i++ {
		p.f.got(payload)
	}
	if p.acked != nil {
		p.acked(nil)
	}
	runtime.Gosched() // who calls a broker waits for it
	return nil
}

func (fakePublisher) Close() {}

func (f *fake) Stream(_ context.Context, _ setting, acked func(error)) (publisher, error) {
	return fakePublisher{f, acked}, nil
}

func (f *fake) Callers(_ context.Context, n int) ([]publisher, error) {
	all := make([]publisher, n)
	for i := range all {
		all[i] = fakePublisher{f: f}
	}
	return all, nil
}

func (f *fake) Deliver(_ context.Context, got func([]byte)) (func(), error) {
	f.got = got
	return func() {}, nil
}

// A message that is lost, and one that comes twice, are told; the others' time is
// from when they were due.
func TestEndToEndAccounts(t *testing.T) {
	a := newArrivals(10)
	between := 5 * time.Millisecond
	for n := range uint64(10) {
		payload := binary.LittleEndian.AppendUint64(nil, n)
		if n != 3 {
			a.got(payload)
		}
		if n == 7 {
			a.got(payload)
		}
	}
	a.got(nil)
	a.got(binary.LittleEndian.AppendUint64(nil, 10)) // nobody sent it
	for n := range a.came {
		a.came[n].Store(int64(time.Duration(n)*between + 2*time.Millisecond))
	}
	one := a.account(a.base.Add(time.Millisecond), between, 0)
	if one.Missing != 1 || one.Doubled != 1 || one.P50 != 0.001 || one.P99 != 0.001 {
		t.Errorf("%+v, want 1 missing, 1 doubled and 1 ms", one)
	}
}

// Every shape comes out with a rate, and the table names what is not on disk when
// it is acknowledged.
func TestShapes(t *testing.T) {
	f := &fake{lose: 1 << 63, twin: 1 << 63}
	b := &bench{
		options: options{rounds: 1, perSec: 1000, seed: 1, window: window{length: 200 * time.Millisecond}}, progress: io.Discard,
		rivals: []rival{f}, best: map[string]setting{}, found: map[string]map[string][]outcome{},
	}
	for _, s := range shapes(b.perSec) {
		if s.takes(f) {
			b.shapes = append(b.shapes, s.name)
		}
	}
	if err := b.measure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.whole() != 1 {
		t.Fatal("a round is not whole")
	}
	var table bytes.Buffer
	if err := b.table(&table); err != nil {
		t.Fatal(err)
	}
	for _, name := range b.shapes {
		// A rate may be 0 where this process did not get a core within the window: another
		// window tells.
		one := b.found[name]["fake"][0]
		for window := b.window; one.Rate <= 0 && window.length < patience; window.length *= 2 {
			i := slices.IndexFunc(shapes(b.perSec), func(s shape) bool { return s.name == name })
			var err error
			if one, err = b.one(t.Context(), f, shapes(b.perSec)[i], window, 1); err != nil {
				t.Fatal(err)
			}
		}
		if one.Rate <= 0 || one.Missing > 0 {
			t.Errorf("%s: %+v", name, one)
		}
		if !strings.Contains(table.String(), name) {
			t.Errorf("the table has no %s", name)
		}
	}
	if !strings.Contains(table.String(), "NO") {
		t.Error("the table does not say that fake syncs nothing")
	}
}

func TestParseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-brokers kafka": "known are hermes, nats-always", "-shapes x": "known are stream-100", "-rounds 0": "rounds", "-rate 0": "rate",
		"-topics 0": "topics",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var all []time.Duration
	for n := range 100 {
		all = append(all, time.Duration(100-n)*time.Second)
	}
	if p50, p99 := quantiles(all); p50 != 51 || p99 != 100 {
		t.Errorf("%v, %v", p50, p99)
	}
	if p50, p99 := quantiles(nil); p50 != 0 || p99 != 0 {
		t.Errorf("of nothing: %v, %v", p50, p99)
	}
}
