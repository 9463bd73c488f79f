package record_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// parse gathers all of an entry.
func parse(data []byte) (time int64, items []record.Item, err error) {
	time, seq, err := record.Parse(data)
	if err != nil {
		return 0, nil, err
	}
	for item, wrong := range seq {
		if wrong != nil {
			err = wrong
			break
		}
		items = append(items, item)
	}
	return time, items, err
}

// write is the inverse of parse.
func write(time int64, items []record.Item) []byte {
	data := record.AppendEntry(nil, time)
	for _, item := range items {
		if item.Command != nil {
			data = record.AppendCommand(data, item.Command)
		} else {
			data = record.AppendRun(data, item.Run)
		}
	}
	return data
}

// The form on disk is what it was when it shipped.
func TestForm(t *testing.T) {
	t.Parallel()
	data := record.AppendEntry(nil, 300)
	data = record.AppendRun(data,
		record.Run{Topic: 1, Producer: 200, Sequence: 3, Count: 1, Messages: []byte{
			0x12, 0x03,
			0x0a, 0x01, 'x',
		}})
	data = record.AppendCommand(data, []byte("cmd"))
	data = record.AppendRun(data, record.Run{Topic: 2, Count: 4, Messages: []byte("left away"), Cleaned: true})
	old := record.Run{Topic: 3, Producer: 7, Sequence: 70, Old: true, Time: 129, Count: 1, Messages: []byte{
		0x12, 0x03,
		0x0a, 0x01, 'x',
	}}
	data = record.AppendRun(data, old)
	old.Cleaned = true
	data = record.AppendRun(data, old)
	want := []byte{
		0x01, 0xac, 0x02, // version, time
		0x01, 0x01, 0x00, 0xc8, 0x01, 0x03, 0x01, 0x05, 0x12, 0x03, 0x0a, 0x01, 'x',
		0x02, 0x03, 'c', 'm', 'd',
		0x01, 0x02, 0x01, 0x00, 0x00, 0x04, 0x09,
		0x01, 0x03, 0x02, 0x07, 0x46, 0x81, 0x01, 0x01, 0x05, 0x12, 0x03, 0x0a, 0x01, 'x',
		0x01, 0x03, 0x03, 0x07, 0x46, 0x81, 0x01, 0x01, 0x05,
	}
	if !bytes.Equal(data, want) {
		t.Fatalf("the form changed:\n got %x\nwant %x", data, want)
	}
	time, items, err := parse(want)
	if err != nil || time != 300 || len(items) != 5 {
		t.Fatalf("%d %v %v", time, items, err)
	}
	run := items[0].Run
	if run.At != 11 || !bytes.Equal(want[run.At:run.At+len(run.Messages)], run.Messages) {
		t.Errorf("At is %d", run.At)
	}
	if run.Topic != 1 || run.Producer != 200 || run.Sequence != 3 || run.Count != 1 || run.Cleaned ||
		items[0].Command != nil {
		t.Errorf("%+v", items[0])
	}
	if string(items[1].Command) != "cmd" {
		t.Errorf("%+v", items[1])
	}
	for i, cleaned := range []bool{false, true} {
		if r := items[3+i].Run; !r.Old || r.Time != 129 || r.Producer != 7 || r.Sequence != 70 ||
			r.Cleaned != cleaned ||
			r.Size != 5 {
			t.Errorf("%+v", r)
		}
	}
	if r := items[2].Run; !r.Cleaned || r.Count != 4 || len(r.Messages) != 0 || r.Size != 9 {
		t.Errorf("%+v", r)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		time := random.Int64()
		var items []record.Item
		for range random.IntN(6) {
			if random.IntN(3) == 0 {
				items = append(items, record.Item{Command: make([]byte, random.IntN(300))})
				continue
			}
			run := record.Run{
				Topic: random.Uint32(), Producer: random.Uint64() >> random.IntN(64),
				Sequence: random.Uint64() >> random.IntN(64), Count: 1 + random.Uint32N(9),
			}
			run.Size = int(2*run.Count + random.Uint32N(500))
			if run.Cleaned = random.IntN(4) == 0; !run.Cleaned {
				run.Messages = make([]byte, run.Size)
			}
			items = append(items, record.Item{Run: run})
		}
		data := write(time, items)
		gotTime, got, err := parse(data)
		if err != nil || gotTime != time || len(got) != len(items) {
			t.Fatalf("%d items of time %d became %d of %d: %v", len(items), time, len(got), gotTime, err)
		}
		for i := range got {
			if m := got[i].Run.Messages; !bytes.Equal(data[got[i].Run.At:][:len(m)], m) {
				t.Fatalf("At of item %d is %d", i, got[i].Run.At)
			}
			got[i].Run.At = 0
			if len(got[i].Run.Messages) == 0 {
				got[i].Run.Messages = nil
			}
			if !reflect.DeepEqual(got[i], items[i]) {
				t.Fatalf("item %d: %+v became %+v", i, items[i], got[i])
			}
		}
	}
}

