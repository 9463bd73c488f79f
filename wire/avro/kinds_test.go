package avro_test

import (
	"strings"
	"testing"

	"wirelab"
	"wirelab/wire/avro"
)

// Each kind has bytes that are none of its.
func TestKinds(t *testing.T) {
	t.Parallel()
	codec := newCodec[leaf](t, parse(t, leafText))
	message, err := codec.Encode(&leaf{Suit: "SPADES"})
	if err != nil {
		t.Fatal(err)
	}
	head := string(message[:10])
	numbers := "\x00\x00" + strings.Repeat("\x00", 12)
	for _, c := range []struct{ name, body, says string }{
		{"a boolean of two", "\x02" + numbers + "\x00\x00" + "abcd" + "\x00", "yes: boolean 2 is neither"},
		{"a symbol that is none", "\x01" + numbers + "\x00\x00" + "abcd" + "\x04", "suit: symbol 2 of 2"},
		{"a symbol below none", "\x01" + numbers + "\x00\x00" + "abcd" + "\x01", "suit: symbol -1 of 2"},
		{"half a fixed", "\x01" + numbers + "\x00\x00" + "ab", "digest: the message ends within a fixed value"},
		{"half a double", "\x01\x00\x00" + "1234" + "123", "double: the message ends within a double"},
		{"half a float", "\x01\x00\x00" + "123", "single: the message ends within a float"},
		{"no boolean", "", "yes: the message ends within a boolean"},
	} {
		if _, err := codec.Decode([]byte(head + c.body)); err == nil ||
			wirelab.CodeOf(err) != wirelab.InvalidArgument ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	if got, err := codec.Decode([]byte(head + "\x01" + numbers + "\x02\xff\x02a" + "abcd" + "\x02")); err != nil ||
		got.Suit != "HEARTS" || got.Text != "a" || string(got.Raw) != "\xff" {
		t.Errorf("right input: %+v, %v", got, err)
	}
}

// newRefusal returns what New says of T and a schema.
func newRefusal[T any](t *testing.T, text string) string {
	t.Helper()
	_, err := avro.New[T](avro.Limits{}, parse(t, text))
	if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("%s: %v", text, err)
		return ""
	}
	return err.Error()
}

// Kinds of Go's that do not hold what the schema says are found when the codec is made, and so is what this
// package leaves out.
func TestNewRefusesKinds(t *testing.T) {
	t.Parallel()
	type field struct{ F [4]byte }
	if got := newRefusal[field](t,
		record(`{"name": "f", "type": {"type": "fixed", "name": "F", "size": 5}}`)); !strings.Contains(got,
		"has 5 bytes in the schema") {
		t.Errorf("fixed of another size: %s", got)
	}
	type numbers struct{ F []int32 }
	if got := newRefusal[numbers](t, record(`{"name": "f", "type": "bytes"}`)); !strings.Contains(got,
		"is bytes in the schema") {
		t.Errorf("bytes as numbers: %s", got)
	}
	if got := newRefusal[numbers](t,
		record(`{"name": "f", "type": {"type": "array", "items": "string"}}`)); !strings.Contains(got, "F") &&
		!strings.Contains(got, "f[] is string") {
		t.Errorf("items of another kind: %s", got)
	}
	type keyed struct{ F map[int32]string }
	if got := newRefusal[keyed](t,
		record(`{"name": "f", "type": {"type": "map", "values": "string"}}`)); !strings.Contains(got,
		"is a map in the schema") {
		t.Errorf("a map by number: %s", got)
	}
	type twice struct{ Name, NAME string }
	if got := newRefusal[twice](t,
		record(`{"name": "name", "type": "string"}, {"name": "x", "type": "string"}`)); !strings.Contains(got,
		"2 fields of that name") {
		t.Errorf("a name that two fields have: %s", got)
	}
	type one struct{ X int32 }
	type other struct{ x int32 } //nolint:unused // hidden, which is the point
	type both struct {
		A one
		B other
	}
	const point = `{"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}`
	if got := newRefusal[both](t, record(`{"name": "a", "type": `+point+
		`}, {"name": "b", "type": "P"}`)); !strings.Contains(got, "0 fields of that name") {
		t.Errorf("a field that is hidden: %s", got)
	}
	type One struct{ Ab int32 }
	type Other struct{ AB int32 }
	type Both struct {
		A One
		B Other
	}
	const pair = `{"type": "record", "name": "P", "fields": [{"name": "ab", "type": "int"}]}`
	if got := newRefusal[Both](t, record(`{"name": "a", "type": `+pair+
		`}, {"name": "b", "type": "P"}`)); !strings.Contains(got, "one record, one name") {
		t.Errorf("a record under two names: %s", got)
	}
	type defaulted struct{ A struct{ X int32 } }
	if got := newRefusal[defaulted](t, record(`{"name": "a", "type": `+point+
		`, "default": {"x": 1}}`)); !strings.Contains(got, "a default of record type is not supported") {
		t.Errorf("a default of record type: %s", got)
	}
}

// A count is refused by the bytes that are left only where items take some: a
// record of nothing but fixed values takes theirs, one of null and nothing none.
func TestZeroSize(t *testing.T) {
	t.Parallel()
	type item struct{ F [2]byte }
	type items struct{ A []item }
	codec := newCodec[items](t,
		parse(t, record(`{"name": "a", "type": {"type": "array", "items": {"type": "record", "name": "I", "fields":
		[{"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}}]}}}`)))
	message, err := codec.Encode(&items{A: make([]item, 3)})
	if err != nil {
		t.Fatal(err)
	}
	lie := []byte(string(message[:10]) + long(100) + "\x00\x00\x00")
	if _, err := codec.Decode(lie); err == nil || !strings.Contains(err.Error(), "100 items, in the 3 bytes "+
		"that are left") {
		t.Errorf("items of two bytes: %v", err)
	}
	type nothings struct{ A []struct{ F [0]byte } }
	empty := newCodec[nothings](t,
		parse(t, record(`{"name": "a", "type": {"type": "array", "items": {"type": "record", "name": "I", "fields":
		[{"name": "f", "type": {"type": "fixed", "name": "F", "size": 0}}]}}}`)))
	if message, err = empty.Encode(&nothings{A: make([]struct{ F [0]byte }, 100)}); err != nil {
		t.Fatal(err)
	}
	if got, err := empty.Decode(message); err != nil || len(got.A) != 100 {
		t.Errorf("a hundred items of no size: %d, %v", len(got.A), err)
	}
}
