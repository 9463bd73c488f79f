package avro_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"wirelab"
	"wirelab/wire/avro"
)

// parse parses schemas that the test knows to be right.
func parse(t testing.TB, texts ...string) *avro.Schema {
	t.Helper()
	s, err := avro.Parse(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newCodec[T any](t testing.TB, schema *avro.Schema, writers ...*avro.Schema) *avro.Codec[T] {
	t.Helper()
	c, err := avro.New[T](avro.Limits{}, schema, writers...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// leafText and treeText have every kind; the second refers to the first, and to itself.
const leafText = `{"type": "record", "name": "Leaf", "namespace": "test", "fields": [
	{"name": "yes", "type": "boolean"}, {"name": "small", "type": "int"}, {"name": "large", "type": "long"},
	{"name": "single", "type": "float"}, {"name": "double", "type": "double"},
	{"name": "raw", "type": "bytes"}, {"name": "text", "type": "string"},
	{"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 4}},
	{"name": "suit", "type": {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]}}]}`

const treeText = `{"type": "record", "name": "Tree", "namespace": "test", "fields": [
	{"name": "leaves", "type": {"type": "array", "items": "Leaf"}},
	{"name": "names", "type": {"type": "map", "values": "long"}},
	{"name": "best", "type": ["null", "Leaf"], "default": null},
	{"name": "below", "type": ["Tree", "null"]}]}`

type (
	leaf struct {
		Yes    bool
		Small  int32
		Large  int64
		Single float32
		Double float64
		Raw    []byte
		Text   string
		Digest [4]byte
		Suit   string
	}
	tree struct {
		Leaves []leaf
		Names  map[string]int64
		Best   *leaf
		Below  *tree
	}
)

func treeCodec(t testing.TB) *avro.Codec[tree] {
	return newCodec[tree](t, parse(t, leafText, treeText))
}

// appendLong is the other reading of the encoding: zigzag, then seven bits a byte.
func appendLong(dst []byte, n int64) []byte {
	return binary.AppendVarint(dst, n)
}

func appendText(dst []byte, s string) []byte {
	return append(appendLong(dst, int64(len(s))), s...)
}

func (l *leaf) append(dst []byte) []byte {
	if l.Yes {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	dst = appendLong(appendLong(dst, int64(l.Small)), l.Large)
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(l.Single))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.Double))
	dst = appendText(appendText(dst, string(l.Raw)), l.Text)
	dst = append(dst, l.Digest[:]...)
	return appendLong(dst, int64(strings.Index("SH", l.Suit[:1])))
}

// append writes the tree by hand; names has at most one entry, since a map has no order.
func (v *tree) append(dst []byte) []byte {
	if len(v.Leaves) > 0 {
		dst = appendLong(dst, int64(len(v.Leaves)))
		for i := range v.Leaves {
			dst = v.Leaves[i].append(dst)
		}
	}
	dst = append(dst, 0)
	for name, n := range v.Names {
		dst = appendLong(appendText(appendLong(dst, 1), name), n)
	}
	dst = append(dst, 0)
	if v.Best != nil {
		dst = v.Best.append(append(dst, 2))
	} else {
		dst = append(dst, 0)
	}
	if v.Below != nil {
		return v.Below.append(append(dst, 0))
	}
	return append(dst, 2)
}

func drawLeaf(r *rand.Rand) leaf {
	texts := []string{"", "a", "Ælfrīc", "𝄞\x00", strings.Repeat("long ", 40)}
	numbers := []int64{0, -1, 1, 63, 64, -64, -65, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64}
	n := numbers[r.IntN(len(numbers))]
	return leaf{
		Yes: r.IntN(2) == 0, Small: int32(n), Large: n, Single: float32(r.NormFloat64()), Double: r.NormFloat64(),
		Raw: []byte(texts[r.IntN(len(texts))] + "\xff"), Text: texts[r.IntN(len(texts))],
		Digest: [4]byte{byte(r.Uint32())}, Suit: []string{"SPADES", "HEARTS"}[r.IntN(2)],
	}
}

func drawTree(r *rand.Rand, depth int) tree {
	v := tree{Leaves: []leaf{}, Names: map[string]int64{}}
	for range r.IntN(4) {
		v.Leaves = append(v.Leaves, drawLeaf(r))
	}
	if r.IntN(2) == 0 {
		v.Names["näme"] = r.Int64()
	}
	if r.IntN(2) == 0 {
		l := drawLeaf(r)
		v.Best = &l
	}
	if depth > 0 && r.IntN(3) > 0 {
		below := drawTree(r, depth-1)
		v.Below = &below
	}
	return v
}

// Written data is what the encoding's description says, and reads back.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	codec := treeCodec(t)
	for seed := range uint64(500) {
		want := drawTree(rand.New(rand.NewPCG(seed, 1)), 5)
		message, err := codec.Encode(&want)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		header := binary.LittleEndian.AppendUint64([]byte{0xC3, 1}, codec.Schema().Fingerprint())
		if byHand := want.append(header); string(byHand) != string(message) {
			t.Fatalf("seed %d: written\n%x\nby hand\n%x", seed, message, byHand)
		}
		got, err := codec.Decode(message)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: read\n%+v\nwant\n%+v", seed, got, want)
		}
	}
}

