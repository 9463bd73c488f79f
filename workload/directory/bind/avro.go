package bind

import (
	"sync"

	"wirelab/wire/avro"
	"wirelab/wire/httprpc"
	"wirelab/workload/directory"
	"wirelab/workload/directory/schema"
)

// avroCodecs are the codecs of the directory's messages in Avro. They are of
// the domain's own types: see package avro for how those meet the schemas.
type avroCodecs struct {
	page   *avro.Codec[directory.Page]
	id     *avro.Codec[directory.PersonID]
	person *avro.Codec[directory.Person]
	list   *avro.Codec[directory.PersonList]
	links  *avro.Codec[directory.PersonLinkList]
}

// inAvro returns the codecs of the schemas as they are in the schema folder.
// They are made once: parsing the schemas takes longer than a call.
var inAvro = sync.OnceValue(func() *avroCodecs {
	person := schema.AvroPerson()
	return &avroCodecs{
		page:   avroOf[directory.Page](schema.AvroPage()),
		id:     avroOf[directory.PersonID](schema.AvroPersonID()),
		person: avroOf[directory.Person](person),
		list:   avroOf[directory.PersonList](person, schema.AvroPersonList()),
		links:  avroOf[directory.PersonLinkList](person, schema.AvroPersonLinkList()),
	}
})

// avroOf returns the codec of T by the last of the texts. It panics where they
// do not fit each other: both are in this repository.
func avroOf[T any](texts ...string) *avro.Codec[T] {
	parsed, err := avro.Parse(texts...)
	if err != nil {
		panic(err)
	}
	codec, err := avro.New[T](avro.Limits{}, parsed)
	if err != nil {
		panic(err)
	}
	return codec
}

// avroHTTP returns a codec as plain HTTP takes it.
func avroHTTP[T any](codec *avro.Codec[T]) httprpc.Codec[T] {
	return httprpc.Codec[T]{
		Encoding: httprpc.Avro,
		Encode:   func(v T) ([]byte, error) { return codec.Encode(&v) },
		Decode:   codec.Decode,
	}
}
