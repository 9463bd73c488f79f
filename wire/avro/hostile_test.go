package avro_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"wirelab"
	"wirelab/wire/avro"
)

const listText = `{"type": "record", "name": "List", "namespace": "test", "fields": [
	{"name": "texts", "type": {"type": "array", "items": "string"}},
	{"name": "nothings", "type": {"type": "array", "items": {"type": "record", "name": "Nothing", "fields": []}}},
	{"name": "map", "type": {"type": "map", "values": "int"}}]}`

type list struct {
	Texts    []string
	Nothings []struct{}
	Map      map[string]int32
}

// long is the number's bytes.
func long(n int64) string { return string(binary.AppendVarint(nil, n)) }

// Bytes that no one sent on purpose are refused with the fault, and cost no memory.
func TestHostile(t *testing.T) { // not parallel: it counts allocations
	schema := parse(t, listText)
	codec, err := avro.New[list](avro.Limits{Message: 1000, Items: 50}, schema)
	if err != nil {
		t.Fatal(err)
	}
	head := string(binary.LittleEndian.AppendUint64([]byte{0xC3, 1}, schema.Fingerprint()))
	const rest = "\x00\x00" // no nothings, no map
	for _, c := range []struct {
		name, message string
		code          wirelab.Code
		says          string
	}{
		{"empty", "", wirelab.InvalidArgument, "within its header"},
		{"half a marker", "\xC3", wirelab.InvalidArgument, "within its header"},
		{"half a header", head[:9], wirelab.InvalidArgument, "within its header"},
		{"no marker", "{}" + head, wirelab.InvalidArgument, "not with the marker"},
		{"another version", "\xC3\x02" + head[2:] + "\x00\x00\x00", wirelab.InvalidArgument, "not with the marker"},
		{
			"unknown writer", head[:2] + "\x00\x01\x02\x03\x04\x05\x06\x07" + "\x00\x00\x00", wirelab.InvalidArgument,
			"0706050403020100, which is not known; known: test.List ",
		},
		{"no body", head, wirelab.InvalidArgument, "texts: the message ends within a number, after 10 bytes"},
		{"half a body", head + "\x00\x00", wirelab.InvalidArgument, "map: the message ends within a number"},
		{
			"a billion texts", head + long(1e9) + "\x00\x00\x00", wirelab.InvalidArgument,
			"texts: a block says that it has " +
				"1000000000 items, in the 3 bytes that are left",
		},
		{
			"a billion texts with a size", head + long(-1e9) + long(2) + "\x00\x00\x00", wirelab.InvalidArgument,
			"1000000000 items",
		},
		{
			"a billion nothings", head + "\x00" + long(1e9) + "\x00\x00", wirelab.ResourceExhausted,
			"nothings: a block says " +
				"that it has 1000000000 items, more than the 50",
		},
		{
			"nothings in many blocks", head + "\x00" + strings.Repeat(long(20), 3) + "\x00\x00",
			wirelab.ResourceExhausted,
			"more than the 10 ",
		},
		{"a billion entries", head + "\x00\x00" + long(1e9) + "\x00", wirelab.InvalidArgument, "map: a block says"},
		{"the most items", head + long(math.MaxInt64) + rest, wirelab.InvalidArgument, "items"},
		{
			"the least items", head + long(math.MinInt64) + long(1) + rest, wirelab.InvalidArgument,
			"9223372036854775808 items",
		},
		{
			"more items than allowed", head + long(51) + strings.Repeat("\x00", 51) + "\x00" + rest,
			wirelab.ResourceExhausted, "51 items",
		},
		{
			"a block too long", head + long(-1) + long(9) + "\x00\x00" + rest, wirelab.InvalidArgument,
			"says that it has 9 bytes",
		},
		{
			"a block of negative size", head + long(-1) + long(-9) + "\x00\x00" + rest, wirelab.InvalidArgument,
			"-9 bytes",
		},
		{
			"a block that ends elsewhere", head + long(-1) + long(2) + "\x00\x00" + rest, wirelab.InvalidArgument,
			"1 bytes from where it does",
		},
		{
			"a text of negative length", head + long(1) + long(-5) + "\x00" + rest, wirelab.InvalidArgument,
			"texts[0]: a length of -5",
		},
		{
			"a text that is longer than all", head + long(1) + long(math.MaxInt64) + "abc", wirelab.InvalidArgument,
			"within a text",
		},
		{
			"a text that is no UTF-8", head + long(2) + "\x02a\x04a\xff\x00" + rest, wirelab.InvalidArgument,
			"texts[1]: text is not valid UTF-8",
		},
		{
			"a key that is no UTF-8", head + "\x00\x00" + long(1) + "\x02\xff\x00\x00", wirelab.InvalidArgument,
			"map[0]: text is not valid UTF-8",
		},
		{"a number without an end", head + strings.Repeat("\xff", 20), wirelab.InvalidArgument, "too many bits"},
		{"a number of 65 bits", head + strings.Repeat("\xff", 9) + "\x02", wirelab.InvalidArgument, "too many bits"},
		{
			"an int of 33 bits", head + "\x00\x00" + long(1) + "\x02k" + long(1<<32) + "\x00", wirelab.InvalidArgument,
			"too many bits",
		},
		{"bytes after the end", head + "\x00\x00\x00" + "\x00", wirelab.InvalidArgument, "1 bytes follow the end"},
		{
			"too large", head + long(1) + long(2000) + strings.Repeat("x", 2000) + "\x00" + rest,
			wirelab.ResourceExhausted,
			"a message of 2016 bytes, more than 1000",
		},
	} {
		got, err := codec.Decode([]byte(c.message))
		if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.code, c.says)
		}
		if !reflect.DeepEqual(got, list{}) {
			t.Errorf("%s: a value with the error: %+v", c.name, got)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = codec.Decode([]byte(c.message))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<10 {
			t.Errorf("%s: %d bytes allocated", c.name, n)
		}
	}
	// Blocks with their sizes, which other writers use, are read.
	got, err := codec.Decode([]byte(head + long(-1) + long(2) + "\x02a" + long(1) + "\x02b" + "\x00" + long(3) +
		"\x00" + "\x00"))
	if err != nil || !reflect.DeepEqual(got, list{
		Texts: []string{"a", "b"}, Nothings: make([]struct{}, 3), Map: map[string]int32{},
	}) {
		t.Errorf("blocks with sizes: %+v, %v", got, err)
	}
}

