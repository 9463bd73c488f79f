package recentlog

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// got is a batch, or how a Next ended.
type got struct {
	broker.Batch
	err error
}

// next asks in a separate goroutine.
func next(t *testing.T, r *Reader, limit int) <-chan got {
	answer := make(chan got, 1)
	go func() {
		b, err := r.Next(t.Context(), broker.Room{Bytes: limit})
		answer <- got{b, err}
	}()
	return answer
}

func open(t *testing.T, recent *Log, topic uint32, offset, next uint64, live bool) *Reader {
	t.Helper()
	r, err := recent.Open(topic, offset, next, live)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// messages is one message in wire form.
func messages(payload string) []byte {
	return record.AppendMessage(nil, &hermes.Message{Payload: []byte(payload)})
}

// A reader that waits is woken by messages of its topic, and by no others; none polls.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recent := New(Options{})
		r := open(t, recent, 1, 0, 0, false)
		answer := next(t, r, 100)
		synctest.Wait()
		recent.Append(5, []Run{{Topic: 2, Count: 1, Messages: messages("other")}})
		synctest.Wait()
		select {
		case g := <-answer:
			t.Fatalf("got %+v", g)
		default:
		}
		recent.Append(6, []Run{{Topic: 1, Count: 1, Messages: messages("mine")}})
		g := <-answer
		if g.err != nil || g.Offset != 0 || g.Time != 6 || !bytes.Equal(g.Messages, messages("mine")) {
			t.Fatalf("got %+v", g)
		}
	})
}

// What ends a reader ends its Next at once, with the reason as a code (hb-D20: a
// subscription that had died stayed open for ever).
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(recent *Log, r *Reader)
		want status.Code
	}{
		"closed reader": {func(_ *Log, r *Reader) { r.Close() }, status.Canceled},
		"closed tail":   {func(recent *Log, _ *Reader) { recent.Close(nil) }, status.Unavailable},
		"deleted topic": {
			func(recent *Log, _ *Reader) { recent.End(1, status.Errorf(status.NotFound, "gone")) },
			status.NotFound,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				recent := New(Options{})
				r := open(t, recent, 1, 0, 0, true)
				answer := next(t, r, 100)
				synctest.Wait()
				c.end(recent, r)
				if g := <-answer; g.err == nil || status.CodeOf(g.err) != c.want {
					t.Fatalf("ended with %v, want %v", g.err, c.want)
				}
				if _, err := r.Next(t.Context(), broker.Room{Bytes: 1}); err == nil || status.CodeOf(err) != c.want {
					t.Fatalf("then %v, want %v", err, c.want)
				}
				r.Close() // again
				if u := recent.Usage(); u.Readers != 0 || recent.Readers(1) != 0 || len(recent.topics) != 0 {
					t.Fatalf("left are %+v, %d topics", u, len(recent.topics))
				}
				if n := recent.Push(1, 0, messages("x"), 1); n != 0 {
					t.Fatalf("%d see what is pushed", n)
				}
			})
		})
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := open(t, New(Options{}), 1, 0, 0, false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Next(ctx, broker.Room{Bytes: 1}); err == nil || status.CodeOf(err) != status.DeadlineExceeded {
			t.Fatalf("got %v", err)
		}
	})
}

// A closed log takes nothing more, and past the bound on readers none is taken (hb-D26).
func TestRefusesReaders(t *testing.T) {
	t.Parallel()
	recent := New(Options{Readers: 2})
	first := open(t, recent, 1, 0, 0, false)
	open(t, recent, 2, 0, 0, false)
	if _, err := recent.Open(3, 0, 0, false); err == nil || status.CodeOf(err) != status.ResourceExhausted {
		t.Fatalf("a third reader: %v", err)
	}
	first.Close()
	open(t, recent, 3, 0, 0, false)
	recent.Close(nil)
	if _, err := recent.Open(3, 0, 0, false); err == nil || status.CodeOf(err) != status.Unavailable {
		t.Fatalf("a reader of a closed tail: %v", err)
	}
	recent.Append(1, []Run{{Topic: 3, Count: 1, Messages: messages("x")}})
	if u := recent.Usage(); u.Bytes != 0 || u.Readers != 0 {
		t.Fatalf("a closed tail holds %+v", u)
	}
}

// A read that failed is reported, and the reader continues where it was.
func TestReadFails(t *testing.T) {
	t.Parallel()
	d := &disk{topics: map[uint32]*stored{}, fail: errors.New("a disk")}
	recent := New(Options{Read: d.read})
	d.add(1, 1, 3, 1)
	r := open(t, recent, 1, 1, 3, false)
	for range 2 {
		if _, err := r.Next(t.Context(), broker.Room{Bytes: 1000}); !errors.Is(err, d.fail) {
			t.Fatalf("got %v", err)
		}
	}
	if _, err := recent.Fetch(nil, 1, 0, 3, 1000); !errors.Is(err, d.fail) {
		t.Fatalf("fetch gave %v", err)
	}
	d.fail = nil
	b, err := r.Next(t.Context(), broker.Room{Bytes: 1000})
	if err != nil || b.Offset != 1 || b.Count != 2 {
		t.Fatalf("got %+v, %v", b, err)
	}
}

