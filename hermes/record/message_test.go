package record_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes"
	"wirelab/hermes/gen"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// draw makes a message within the bounds.
func draw(r *rand.Rand) hermes.Message {
	m := hermes.Message{Payload: filled(r, r.IntN(400)), Key: filled(r, r.IntN(3)*r.IntN(200))}
	for range r.IntN(4) {
		m.Headers = append(m.Headers, hermes.Header{
			Name:  "né" + strings.Repeat("n", r.IntN(100)),
			Value: filled(r, r.IntN(200)),
		})
	}
	return m
}

func filled(r *rand.Rand, n int) []byte {
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// A message is refused before it is written where Check refuses it behind, and in the same words.
func TestCheckMessageIsCheck(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	refused := 0
	for range 600 {
		m := draw(random)
		switch random.IntN(9) {
		case 0:
			m.Payload = make([]byte, hermes.PayloadLimit+random.IntN(2))
		case 1:
			m.Payload = make([]byte, hermes.RunLimit-random.IntN(20))
		case 2:
			m.Key = make([]byte, hermes.KeyLimit+random.IntN(2))
		case 3:
			m.Headers = append(m.Headers,
				hermes.Header{Name: strings.Repeat("n", hermes.HeaderNameLimit+random.IntN(2))})
		case 4:
			m.Headers = append(m.Headers, hermes.Header{
				Name:  []string{"", "\xff", "é"}[random.IntN(3)],
				Value: filled(random, 3),
			})
		case 5:
			m.Headers = append(m.Headers,
				hermes.Header{Name: "n", Value: make([]byte, hermes.HeadersLimit-1+random.IntN(2))})
		}
		_, want := record.Check(record.AppendMessage(nil, &m))
		if got := record.CheckMessage(&m); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v; Check says %v", got, want)
		}
		if want != nil {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("only %d of these messages are refused", refused)
	}
}

// What AppendMessage writes is what protobuf writes for field 2, and back; bytes
// stay bytes (hb-D28).
func TestMessagesAreProtobuf(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var ours []byte
		var all []hermes.Message
		batch := &gen.Run{}
		for range 1 + random.IntN(20) {
			m := draw(random)
			all = append(all, m)
			ours = record.AppendMessage(ours, &m)
			other := &gen.Message{Payload: m.Payload, Key: m.Key}
			for _, h := range m.Headers {
				other.Headers = append(other.Headers, &gen.Header{Name: h.Name, Value: h.Value})
			}
			batch.Messages = append(batch.Messages, other)
		}
		theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(batch)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(ours, theirs) {
			t.Fatalf("ours   %x\ntheirs %x", ours, theirs)
		}
		if n, err := record.Check(ours); n != len(all) || err != nil {
			t.Fatalf("Check counts %d of %d: %v", n, len(all), err)
		}
		var got hermes.Message // used again and again, as a reader does
		i := 0
		for one := range record.Messages(ours) {
			if err := record.ReadMessage(one, &got); err != nil {
				t.Fatal(err)
			}
			if !same(got, all[i]) {
				t.Fatalf("message %d: %+v became %+v", i, all[i], got)
			}
			i++
		}
		if i != len(all) {
			t.Fatalf("%d of %d messages", i, len(all))
		}
		parts(t, random, ours, len(all))
	}
}

func same(a, b hermes.Message) bool {
	return bytes.Equal(a.Payload, b.Payload) && bytes.Equal(a.Key, b.Key) &&
		slices.EqualFunc(a.Headers, b.Headers, func(a, b hermes.Header) bool {
			return a.Name == b.Name && bytes.Equal(a.Value, b.Value)
		})
}

// parts holds Skip and Head to a run of n messages: what Head takes and Skip leaves is the run.
func parts(t *testing.T, random *rand.Rand, run []byte, n int) {
	t.Helper()
	rest, left := run, n
	for left > 0 {
		limit := random.IntN(len(run) + 10)
		head, count := record.Head(rest, 0, limit)
		if count < 1 || count > left || count > 1 && len(head) > limit {
			t.Fatalf("Head of %d messages with limit %d: %d in %d bytes", left, limit, count, len(head))
		}
		if counted, err := record.Check(head); err != nil || counted != count {
			t.Fatalf("Head says %d, Check %d, %v", count, counted, err)
		}
		skipped := record.Skip(rest, count)
		if !bytes.Equal(append(slices.Clone(head), skipped...), rest) {
			t.Fatalf("Head and Skip of %d do not add up", count)
		}
		if few, c := record.Head(rest, 1+count/2, limit); c != min(count, 1+count/2) || !bytes.HasPrefix(head, few) {
			t.Fatalf("Head of at most %d messages gives %d of %d", 1+count/2, c, count)
		}
		if more, c := record.Head(rest, 0, len(head)+1<<20); count < left && c == count && len(more) == len(head) {
			t.Fatalf("Head gives %d of %d whatever the limit", c, left)
		}
		rest, left = skipped, left-count
	}
	if len(rest) != 0 || len(record.Skip(run, n+5)) != 0 || !bytes.Equal(record.Skip(run, 0), run) {
		t.Fatal("Skip does not end where the run does")
	}
}