// The canonical form and its fingerprint are those of the specification, so
// that readers of other languages know our messages.
func TestFingerprintIsTheSpecifications(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, canonical string
	}{
		{`"int"`, `"int"`},
		{`{"type": "string", "doc": "x"}`, `"string"`},
		{
			`{"doc": "x", "namespace": "a.b", "fields": [{"default": 1, "type": {"type": "int"}, "name": "f"}], "type": "record", "name": "R", "aliases": ["S"]}`,
			`{"name":"a.b.R","type":"record","fields":[{"name":"f","type":"int"}]}`,
		},
	} {
		s := parse(t, c.text)
		if s.Canonical() != c.canonical {
			t.Errorf("%s: canonical form %s, want %s", c.text, s.Canonical(), c.canonical)
		}
		// The algorithm bit by bit, as the specification gives it.
		const empty = 0xc15d213aa4d7a795
		fp := uint64(empty)
		for _, b := range []byte(c.canonical) {
			fp ^= uint64(b)
			for range 8 {
				fp = fp>>1 ^ empty&-(fp&1)
			}
		}
		if s.Fingerprint() != fp {
			t.Errorf("%s: fingerprint %x, want %x", c.text, s.Fingerprint(), fp)
		}
	}
	// Known from other implementations of the specification.
	if got := parse(t, `"int"`).Fingerprint(); got != 0x7275d51a3f395c8f {
		t.Errorf(`"int" has the fingerprint %x`, got)
	}
}

func record(fields string) string {
	return `{"type": "record", "name": "Point", "namespace": "test", "fields": [` + fields + `]}`
}

// Both sides of a change of schema read each other, where the change allows.
func TestResolution(t *testing.T) {
	t.Parallel()
	type older struct {
		Name  string
		Count int32
	}
	type newer struct {
		Count int64
		Name  string
		Unit  string
		Near  *string
	}
	before := parse(t, record(`{"name": "name", "type": "string"}, {"name": "count", "type": "int"}`))
	after := parse(t, record(`{"name": "count", "type": "long"}, {"name": "name", "type": "string"},
		{"name": "unit", "type": "string", "default": "m"}, {"name": "near", "type": ["null", "string"], "default": null}`))
	narrow := parse(t,
		record(`{"name": "count", "type": "int"}, {"name": "name", "type": "string"}, {"name": "unit", "type": "string"}`))

	reader := newCodec[newer](t, after, before)
	message, err := newCodec[older](t, before).Encode(&older{Name: "a", Count: -3})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := reader.Decode(message); err != nil || got != (newer{Name: "a", Count: -3, Unit: "m"}) {
		t.Errorf("an added field: %+v, %v", got, err)
	}
	type mid struct {
		Count      int32
		Name, Unit string
	}
	if message, err = newCodec[mid](t, narrow).Encode(&mid{Count: 5, Name: "b", Unit: "s"}); err != nil {
		t.Fatal(err)
	}
	if got, err := newCodec[older](t, before, after0(t), narrow).Decode(message); err != nil ||
		got != (older{Name: "b", Count: 5}) {
		t.Errorf("a removed field: %+v, %v", got, err)
	}
	// The reader that does not know the newer writer says which it knows.
	_, err = newCodec[older](t, before).Decode(message)
	if wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), before.String()) ||
		!strings.Contains(err.Error(), fmt.Sprintf("%016x", narrow.Fingerprint())) {
		t.Errorf("an unknown writer: %v", err)
	}
}

