package peer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer/gen"
	"wirelab/wire/status"
)

// fill puts something into every field of a value, so that one that is forgotten shows.
func fill(v reflect.Value, r *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), r)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), r)
		}
	case reflect.String:
		v.SetString(string(rune('a' + r.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1 + r.Uint64N(4))
	case reflect.Uint32:
		v.SetUint(math.MaxUint32 - r.Uint64N(100))
	case reflect.Uint64:
		v.SetUint(math.MaxUint64 - r.Uint64N(100))
	case reflect.Int, reflect.Int64:
		v.SetInt(math.MaxInt64 - r.Int64N(100))
	case reflect.Pointer: // a gap, which has its own frame
	default:
		panic("fill does not know " + v.Kind().String())
	}
}

func roundTrip[T, W any](t *testing.T, write func(T) W, read func(W) T) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var want, zero T
	fill(reflect.ValueOf(&want).Elem(), r)
	if got := read(write(want)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v comes back as %+v", want, got)
	}
	if got := read(write(zero)); !reflect.DeepEqual(got, zero) {
		t.Errorf("zero comes back as %+v", got)
	}
}

func TestEveryFieldTravels(t *testing.T) {
	roundTrip(t, writeTopic, readTopic)
	roundTrip(t, writeGroup, readGroup)
	roundTrip(t, func(s broker.Start) *gen.Start { return writeStart(&s) }, readStart)
	roundTrip(t, writeMember, readMember)
	roundTrip(t, writeStatus, readStatus)
	roundTrip(t, writeRanges, readRanges)
	roundTrip(t, writeRestored, readRestored)
	// Runs have no attempts, and no more messages than 32 bits count.
	r := rand.New(rand.NewPCG(1, 2))
	var step broker.Restore
	fill(reflect.ValueOf(&step).Elem(), r)
	for i := range step.Runs {
		step.Runs[i].Count, step.Runs[i].Attempt = 7+i, 0
	}
	if got := readRestore(writeRestore(step)); !reflect.DeepEqual(got, step) {
		t.Errorf("%+v comes back as %+v", step, got)
	}
}

func TestEveryCodeTravels(t *testing.T) {
	for _, code := range status.Codes() {
		err := readError(writeError(status.Errorf(code, "why")))
		if status.CodeOf(err) != code || err.Error() != code.String()+": why" {
			t.Errorf("%v comes back as %v", code, err)
		}
		_, v, bad := readVerdict(appendVerdict(nil, 7, &broker.Verdict{Err: status.Errorf(code, "why"), Term: 3}))
		if bad != nil || status.CodeOf(v.Err) != code || v.Term != 3 {
			t.Errorf("a verdict with %v comes back as %+v, %v", code, v, bad)
		}
	}
	if err := readError(writeError(errors.New("secret path"))); err.Error() != "internal: internal error" {
		t.Errorf("an error without a code travels as %v", err)
	}
}

func TestBodies(t *testing.T) {
	run := broker.Run{Topic: "t", Messages: []byte("mm"), Count: 3, Mode: 2, Producer: 1 << 60, Sequence: 9}
	id, left, got, err := readPublish(appendPublish(nil, 5, time.Second, &run))
	if id != 5 || left != time.Second || err != nil || !reflect.DeepEqual(got, run) {
		t.Errorf("%+v comes back as %d %v %+v %v", run, id, left, got, err)
	}
	want := broker.Verdict{
		Offset: math.MaxUint64, Count: 4, Time: -1, Duplicate: true, Provisional: true, Term: 2,
		Index: 3,
	}
	if _, v, err := readVerdict(appendVerdict(nil, 5, &want)); err != nil || v != want {
		t.Errorf("%+v comes back as %+v %v", want, v, err)
	}
	batch := broker.Batch{Offset: 1, Count: 2, Time: -3, Attempt: 4, Messages: []byte("mm")}
	data := append(appendBatchHead(nil, 6, &batch), batch.Messages...)
	if id, b, err := readBatch(data); id != 6 || err != nil || !reflect.DeepEqual(b, batch) {
		t.Errorf("%+v comes back as %d %+v %v", batch, id, b, err)
	}
	for n := range len(data) - len(batch.Messages) {
		if _, _, err := readBatch(data[:n]); err == nil {
			t.Errorf("a batch cut after %d bytes is read", n)
		}
	}
}

