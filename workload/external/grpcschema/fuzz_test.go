package grpcschema_test

import (
	"context"
	"os"
	"testing"

	"google.golang.org/grpc"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"wirelab/workload/external/grpcschema"
)

// use does with a schema what users do: it may fail, and must not panic.
func use(t *testing.T, s *grpcschema.Schema) {
	t.Helper()
	for i, m := range s.Methods() {
		if i == 20 {
			break
		}
		_, _ = s.Find(m.Name())
		example := m.Example()
		if all, err := m.EncodeAll(example); err == nil {
			for _, wire := range all {
				_, _ = m.Decode(wire)
			}
		}
		_, _ = m.Encode([]byte(`{"a":[{"b":1}],"c":{"d":"x"},"name":null}`))
		_, _ = m.Decode([]byte("\x0a\x02\x08\x01\x10\x07"))
		data, err := m.Marshal()
		if err != nil {
			continue
		}
		if again, err := grpcschema.ParseMethod(data); err != nil || again.Path != m.Path {
			t.Errorf("%s travelled as %v", m.Path, err)
		}
	}
	_, _ = s.Find("x")
}

func FuzzProtoset(f *testing.F) {
	f.Add(protoset(f, true))
	f.Add(protoset(f, false))
	for _, m := range compiled(f).Methods() {
		data, err := m.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := grpcschema.Protoset("a", data); err == nil {
			use(t, s)
		}
		_, _ = grpcschema.ParseMethod(data)
	})
}

func FuzzReflect(f *testing.F) {
	all := files(f)
	f.Add("shop.v1.Cart", all["shop/v1/cart.proto"], all["shop/v1/money.proto"])
	f.Add("", []byte("\x0a\x01a\x1a\x01a"), []byte{})
	server := &fake{}
	conn := serve(f, func(s *grpc.Server) { reflectionv1.RegisterServerReflectionServer(s, server) })
	f.Fuzz(func(t *testing.T, name string, first, second []byte) {
		*server = fake{
			services: []string{name, "b.C"},
			symbol:   func(string) [][]byte { return one(first) },
			file:     func(string) [][]byte { return one(second) },
		}
		if s, err := grpcschema.Reflect(patient(t), conn, nil); err == nil {
			use(t, s)
		}
	})
}

func FuzzEncode(f *testing.F) {
	s := compiled(f)
	item, chat := find(f, s, "AddItem"), find(f, s, "Fill")
	f.Add(item.Example())
	f.Add(chat.Example())
	f.Add([]byte(`{"more":{"@type":"x/shop.v1.Item","more":{"@type":"x/shop.v1.Money"}},"parts":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		wire, err := item.Encode(text)
		if err == nil {
			if again, err := item.Encode(text); err != nil || string(again) != string(wire) {
				t.Errorf("%q: %x and %x", text, wire, again)
			}
		}
		_, _ = chat.EncodeAll(text)
	})
}

func FuzzDecode(f *testing.F) {
	s := compiled(f)
	item := find(f, s, "Cart/List")
	wire, err := item.Encode(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(wire)
	f.Add([]byte("\x2a\x15\x0a\x0fx/shop.v1.Money\x12\x02\x10\x05"))
	f.Fuzz(func(_ *testing.T, wire []byte) { _, _ = item.Decode(wire) })
}

func FuzzCompile(f *testing.F) {
	for _, name := range []string{cart, "testdata/protos/shop/v1/money.proto", "testdata/bad/typo.proto"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		name := dir + "/a.proto"
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := grpcschema.Compile(context.Background(), []string{name}, []string{dir}); err == nil {
			use(t, s)
		}
	})
}
