package grpcschema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"wirelab"
	"wirelab/workload/external/grpcschema"
)

const cart = "testdata/protos/shop/v1/cart.proto"

func compiled(t testing.TB) *grpcschema.Schema {
	t.Helper()
	s, err := grpcschema.Compile(context.Background(), []string{cart}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func find(t testing.TB, s *grpcschema.Schema, name string) *grpcschema.Method {
	t.Helper()
	m, err := s.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantError asks for an error of a code that says something.
func wantError(t testing.TB, err error, code wirelab.Code, say ...string) {
	t.Helper()
	var coded *wirelab.Error
	if !errors.As(err, &coded) || coded.Code != code {
		t.Errorf("%v, want %v", err, code)
		return
	}
	for _, text := range say {
		if !strings.Contains(coded.Message, text) {
			t.Errorf("%s; it does not say %q", coded.Message, text)
		}
	}
}

func TestServices(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	var got []string
	for _, service := range s.Services() {
		for _, m := range service.Methods {
			got = append(got, m.Name()+" "+string(m.Kind())+" "+m.Request()+" "+m.Reply())
		}
	}
	want := []string{
		"shop.v1.Cart/AddItem unary shop.v1.Item shop.v1.Receipt",
		"shop.v1.Cart/List server stream google.protobuf.Empty shop.v1.Item",
		"shop.v1.Cart/Fill client stream shop.v1.Item shop.v1.Receipt",
		"shop.v1.Cart/Talk bidirectional stream shop.v1.Item shop.v1.Receipt",
		"shop.v1.Cart/Count unary google.protobuf.Empty google.protobuf.Int64Value",
		"shop.v1.Store/List unary google.protobuf.StringValue shop.v1.Receipt",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if len(s.Methods()) != len(want) || len(s.Broken()) != 0 {
		t.Errorf("%d methods, broken %v", len(s.Methods()), s.Broken())
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, name := range []string{
		"shop.v1.Cart/AddItem", "/shop.v1.Cart/AddItem", "shop.v1.Cart.AddItem", "Cart/AddItem", "Cart.AddItem",
		"v1.Cart/AddItem", "AddItem",
	} {
		if m := find(t, s, name); m.Path != "/shop.v1.Cart/AddItem" {
			t.Errorf("%s is %s", name, m.Path)
		}
	}
	for name, say := range map[string][]string{
		"List":                 {"2 methods", "shop.v1.Cart/List", "shop.v1.Store/List"},
		"AddItme":              {"did you mean", "AddItem"},
		"shop.v1.Cart/AddIten": {"did you mean", "shop.v1.Cart/AddItem"},
		"":                     {"shop.v1.Cart/"},
		"/":                    {"shop.v1.Cart/"},
		"dItem":                {"AddItem"},
	} {
		_, err := s.Find(name)
		wantError(t, err, wirelab.InvalidArgument, say...)
	}
}

// A request in JSON and its bytes, both ways.
func TestEncode(t *testing.T) {
	t.Parallel()
	m := find(t, compiled(t), "AddItem")
	text := `{"sku":"a1","qty":2,"kind":"KIND_BOOK","parts":[{"sku":"b"}],"prices":{"eur":{"units":"9007199254740993"}},
		"made_at":"2026-01-02T03:04:05Z","label":"AAEC","gift":false,"extra":{"a":[1,null]},
		"more":{"@type":"type.googleapis.com/shop.v1.Money","currency":"X"},"seen":{"-1":true}}`
	wire, err := m.Encode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got := decoded(t, "Cart/List", wire); !strings.Contains(got, `"units":"9007199254740993"`) ||
		!strings.Contains(got, `"gift":false`) || !strings.Contains(got, `"currency":"X"`) {
		t.Error(got)
	}
	for range 20 {
		again, err := m.Encode([]byte(text))
		if err != nil || !bytes.Equal(again, wire) {
			t.Fatalf("%x, %v, want %x", again, err, wire)
		}
	}
	for text, want := range map[string]string{"": "", "\n": "", "{}": "", `{"sku":"é"}`: "\n\x02é"} {
		if wire, err := m.Encode([]byte(text)); err != nil || string(wire) != want {
			t.Errorf("%q: %q, %v", text, wire, err)
		}
	}
	if wire, err := find(t, compiled(t), "Store/List").Encode([]byte(`"x"`)); err != nil || string(wire) != "\n\x01x" {
		t.Errorf("%q, %v", wire, err)
	}
	if wire, err := find(t, compiled(t), "Store/List").Encode(nil); err != nil || len(wire) != 0 {
		t.Errorf("%q, %v", wire, err)
	}
}

func decoded(t testing.TB, method string, wire []byte) string {
	t.Helper()
	got, err := find(t, compiled(t), method).Decode(wire)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// TestEncodeErrors checks that the error of a wrong request names the field and a correction.
func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	m := find(t, compiled(t), "AddItem")
	for text, say := range map[string][]string{
		`{"skuu":"a"}`:                      {"shop.v1.Cart/AddItem", `"skuu"`, "did you mean sku"},
		`{"parts":[{},{"quty":1}]}`:         {`"parts[1].quty"`, "did you mean qty"},
		`{"qty":"x"}`:                       {`qty is the text "x"`, "a whole number (int32)"},
		`{"qty":1.5}`:                       {"qty is the number 1.5", "int32"},
		`{"qty":4294967296}`:                {"qty is the number 4294967296", "int32"},
		`{"number":-1}`:                     {"number is the number -1", "at least 0"},
		`{"kind":"BOOK"}`:                   {"BOOK", "did you mean KIND_BOOK"},
		`{"parts":{}}`:                      {"parts is an object", "an array"},
		`{"prices":[]}`:                     {"prices is an array", "a map"},
		`{"prices":{"eur":{"units":true}}}`: {"prices.eur.units is true", "int64"},
		`{"ribbon":"x"}`:                    {"ribbon is the text", "shop.v1.Money"},
		`{"gift":"true"}`:                   {"gift is the text", "true or false"},
		`{"label":7}`:                       {"label is the number 7", "base64"},
		`{"weight":"heavy"}`:                {"weight is the text", "a number (double)"},
		`[]`:                                {"the request is an array", "shop.v1.Item"},
		`"x"`:                               {"the request is the text"},
		`{"sku":`:                           {"no JSON"},
		`{"sku":"a"} {}`:                    {"unexpected token"},
		`{"sku":"a","sku":"b"}`:             {"duplicate"},
		`{"paper":"a","ribbon":{}}`:         {"oneof"},
		`{"made_at":"yesterday"}`:           {"Timestamp"},
		`{"more":{"@type":"x/no.Such"}}`:    {"no.Such"},
		"{\"sku\":\"\xff\"}":                {"UTF-8"},
		strings.Repeat(`{"parts":[`, 5000):  {"no JSON"},
		strings.Repeat(`{"parts":[`, 200) + `{` + strings.Repeat(`}]`, 200) + `}`: {"depth"},
	} {
		_, err := m.Encode([]byte(text))
		wantError(t, err, wirelab.InvalidArgument, say...)
	}
}

func TestEncodeAll(t *testing.T) {
	t.Parallel()
	m := find(t, compiled(t), "Fill")
	for text, want := range map[string]int{
		`[{"sku":"a"},{"sku":"b"}]`: 2, `{"sku":"a"}`: 1, "{\"sku\":\"a\"}\n{}\n\n{\"sku\":\"b\"}\n": 3, "": 0, "[]": 0,
		"[ {} ]\n": 1,
	} {
		all, err := m.EncodeAll([]byte(text))
		if err != nil || len(all) != want {
			t.Errorf("%s: %d, %v", text, len(all), err)
		}
	}
	for text, say := range map[string][]string{
		`[{"sku":"a"},{"sk":"b"}]`:     {"message 2", "did you mean sku"},
		"{}\n{\"qty\":\"x\"}":          {"message 2", "qty"},
		"{}\n{":                        {"message 2"},
		"[{}":                          {"JSON array"},
		"[{}] x":                       {"more follows"},
		strings.Repeat("{}\n", 65_537): {"65536 messages"},
	} {
		_, err := m.EncodeAll([]byte(text))
		wantError(t, err, wirelab.InvalidArgument, say...)
	}
	if all, err := find(t, compiled(t), "AddItem").EncodeAll([]byte(`{"sku":"a"}`)); err != nil || len(all) != 1 {
		t.Errorf("%d, %v", len(all), err)
	}
	_, err := find(t, compiled(t), "AddItem").EncodeAll([]byte(`[{"sku":"a"}]`))
	wantError(t, err, wirelab.InvalidArgument, "an array")
}

// What the schema does not know of a reply is in its JSON, wherever it is.
func TestDecodeUnknown(t *testing.T) {
	t.Parallel()
	m := find(t, compiled(t), "AddItem")
	for wire, want := range map[string]string{
		"":             `{"id":"","total":0,"items":[],"by":{}}`,
		"\x10\x07":     `{"id":"","total":7,"items":[],"by":{}}`,
		"\xc0\x3e\x01": `{"id":"","total":0,"items":[],"by":{},"$unknown":{"":"wD4B"}}`,
		"\x22\x03\xc0\x3e\x01": `{"id":"","total":0,"items":[],"sum":{"currency":"","units":"0"},` +
			`"by":{},"$unknown":{"/sum":"wD4B"}}`,
		"\x2a\x07\x0a\x03x/y\x12\x00": `{"id":"","total":0,"items":[],"note":{},"by":{},` +
			`"$unknown":{"/note":" x/y"}}`,
		"\x32\x08\x0a\x01/\x12\x03\xc0\x3e\x01": `{"id":"","total":0,"items":[],` +
			`"by":{"/":{"currency":"","units":"0"}},"$unknown":{"/by/~1":"wD4B"}}`,
	} {
		got, err := m.Decode([]byte(wire))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", wire, got, err)
		}
	}
	note := "\x0a\x0fx/shop.v1.Money\x12\x05\x10\x05\xc0\x3e\x01"
	got, err := m.Decode([]byte("\x2a" + string(rune(len(note))) + note))
	if err != nil || !strings.Contains(string(got), `"$unknown":{"/note":"wD4B"}`) || !strings.Contains(string(got),
		`"units":"5"`) {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := find(t, compiled(t), "Count").Decode([]byte("\x08\x05\xc0\x3e\x01")); err != nil ||
		string(got) != `{"value":"5","$unknown":{"":"wD4B"}}` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := m.DecodeAll([][]byte{[]byte("\x10\x07"), nil}); err != nil ||
		string(got) != `[{"id":"","total":7,"items":[],"by":{}},{"id":"","total":0,"items":[],"by":{}}]` {
		t.Errorf("%s, %v", got, err)
	}
	_, err = m.Decode([]byte{0xff})
	wantError(t, err, wirelab.InvalidArgument, "is no shop.v1.Receipt")
	_, err = m.DecodeAll([][]byte{nil, []byte("\x0a\x01\xff")})
	wantError(t, err, wirelab.InvalidArgument, "message 2", "UTF-8")
}

// An example has every field, and is a request that is taken.
func TestExample(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, m := range s.Methods() {
		text := m.Example()
		if _, err := m.EncodeAll(text); err != nil {
			t.Errorf("%s: %v\n%s", m.Name(), err, text)
		}
		if !json.Valid(text) {
			t.Errorf("%s: %s", m.Name(), text)
		}
	}
	var fields map[string]any
	if err := json.Unmarshal(find(t, s, "AddItem").Example(), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"sku", "qty", "kind", "prices", "paper", "madeAt", "label", "gift", "extra", "more",
		"seen", "weight", "number",
	} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %s: %v", name, fields)
		}
	}
	if _, ok := fields["parts"]; ok {
		t.Error("it repeats itself")
	}
	if m := find(t, s, "Fill").Example(); m[0] != '[' {
		t.Errorf("%s", m)
	}
}

// A method travels with no more than it needs, and is the same at the other end.
func TestMarshal(t *testing.T) {
	t.Parallel()
	for _, m := range compiled(t).Methods() {
		data, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := grpcschema.ParseMethod(data)
		if err != nil {
			t.Fatal(err)
		}
		if got.Path != m.Path || got.Kind() != m.Kind() || !bytes.Equal(got.Example(), m.Example()) {
			t.Errorf("%s is %s", m.Name(), got.Name())
		}
		want, err := m.EncodeAll(m.Example())
		if err != nil {
			t.Fatal(err)
		}
		if wire, err := got.EncodeAll(m.Example()); err != nil || !slices.EqualFunc(wire, want, bytes.Equal) {
			t.Errorf("%s: %v", m.Name(), err)
		}
		if again, err := got.Marshal(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: %v", m.Name(), err)
		}
		anything := m.Name() != "shop.v1.Cart/Count"
		if bytes.Contains(data, []byte("Unused")) != anything { // Any may be of any type
			t.Errorf("%s: pruned %v", m.Name(), !anything)
		}
	}
	_, err := grpcschema.ParseMethod([]byte("\xff"))
	wantError(t, err, wirelab.InvalidArgument)
	_, err = grpcschema.ParseMethod(nil)
	wantError(t, err, wirelab.InvalidArgument, "does not have the method")
}

// protoset is the schema of the test as a set of descriptors, with or without what it imports.
func protoset(t testing.TB, imports bool) []byte {
	t.Helper()
	data, err := find(t, compiled(t), "AddItem").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &set); err != nil {
		t.Fatal(err)
	}
	if !imports {
		set.File = slices.DeleteFunc(set.File,
			func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() != "shop/v1/cart.proto" })
	}
	data, err = proto.Marshal(&descriptorpb.FileDescriptorSet{File: set.File})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestProtoset(t *testing.T) {
	t.Parallel()
	s, err := grpcschema.Protoset("shop.protoset", protoset(t, true))
	if err != nil || find(t, s, "AddItem").Path != "/shop.v1.Cart/AddItem" {
		t.Error(err)
	}
	_, err = grpcschema.Protoset("shop.protoset", protoset(t, false))
	wantError(t, err, wirelab.InvalidArgument, "shop.protoset: ", "shop.v1.Money", "--include_imports")
	_, err = grpcschema.Protoset("shop.protoset", []byte("syntax = \"proto3\";"))
	wantError(t, err, wirelab.InvalidArgument, "shop.protoset: ", "protoc --include_imports --descriptor_set_out")
	_, err = grpcschema.Protoset("shop.protoset", nil)
	wantError(t, err, wirelab.InvalidArgument, "shop.protoset: ")
	_, err = grpcschema.Protoset("shop.protoset", make([]byte, 17<<20))
	wantError(t, err, wirelab.InvalidArgument, "more than")
}

// Import paths are as protoc takes them, and found where none is given.
func TestCompilePaths(t *testing.T) {
	t.Parallel()
	absolute, err := filepath.Abs(cart)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ files, paths []string }{
		{[]string{cart}, []string{"testdata/protos"}},
		{[]string{"shop/v1/cart.proto"}, []string{"testdata/protos"}},
		{[]string{absolute}, []string{"testdata/protos"}},
		{[]string{absolute}, nil},
		{[]string{cart, "testdata/protos/shop/v1/money.proto"}, nil},
	} {
		s, err := grpcschema.Compile(t.Context(), c.files, c.paths)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		find(t, s, "AddItem")
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files, paths []string
		say          []string
	}{
		{
			[]string{"testdata/bad/typo.proto"},
			nil,
			[]string{"typo.proto:5:10: ", "Absent", "typo.proto:9:3: ", "strng"},
		},
		{
			[]string{"testdata/bad/lost.proto"},
			nil,
			[]string{"lost.proto:4:8: ", "nowhere/to_be_found.proto", "import path"},
		},
		{[]string{"testdata/bad/absent.proto"}, nil, []string{"absent.proto"}},
		{[]string{"testdata/protos/shop/v1/money.proto"}, nil, []string{"money.proto", "no service"}},
		{[]string{"testdata/bad"}, nil, []string{"testdata/bad"}},
		{nil, nil, []string{"no .proto file"}},
	} {
		_, err := grpcschema.Compile(t.Context(), c.files, c.paths)
		wantError(t, err, wirelab.InvalidArgument, c.say...)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := grpcschema.Compile(ctx, []string{cart}, nil)
	wantError(t, err, wirelab.Canceled)
	large := filepath.Join(t.TempDir(), "large.proto")
	if err := os.WriteFile(large, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = grpcschema.Compile(t.Context(), []string{large}, nil)
	wantError(t, err, wirelab.InvalidArgument, "large.proto")
}

// TestForgedWellKnown checks that a peer that declares a well-known message with another structure gets an error:
// the JSON library assumes the usual structure, and panics.
func TestForgedWellKnown(t *testing.T) {
	t.Parallel()
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(protoset(t, true), &set); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(set.GetFile(), func(f *descriptorpb.FileDescriptorProto) bool {
		return f.GetName() == "google/protobuf/any.proto"
	})
	forged := set.GetFile()[i]
	forged.MessageType[0].Field = nil
	wire := []byte("\x2a\x07\x0a\x03x/y\x12\x00")
	for _, name := range []string{"google/protobuf/any.proto", "own/any.proto"} {
		forged.Name = proto.String(name)
		for _, file := range set.GetFile() {
			for n, path := range file.GetDependency() {
				if strings.HasSuffix(path, "/any.proto") {
					file.Dependency[n] = name
				}
			}
		}
		data, err := proto.Marshal(&set)
		if err != nil {
			t.Fatal(err)
		}
		s, err := grpcschema.Protoset("a", data)
		if name == "own/any.proto" {
			wantError(t, err, wirelab.InvalidArgument, "own/any.proto", "google.protobuf.Any", "another form")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, err := find(t, s, "AddItem").Decode(wire); err != nil || !strings.Contains(string(text), `"note":{}`) {
			t.Errorf("%s, %v", text, err)
		}
	}
}