// Small runs of an entry become one batch where a reader reads the topic, whichever other topics' lie between;
// large ones are not copied.
func TestMerges(t *testing.T) {
	t.Parallel()
	recent := New(Options{})
	r := open(t, recent, 1, 0, 0, false)
	large := Run{Topic: 1, Offset: 2, Count: 1, Messages: messages(string(make([]byte, mergeLimit)))}
	recent.Append(1, []Run{
		{Topic: 1, Offset: 0, Count: 1, Messages: messages("a")},
		{Topic: 2, Offset: 0, Count: 1, Messages: messages("b")},
		{Topic: 1, Offset: 1, Count: 1, Messages: messages("c")},
		{Topic: 2, Offset: 1, Count: 1, Messages: messages("d")},
		large,
		{Topic: 1, Offset: 3, Count: 1, Messages: messages("e")},
		{Topic: 1, Offset: 9, Count: 1, Messages: messages("f")}, // they do not follow one another
	})
	b, err := r.Next(t.Context(), broker.Room{Bytes: 1 << 20})
	if err != nil || b.Count != 2 || !bytes.Equal(b.Messages, append(messages("a"), messages("c")...)) {
		t.Fatalf("got %+v, %v", b, err)
	}
	b, err = r.Next(t.Context(), broker.Room{Bytes: 1 << 20})
	if err != nil || b.Count != 1 || &b.Messages[0] != &large.Messages[0] {
		t.Fatalf("got %d bytes, %v", len(b.Messages), err)
	}
	if n := recent.topics[1].held.n; n != 4 {
		t.Fatalf("topic 1 has %d batches, want a+c, the large one, e and f", n)
	}
	if n := recent.topics[2].held.n; n != 2 {
		t.Fatalf("topic 2, without a reader, has %d batches", n)
	}
}

// A pushed message goes to the readers that asked for it, takes turns with stored data, and never moves an
// offset (hb-D17: acknowledging it moved durable ones).
func TestPush(t *testing.T) {
	t.Parallel()
	recent := New(Options{})
	if n := recent.Push(1, 1, messages("not kept"), 1); n != 0 {
		t.Fatalf("%d see it", n)
	}
	live, still := open(t, recent, 1, 0, 0, true), open(t, recent, 1, 0, 0, false)
	two := append(messages("p0"), messages("p1")...)
	if n := recent.Push(1, 1, two, 2); n != 1 {
		t.Fatalf("%d see it, want 1", n)
	}
	two[3] = 'x' // it was copied
	for i := range uint64(2) {
		recent.Append(2, []Run{{Topic: 1, Offset: i, Count: 1, Messages: messages("s")}})
	}
	order := ""
	for range 4 {
		b, err := live.Next(t.Context(), broker.Room{Bytes: 1}) // each message by itself
		if err != nil || b.Count != 1 {
			t.Fatal(b, err)
		}
		var m hermes.Message
		for raw := range record.Messages(b.Messages) {
			if err := record.ReadMessage(raw, &m); err != nil {
				t.Fatal(err)
			}
		}
		order += string(m.Payload) + " "
		if pushed := b.Attempt == 0; pushed != (m.Payload[0] == 'p') || pushed && b.Offset != 0 {
			t.Fatalf("%q comes as %+v", m.Payload, b)
		}
	}
	if order != "p0 s p1 s " || live.Offset() != 2 {
		t.Fatalf("got %s, and the offset is %d", order, live.Offset())
	}
	for want := range uint64(2) {
		if b, err := still.Next(t.Context(), broker.Room{Bytes: 1}); err != nil || b.Offset != want || b.Attempt != 1 {
			t.Fatalf("got %+v, %v", b, err)
		}
	}
}

// A reader that is slow keeps neither publishers nor other readers waiting, and no
// memory: what it did not come by in time it misses (hb-D17: one full channel held
// up the batcher of all topics).
func TestSlowReaderMissesWhatIsPushed(t *testing.T) {
	t.Parallel()
	recent := New(Options{Bytes: 1000})
	slow, quick := open(t, recent, 1, 0, 0, true), open(t, recent, 1, 0, 0, true)
	for i := range 100 {
		if n := recent.Push(1, int64(i), messages("a pushed one"), 1); n != 2 {
			t.Fatalf("%d see it, want 2", n)
		}
		if b, err := quick.Next(t.Context(), broker.Room{Bytes: 100}); err != nil || b.Time != int64(i) {
			t.Fatalf("got %+v, %v", b, err)
		}
		if u := recent.Usage(); u.Bytes > 1000 {
			t.Fatalf("holds %d bytes", u.Bytes)
		}
	}
	b, err := slow.Next(t.Context(), broker.Room{Bytes: 100})
	if missed := recent.Usage().Missed; err != nil || missed < 90 || b.Time != int64(missed) {
		t.Fatalf("got %+v, %v after %d that were missed", b, err, missed)
	}
}