func TestParseNothing(t *testing.T) {
	t.Parallel()
	if time, items, err := parse(nil); time != 0 || items != nil || err != nil {
		t.Errorf("a new leader's entry is %d, %v, %v", time, items, err)
	}
	if time, _, err := parse(record.AppendEntry(nil, -5)); time != 0 || err != nil {
		t.Errorf("a negative time is %d, %v", time, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	run := func(change func([]byte)) []byte {
		data := record.AppendRun(record.AppendEntry(nil, 1), record.Run{Topic: 1, Count: 1, Messages: []byte{0x12, 0}})
		change(data)
		return data
	}
	for _, c := range []struct {
		name string
		data []byte
		says string
		code status.Code
	}{
		{"a later form", []byte{2, 0}, "form 2", status.Unimplemented},
		{"no time", []byte{1}, "time", status.Internal},
		{
			"a time past int64",
			[]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
			"time",
			status.Internal,
		},
		{"an unknown kind", []byte{1, 0, 9}, "kind of item", status.Internal},
		{"a command cut off", []byte{1, 0, 2, 5, 'a'}, "command", status.Internal},
		{
			"a command of 2^63 bytes",
			[]byte{1, 0, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1},
			"command",
			status.Internal,
		},
		{"unknown flags", run(func(b []byte) { b[4] = 4 }), "flags", status.Internal},
		{"no message", run(func(b []byte) { b[7] = 0 }), "count", status.Internal},
		{"more messages than bytes for them", run(func(b []byte) { b[7] = 2 }), "messages", status.Internal},
		{
			"a cleaned run that had fewer bytes than messages",
			[]byte{1, 0, 1, 1, 1, 0, 0, 2, 3},
			"messages",
			status.Internal,
		},
		{"messages cut off", run(func(b []byte) { b[8] = 3 }), "messages", status.Internal},
	} {
		_, items, err := parse(c.data)
		if err == nil || status.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) || items != nil {
			t.Errorf("%s: %v and %d items, want %v that says %q", c.name, err, len(items), c.code, c.says)
		}
	}
	// The items before the fault are whole, and it is reported last.
	data := append(record.AppendCommand(record.AppendEntry(nil, 1), []byte("first")), 9)
	if _, items, err := parse(data); err == nil || len(items) != 1 || string(items[0].Command) != "first" {
		t.Errorf("%v %v", items, err)
	}
}

// A run that is cleaned, whole as Parse read it or later, says what it had.
func TestClean(t *testing.T) {
	t.Parallel()
	whole := record.Item{Run: record.Run{
		Topic: 3, Producer: 4, Sequence: 5, Count: 2,
		Messages: []byte{0x12, 0, 0x12, 0},
	}}
	_, items, err := parse(write(1, []record.Item{whole}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // cleaning twice is cleaning once
		items[0].Run.Cleaned = true
		if _, items, err = parse(write(1, items)); err != nil {
			t.Fatal(err)
		}
		want := record.Run{Topic: 3, Producer: 4, Sequence: 5, Count: 2, Cleaned: true, Size: 4, At: items[0].Run.At}
		if !reflect.DeepEqual(items[0].Run, want) {
			t.Fatalf("%+v, want %+v", items[0].Run, want)
		}
	}
}

// A caller that stops listening is not notified any more.
func TestParseStops(t *testing.T) {
	t.Parallel()
	data := append(record.AppendCommand(record.AppendEntry(nil, 1), nil), 9)
	_, items, err := record.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for item, err := range items {
		if err != nil || item.Command == nil {
			t.Fatalf("%+v %v", item, err)
		}
		break
	}
}

// Whatever Parse lets pass is written back to an entry that reads the same, and
// nothing makes it panic or read outside the entry.
func FuzzParse(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(write(math.MaxInt64, []record.Item{
		{Command: []byte("c")},
		{Run: record.Run{Topic: 1, Count: 2, Messages: []byte{0x12, 0, 0x12, 0}}},
		{Run: record.Run{Topic: 2, Count: 2, Size: 4, Cleaned: true}},
	}))
	f.Add([]byte{1, 0, 2, 5, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		time, items, err := parse(data)
		for _, item := range items {
			if m := item.Run.Messages; len(m) > 0 && &data[item.Run.At] != &m[0] {
				t.Fatal("At is not where the messages are")
			}
		}
		if err != nil || len(data) == 0 {
			return
		}
		again := write(time, items)
		if len(again) > len(data) {
			t.Fatalf("written again it is longer: %x became %x", data, again)
		}
		time2, items2, err := parse(again)
		if err != nil || time2 != time || len(items2) != len(items) {
			t.Fatalf("written again it reads otherwise: %v", err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	messages := bytes.Repeat(append([]byte{0x12, 102, 0x0a, 100}, make([]byte, 100)...), 100)
	data := record.AppendEntry(nil, 1)
	for range 100 {
		data = record.AppendRun(data, record.Run{Topic: 1, Count: 100, Messages: messages})
	}
	b.ReportAllocs()
	for b.Loop() {
		_, items, _ := record.Parse(data)
		for range items {
		}
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "messages/s")
}