// one is a run of one message with these bytes; of is a field.
func one(message ...[]byte) []byte {
	return protowire.AppendBytes([]byte{0x12}, bytes.Join(message, nil))
}

func of(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

// The bounds of the vocabulary hold where bytes come in (hb-D26), to the byte.
func TestCheckBounds(t *testing.T) {
	t.Parallel()
	at := func(m hermes.Message) []byte { return record.AppendMessage(nil, &m) }
	header := func(name, value int) hermes.Header {
		return hermes.Header{Name: strings.Repeat("n", name), Value: make([]byte, value)}
	}
	mega := at(hermes.Message{Payload: make([]byte, hermes.PayloadLimit)})
	for _, c := range []struct {
		name  string
		run   []byte
		count int // 0: refused, with code
		code  status.Code
	}{
		{"the greatest payload", mega, 1, 0},
		{"one byte more", at(hermes.Message{Payload: make([]byte, hermes.PayloadLimit+1)}), 0, status.InvalidArgument},
		{"the greatest key", at(hermes.Message{Key: make([]byte, hermes.KeyLimit)}), 1, 0},
		{"a key too long", at(hermes.Message{Key: make([]byte, hermes.KeyLimit+1)}), 0, status.InvalidArgument},
		{"the longest name", at(hermes.Message{Headers: []hermes.Header{header(hermes.HeaderNameLimit, 0)}}), 1, 0},
		{
			"a name too long", at(hermes.Message{Headers: []hermes.Header{header(hermes.HeaderNameLimit+1, 0)}}), 0,
			status.InvalidArgument,
		},
		{"the most headers", at(hermes.Message{Headers: []hermes.Header{header(4, 4092), header(96, 4000)}}), 1, 0},
		{
			"headers too long together",
			at(hermes.Message{Headers: []hermes.Header{header(4, 4092), header(97, 4000)}}), 0,
			status.InvalidArgument,
		},
		{"the most messages", bytes.Repeat([]byte{0x12, 0}, hermes.RunMessages), hermes.RunMessages, 0},
		{"a message too many", bytes.Repeat([]byte{0x12, 0}, hermes.RunMessages+1), 0, status.InvalidArgument},
		{"a run too long", bytes.Repeat(mega, 4), 0, status.InvalidArgument},
		{"an empty message", []byte{0x12, 0}, 1, 0},
		{"empty fields that are written", one(of(1, nil), of(2, nil)), 1, 0},
		{"fields in another order", one(of(3, of(1, []byte("n"))), of(2, []byte("k")), of(3, of(1, []byte("n"))),
			of(1, []byte("p"))), 1, 0},
		{"value before name", one(of(3, append(of(2, []byte("v")), of(1, []byte("n"))...))), 1, 0},
		{
			"a length in more bytes than it needs",
			[]byte{0x12, 0x84, 0x00, 0x0a, 0x82, 0x80, 0x00},
			0,
			status.InvalidArgument,
		},
		{"a length in more bytes, whole", []byte{0x12, 0x84, 0x00, 0x0a, 0x81, 0x00, 'x'}, 1, 0},

		{"nothing", nil, 0, status.InvalidArgument},
		{"field 1", of(1, []byte{}), 0, status.InvalidArgument},
		{"a number", []byte{0x10, 0x01}, 0, status.InvalidArgument},
		{"a message cut off", []byte{0x12, 0x02, 0x0a}, 0, status.InvalidArgument},
		{"a length cut off", []byte{0x12}, 0, status.InvalidArgument},
		{
			"a length of 2^64-1", append([]byte{0x12}, protowire.AppendVarint(nil, 1<<64-1)...), 0,
			status.InvalidArgument,
		},
		{"a length past 2^64", append([]byte{0x12}, bytes.Repeat([]byte{0xff}, 10)...), 0, status.InvalidArgument},
		{"the second is no message", append([]byte{0x12, 0}, 0x1a, 0), 0, status.InvalidArgument},
		{"a field of a later form", one(of(4, nil)), 0, status.InvalidArgument},
		{"a field of two tag bytes", one(of(16, nil)), 0, status.InvalidArgument},
		{"field 0", one([]byte{0x02, 0}), 0, status.InvalidArgument},
		{"payload as a number", one([]byte{0x08, 1}), 0, status.InvalidArgument},
		{"payload as a group", one([]byte{0x0b, 0x0c}), 0, status.InvalidArgument},
		{"payload twice", one(of(1, nil), of(1, nil)), 0, status.InvalidArgument},
		{"key twice", one(of(2, nil), of(2, nil)), 0, status.InvalidArgument},
		{"a header without a name", one(of(3, of(2, []byte("v")))), 0, status.InvalidArgument},
		{"an empty header", one(of(3, nil)), 0, status.InvalidArgument},
		{"a name twice", one(of(3, append(of(1, []byte("n")), of(1, []byte("m"))...))), 0, status.InvalidArgument},
		{"a name that is not UTF-8", one(of(3, of(1, []byte{0xff}))), 0, status.InvalidArgument},
		{"a third field in a header", one(of(3, append(of(1, []byte("n")), of(3, nil)...))), 0, status.InvalidArgument},
		{"field 0 in a header", one(of(3, append(of(1, []byte("n")), 0x02, 0))), 0, status.InvalidArgument},
	} {
		count, err := record.Check(c.run)
		if c.count > 0 && (err != nil || count != c.count) {
			t.Errorf("%s: %d, %v; want %d", c.name, count, err, c.count)
		}
		if c.count == 0 && (err == nil || status.CodeOf(err) != c.code || count != 0) {
			t.Errorf("%s: %d, %v; want %v", c.name, count, err, c.code)
		}
	}
}

// Whatever is no message is an error; a dead letter is one, though it is beyond what Check lets in.
func TestReadMessage(t *testing.T) {
	t.Parallel()
	var m hermes.Message
	for _, damaged := range [][]byte{{0x0a}, {0x0a, 5, 'x'}, {0x1a, 0}, {0x22, 0}, {0x08, 1}} {
		if err := record.ReadMessage(damaged, &m); err == nil || status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("%x: %v", damaged, err)
		}
	}
	full := hermes.Message{Headers: []hermes.Header{{Name: "n", Value: make([]byte, hermes.HeadersLimit-1)}}}
	dead := hermes.DeadLetter(full, "t", 5, "g", 3, "")
	stored := record.AppendMessage(nil, &dead)
	if _, err := record.Check(stored); err == nil {
		t.Error("Check lets a publisher send more headers than are allowed")
	}
	for one := range record.Messages(stored) {
		if err := record.ReadMessage(one, &m); err != nil || !same(m, dead) {
			t.Errorf("a dead letter reads as %v", err)
		}
	}
}