// after0 is a writer that is in the list and writes nothing here.
func after0(t *testing.T) *avro.Schema {
	return parse(t,
		record(`{"name": "name", "type": "string"}, {"name": "count", "type": "int"}, {"name": "x", "type": "bytes"}`))
}

// What does not fit is found when the codec is made.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	type pair struct {
		A string
		B int32
	}
	good := record(`{"name": "a", "type": "string"}, {"name": "b", "type": "int"}`)
	for _, c := range []struct {
		name, schema, writer, says string
	}{
		{"added without default", good, record(`{"name": "a", "type": "string"}`), "cannot be read as"},
		{
			"other type", good, record(`{"name": "a", "type": "string"}, {"name": "b", "type": "string"}`),
			"cannot be read as",
		},
		{
			"narrowed", good, record(`{"name": "a", "type": "string"}, {"name": "b", "type": "long"}`),
			"cannot be read as",
		},
		{"other record", good, strings.Replace(good, "Point", "Line", 1), "cannot be read as"},
		{
			"field only in the schema", record(`{"name": "a", "type": "string"}, {"name": "c", "type": "int"}`), "",
			"test.Point",
		},
		{"field only in Go", record(`{"name": "a", "type": "string"}`), "", "1 fields in the schema"},
		{
			"long for int32", record(`{"name": "a", "type": "string"}, {"name": "b", "type": "long"}`), "",
			"is long in the schema",
		},
		{
			"string for int32", record(`{"name": "a", "type": "string"}, {"name": "b", "type": "string"}`), "",
			"is string in the schema",
		},
		{
			"union for a value", record(`{"name": "a", "type": ["null", "string"]}, {"name": "b", "type": "int"}`), "",
			"union",
		},
		{"no record", `"string"`, "", "is string in the schema"},
	} {
		var writers []*avro.Schema
		if c.writer != "" {
			writers = append(writers, parse(t, c.writer))
		}
		_, err := avro.New[pair](avro.Limits{}, parse(t, c.schema), writers...)
		switch {
		case err == nil:
			t.Errorf("%s: no error", c.name)
		case wirelab.CodeOf(err) != wirelab.InvalidArgument || c.writer != "" && !strings.Contains(err.Error(), c.says):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, text := range []string{
		"", "{", `"strong"`, `{"type": "record", "name": "R"}`, `{"type": "array", "items": "R"}`,
	} {
		if _, err := avro.Parse(text); err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("schema %q: %v", text, err)
		}
	}
	if _, err := avro.Parse(); err == nil {
		t.Error("no schema at all is one")
	}
}

// A bare message is the value alone. Nothing tells who wrote it, and whatever is no value is refused with the
// place in the bytes that came.
func TestBare(t *testing.T) {
	t.Parallel()
	type id struct{ ID string }
	codec := newCodec[id](t, parse(t, `{"type": "record", "name": "Id", "fields": [{"name": "id", "type": "string"}]}`))
	message, err := codec.AppendBare([]byte("before"), &id{ID: "1"})
	if err != nil || string(message) != "before\x021" {
		t.Fatalf("%q, %v", message, err)
	}
	if v, err := codec.DecodeBare([]byte("\x021")); err != nil || v.ID != "1" {
		t.Errorf("%+v, %v", v, err)
	}
	for bytes, says := range map[string]string{
		"":          "the message ends within a number, after 0 bytes",
		"\x041":     "the message ends within a text or bytes of length 2, after 2 bytes",
		"\x021\x00": "1 bytes follow the end",
		"\x02\xff":  "not valid UTF-8",
	} {
		_, err := codec.DecodeBare([]byte(bytes))
		if wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", bytes, err, says)
		}
	}
	if message, err := codec.AppendBare([]byte("before"), &id{ID: "\xff"}); err == nil || string(message) != "before" {
		t.Errorf("text that is not UTF-8: %q, %v", message, err)
	}
}