// Nothing that cannot be read is written.
func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	codec, err := avro.New[list](avro.Limits{Message: 1000, Items: 50}, parse(t, listText))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		value *list
		code  wirelab.Code
	}{
		{"no UTF-8", &list{Texts: []string{"a\xff"}}, wirelab.InvalidArgument},
		{"too large", &list{Texts: []string{strings.Repeat("x", 1001)}}, wirelab.ResourceExhausted},
		{"too many", &list{Texts: make([]string, 51)}, wirelab.ResourceExhausted},
		{"no value", nil, wirelab.InvalidArgument},
	} {
		before := []byte("before")
		got, err := codec.Append(before, c.value)
		if err == nil || wirelab.CodeOf(err) != c.code || !bytes.Equal(got, before) {
			t.Errorf("%s: %q, %v; want %v", c.name, got, err, c.code)
		}
	}
	leaves := newCodec[leaf](t, parse(t, leafText))
	if _, err := leaves.Encode(&leaf{Suit: "STARS"}); err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("a symbol that is none: %v", err)
	}
}

// Depth is bounded both ways, by us and not by the stack.
func TestDepth(t *testing.T) {
	t.Parallel()
	codec := treeCodec(t)
	deep := func(depth int) *tree {
		var v *tree
		for range depth {
			v = &tree{Leaves: []leaf{}, Names: map[string]int64{}, Below: v}
		}
		return v
	}
	const most = avro.DefaultDepth / 2 // a record and the union in it for each
	message, err := codec.Encode(deep(most))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := codec.Decode(message); err != nil || !reflect.DeepEqual(&got, deep(most)) {
		t.Errorf("as deep as allowed: %v", err)
	}
	if _, err := codec.Encode(deep(most + 1)); err == nil || wirelab.CodeOf(err) != wirelab.ResourceExhausted {
		t.Errorf("deeper: %v", err)
	}
	endless := string(message[:10]) + strings.Repeat("\x00", 1<<20)
	if _, err := codec.Decode([]byte(endless)); err == nil || wirelab.CodeOf(err) != wirelab.ResourceExhausted {
		t.Errorf("without an end: %v", err)
	}
	loop := &tree{}
	loop.Below = loop
	if _, err := codec.Encode(loop); err == nil {
		t.Error("a value that contains itself was written")
	}
}

// Text stays text where a writer called it bytes, and a removed field is
// looked at as much as the others.
func TestResolutionIsBounded(t *testing.T) {
	t.Parallel()
	type named struct{ Name string }
	blind := parse(t,
		record(`{"name": "name", "type": "bytes"}, {"name": "gone", "type": {"type": "array", "items": "null"}}`))
	codec := newCodec[named](t, parse(t, record(`{"name": "name", "type": "string"}`)), blind)
	head := string(binary.LittleEndian.AppendUint64([]byte{0xC3, 1}, blind.Fingerprint()))
	if got, err := codec.Decode([]byte(head + "\x02a\x00")); err != nil || got.Name != "a" {
		t.Errorf("bytes as text: %+v, %v", got, err)
	}
	for _, body := range []string{
		"\x02\xff\x00", "\x02a" + long(1e12) + "\x00",
		"\x02a" + long(-3) + long(50) + "\x00",
	} {
		if _, err := codec.Decode([]byte(head + body)); err == nil {
			t.Errorf("%q was read", body)
		}
	}
}

// FuzzDecode: whatever the bytes, there is a value or one of two codes, and a
// value's own message reads as the same value.
func FuzzDecode(f *testing.F) {
	schema := parse(f, leafText, treeText)
	older := parse(f, strings.Replace(leafText, `{"name": "yes", "type": "boolean"}, `,
		`{"name": "gone", "type": {"type": "map", "values": "bytes"}}, {"name": "yes", "type": "boolean"}, `, 1),
		treeText)
	codec := newCodec[tree](f, schema, older)
	for seed := range uint64(8) {
		v := drawTree(rand.New(rand.NewPCG(seed, 2)), 3)
		message, err := codec.Encode(&v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(false, message[10:])
		f.Add(true, message[10:])
	}
	f.Fuzz(func(t *testing.T, old bool, body []byte) {
		by := schema
		if old {
			by = older
		}
		message := append(binary.LittleEndian.AppendUint64([]byte{0xC3, 1}, by.Fingerprint()), body...)
		v, err := codec.Decode(message)
		if err != nil {
			var coded *wirelab.Error
			if !errors.As(err, &coded) ||
				coded.Code != wirelab.InvalidArgument && coded.Code != wirelab.ResourceExhausted {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := codec.Encode(&v)
		if err != nil {
			t.Fatalf("%+v was read, and cannot be written: %v", v, err)
		}
		back, err := codec.Decode(again)
		if err != nil {
			t.Fatalf("%+v was written, and cannot be read: %v", v, err)
		}
		final, err := codec.Encode(&back)
		if err != nil || len(again) != len(final) { // a map has no order, and a NaN no equal
			t.Fatalf("%x, and again %x: %v", again, final, err)
		}
	})
}