// Whatever Check lets pass, protobuf reads too, and as the same; nothing panics.
func FuzzCheck(f *testing.F) {
	m := hermes.Message{
		Payload: []byte("p"), Key: []byte("k"),
		Headers: []hermes.Header{{Name: "n", Value: []byte("v")}},
	}
	f.Add(record.AppendMessage(record.AppendMessage(nil, &m), &hermes.Message{}))
	f.Add([]byte{0x12, 0x84, 0x00, 0x0a, 0x81, 0x00, 'x'})
	f.Add([]byte{0x12, 0x02, 0x0a})
	f.Fuzz(func(t *testing.T, data []byte) {
		record.Skip(data, 3)
		record.Head(data, 2, 10)
		n := 0
		var got hermes.Message
		for one := range record.Messages(data) {
			_ = record.ReadMessage(one, &got) // must not panic; whether it reads is Check's to say
			n++
		}
		count, err := record.Check(data)
		if err != nil {
			return
		}
		run := &gen.Run{}
		if err := proto.Unmarshal(data, run); err != nil || len(run.Messages) != count || n != count {
			t.Fatalf("Check says %d, Messages %d, protobuf %d: %v", count, n, len(run.Messages), err)
		}
		i := 0
		for one := range record.Messages(data) {
			if err := record.ReadMessage(one, &got); err != nil {
				t.Fatalf("message %d passed Check: %v", i, err)
			}
			theirs := hermes.Message{Payload: run.Messages[i].Payload, Key: run.Messages[i].Key}
			for _, h := range run.Messages[i].Headers {
				theirs.Headers = append(theirs.Headers, hermes.Header{Name: h.Name, Value: h.Value})
			}
			if !same(got, theirs) {
				t.Fatalf("message %d: %+v, protobuf %+v", i, got, theirs)
			}
			i++
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	m := hermes.Message{Payload: make([]byte, 100)}
	var run []byte
	for range 100 {
		run = record.AppendMessage(run, &m)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := record.Check(run); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "messages/s")
}