// written is frames as they stand on the wire.
func written(t testing.TB, frames ...frame) []byte {
	var to bytes.Buffer
	o := newOutbox()
	for _, f := range frames {
		o.put(f, 0)
	}
	w := writer{w: bufio.NewWriter(&to)}
	for {
		worked, err := w.round(o)
		if err != nil {
			t.Fatal(err)
		}
		if !worked {
			break
		}
	}
	if err := w.w.Flush(); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

func patterned(n, step int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * step >> 3)
	}
	return b
}

func TestFramesOfQueuesTakeTurns(t *testing.T) {
	big, tail := patterned(300_000, 3), patterned(200_000, 7)
	data := written(t,
		frame{kind: kindRaft, queue: queueSnapshot, head: big},
		frame{kind: kindBatch, queue: queueCall, head: []byte("head"), tail: tail},
		frame{kind: kindReply, queue: queueCall},
		frame{kind: kindAlive, queue: queueControl},
	)
	r := reader{r: bufio.NewReader(bytes.NewReader(data))}
	for _, want := range []struct {
		kind kind
		body []byte
	}{{kindAlive, nil}, {kindBatch, append([]byte("head"), tail...)}, {kindReply, nil}, {kindRaft, big}} {
		k, body, err := r.next()
		if err != nil || k != want.kind || !bytes.Equal(body, want.body) {
			t.Fatalf("frame of kind %d with %d bytes, %v; want kind %d with %d bytes", k, len(body), err, want.kind,
				len(want.body))
		}
	}
	if _, _, err := r.next(); !errors.Is(err, io.EOF) {
		t.Fatalf("after the last frame: %v", err)
	}
}

// One bit that changes on the way is found, wherever it is.
func TestDamageIsFound(t *testing.T) {
	data := written(t, frame{kind: kindRaft, queue: queueRaft, head: patterned(40, 9)})
	for at := range len(data) * 8 {
		damaged := bytes.Clone(data)
		damaged[at/8] ^= 1 << (at % 8)
		r := reader{r: bufio.NewReader(bytes.NewReader(damaged))}
		if k, body, err := r.next(); err == nil {
			t.Fatalf("bit %d: a frame of kind %d with %d bytes is read", at, k, len(body))
		}
	}
}

// Announced bytes are not allocated before they come.
func TestAnnouncedIsNotAllocated(t *testing.T) {
	if b := grow(make([]byte, 1<<20), 10, 1<<30); cap(b) > 3<<20 {
		t.Errorf("%d bytes of room for a megabyte that came", cap(b))
	}
	if b := grow(nil, 100, 0); cap(b) != 100 {
		t.Errorf("%d bytes of room for 100 that are all", cap(b))
	}
}

func FuzzReader(f *testing.F) {
	f.Add(written(f, frame{kind: kindAlive, queue: queueControl}, frame{
		kind: kindBatch, queue: queueCall,
		head: patterned(100_000, 5),
	}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := reader{r: bufio.NewReader(bytes.NewReader(data))}
		for {
			if _, _, err := r.next(); err != nil {
				return
			}
		}
	})
}

func FuzzBodies(f *testing.F) {
	f.Add(appendPublish(nil, 5, 7, &broker.Run{Topic: "t", Messages: []byte("m")}))
	f.Add(appendVerdict(nil, 5, &broker.Verdict{Err: status.Errorf(status.NotFound, "x")}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if id, left, run, err := readPublish(data); err == nil && run.Count >= 0 {
			again, _, same, err := readPublish(appendPublish(nil, id, left, &run))
			if err != nil || again != id || !reflect.DeepEqual(run, same) && len(run.Messages) > 0 {
				t.Errorf("%+v comes back as %+v, %v", run, same, err)
			}
		}
		_, _, _ = readVerdict(data)
		_, _, _ = readBatch(data)
		c := newCaller(newConnection(nil), &Options{CallBytes: 1000, FeedBytes: 1000})
		for k := range kind(20) {
			_ = c.handle(k, data) // anything but a panic
		}
	})
}