// A watch is notified of every change and never holds anyone up; several tellers share a channel.
func TestWatch(t *testing.T) {
	t.Parallel()
	recent := New(Options{})
	wake := make(chan struct{}, 1)
	stop := recent.Watch(1, wake)
	told := func() bool {
		select {
		case <-wake:
			return true
		default:
			return false
		}
	}
	for i := range uint64(3) {
		recent.Append(1, []Run{{Topic: 1, Offset: i, Count: 1, Messages: messages("x")}})
	}
	if !told() || told() {
		t.Fatal("not told, or told twice of what one look shows")
	}
	recent.Append(1, []Run{{Topic: 2, Offset: 0, Count: 1, Messages: messages("x")}})
	if told() {
		t.Fatal("notified of another topic")
	}
	recent.End(1, errors.New("gone"))
	if !told() {
		t.Fatal("not notified of the end")
	}
	stop()
	stop()
	recent.Append(1, []Run{{Topic: 1, Offset: 3, Count: 1, Messages: messages("x")}})
	if told() {
		t.Fatal("told after stop")
	}
}

// An offset never means two messages, and whatever is not held between those (a node that was given a snapshot)
// is read from the log.
func TestHoles(t *testing.T) {
	t.Parallel()
	d := &disk{topics: map[uint32]*stored{}}
	recent := New(Options{Read: d.read})
	a, b, c := d.add(1, 1, 2, 1), d.add(1, 2, 2, 1), d.add(1, 3, 2, 1)
	recent.Append(1, []Run{a})
	recent.Append(1, []Run{a})
	_ = b
	recent.Append(3, []Run{c})
	f := &follower{Reader: open(t, recent, 1, 0, 6, false), topic: 1}
	for f.want < 6 {
		got, err := f.Next(t.Context(), broker.Room{Bytes: 1000})
		if err == nil {
			err = f.check(d.topic(1), got, 1000)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if u := recent.Usage(); u.Behind != 1 {
		t.Fatalf("%d reads from the log, want 1", u.Behind)
	}
}

// Whatever Read gives, a reader gets what it asked for, once.
func TestSettle(t *testing.T) {
	t.Parallel()
	at := func(offset uint64, count int) broker.Batch {
		var b []byte
		for range count {
			b = append(b, messages("x")...)
		}
		return broker.Batch{Offset: offset, Count: count, Messages: b}
	}
	got := settle([]broker.Batch{at(0, 3), at(2, 4), at(5, 1), {Offset: 6}, at(8, 5), at(10, 2), at(30, 1)}, 3, 10)
	if len(got) != 2 || got[0].Offset != 3 || got[0].Count != 3 || got[1].Offset != 8 || got[1].Count != 2 {
		t.Fatalf("got %+v", got)
	}
	if want := 2 * len(messages("x")); len(got[1].Messages) != want {
		t.Fatalf("two messages have %d bytes, want %d", len(got[1].Messages), want)
	}
}

// Who looked at a topic's end, and opens it when that has long moved on and left
// memory, does not wait for the next message to see those between.
func TestOpensLate(t *testing.T) {
	t.Parallel()
	d := &disk{topics: map[uint32]*stored{}}
	recent := New(Options{Bytes: 1, Read: d.read})
	recent.Append(1, []Run{d.add(1, 1, 3, 1)})
	if len(recent.topics) != 0 {
		t.Fatal("a topic without readers is kept")
	}
	r := open(t, recent, 1, 2, 2, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if b, err := r.Next(ctx, broker.Room{Bytes: 100}); err != nil || b.Offset != 2 {
		t.Fatalf("got %+v, %v", b, err)
	}
	for range 2 { // with a reader, and without
		recent.End(1, errors.New("gone"))
		r.Close()
		if len(recent.topics)+len(recent.ends) != 0 {
			t.Fatal("a deleted topic is kept")
		}
		r = open(t, recent, 1, 2, 2, false)
		r.Close()
	}
}

// Closing twice, which a context's end and its owner may do, takes nothing from anyone who came between.
func TestClosesTwice(t *testing.T) {
	t.Parallel()
	recent := New(Options{})
	first := open(t, recent, 1, 0, 0, false)
	first.Close()
	r := open(t, recent, 1, 0, 0, false)
	first.Close()
	recent.Append(1, []Run{{Topic: 1, Count: 1, Messages: messages("x")}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if b, err := r.Next(ctx, broker.Room{Bytes: 100}); err != nil || b.Count != 1 {
		t.Fatalf("got %+v, %v", b, err)
	}
	if n := recent.Readers(1); n != 1 {
		t.Fatalf("there are %d readers", n)
	}
}
