package bind

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"wirelab/wire/codec"
	"wirelab/wire/httprpc"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen"
)

// BenchmarkCodec shows what encoding and decoding cost by themselves, without
// any wire: a person, and the list of 10,000, in each encoding, from the
// domain's types and to them as the bindings do it. "protobuf-message" is the
// same bytes from and to generated messages, so that what the copy between
// those and the domain's types costs can be told apart; Avro makes none.
//
//	go test -run '^$' -bench Codec ./workload/directory/bind
func BenchmarkCodec(b *testing.B) {
	all := directory.Data()
	service := all[len(all)-1].New()
	person, err := service.GetPerson(b.Context(), directory.PersonID{ID: "2"})
	if err != nil {
		b.Fatal(err)
	}
	list, err := service.ListPersons(b.Context(), directory.Page{})
	if err != nil {
		b.Fatal(err)
	}
	avro, json := avroForms(), jsonForms()
	b.Run("person", func(b *testing.B) {
		benchForm(b, "avro", avro.person, person)
		benchForm(b, "protobuf", protoForm[directory.Person, gen.Person](personToProto, personFromProto), person)
		benchForm(b, "protobuf-message", messageForm[gen.Person](), personToProto(person))
		benchForm(b, "json", json.person, person)
	})
	b.Run("persons=10000", func(b *testing.B) {
		benchForm(b, "avro", avro.list, list)
		benchForm(b, "protobuf", protoForm[directory.PersonList, gen.PersonList](listToProto, listFromProto), list)
		benchForm(b, "protobuf-message", messageForm[gen.PersonList](), listToProto(list))
		benchForm(b, "json", json.list, list)
	})
}

// protoForm is what the protobuf bindings do.
func protoForm[T, M any, P interface {
	*M
	proto.Message
}](to func(T) P, from func(P) T,
) codec.Form[T] {
	c := httprpc.ProtoOf[T, M, P](to, from)
	return codec.Form[T]{
		Append: func(dst []byte, v *T) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(dst, to(*v)) },
		Decode: c.Decode,
	}
}

// messageForm is what protobuf does by itself.
func messageForm[M any, P interface {
	*M
	proto.Message
}]() codec.Form[P] {
	return codec.Form[P]{
		Append: func(dst []byte, v *P) ([]byte, error) { return proto.MarshalOptions{}.MarshalAppend(dst, *v) },
		Decode: func(message []byte) (P, error) {
			m := P(new(M))
			return m, proto.Unmarshal(message, m)
		},
	}
}

// benchForm measures a form both ways. It encodes into a buffer that stays, as
// the wires do.
func benchForm[T any](b *testing.B, encoding string, f codec.Form[T], v T) {
	message, err := f.Append(nil, &v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode/"+encoding, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if message, err = f.Append(message[:0], &v); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(message)), "wire-B")
	})
	b.Run("decode/"+encoding, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Decode(message); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(message)), "wire-B")
	})
}
