package bind

import (
	"net/http"
	"sync"

	"google.golang.org/grpc"

	"wirelab"
	"wirelab/wire/avro"
	"wirelab/wire/codec"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen/genconnect"
	"wirelab/workload/directory/schema"
)

// The services of the published experiment's RPC framework, which names a
// service by its trait alone and a method as the trait does. Its messages are
// those of our schemas: it numbers fields by their place in the source, and
// lists all persons for a request without fields.
const (
	publishedProto = "PersonServicePB"
	publishedAvro  = "PersonServiceAvro"
)

// publishedMethods are the names of the schema's methods, by the framework's.
func publishedMethods() map[string]string {
	return map[string]string{
		"listPersons": "ListPersons", "getPerson": "GetPerson",
		"getPersonLinks": "GetPersonLinks", "createPerson": "CreatePerson",
	}
}

// publishedAlias is the framework's service in Protocol Buffers.
func publishedAlias() wiregrpc.Alias {
	return wiregrpc.Alias{Name: publishedProto, Of: genconnect.PersonServiceName, Methods: publishedMethods()}
}

// publishedList is a list of all persons. It has no next: bare Avro has no
// place for a field that its reader does not know.
type publishedList struct {
	Persons []directory.Person
	Count   int32
}

// publishedForms are the framework's messages in Avro: bare values, whose
// schema both ends hold, under the content type of Protocol Buffers.
var publishedForms = sync.OnceValue(func() forms {
	codecs, list := inAvro(), avroOf[publishedList](schema.AvroPerson(), schema.AvroPublishedPersonList())
	return forms{
		page: codec.Form[directory.Page]{
			Append: func(dst []byte, _ *directory.Page) ([]byte, error) { return dst, nil },
			Decode: func(message []byte) (none directory.Page, err error) {
				if len(message) > 0 {
					return none,
						wirelab.Errorf(wirelab.InvalidArgument, "a request without fields has %d bytes", len(message))
				}
				return none, nil
			},
		},
		id: bareForm(codecs.id), person: bareForm(codecs.person), links: bareForm(codecs.links),
		list: codec.Form[directory.PersonList]{
			Append: func(dst []byte, l *directory.PersonList) ([]byte, error) {
				return list.AppendBare(dst, &publishedList{Persons: l.Persons, Count: l.Count})
			},
			Decode: func(message []byte) (directory.PersonList, error) {
				l, err := list.DecodeBare(message)
				return directory.PersonList{Persons: l.Persons, Count: l.Count}, err
			},
		},
	}
})

func bareForm[T any](c *avro.Codec[T]) codec.Form[T] {
	return codec.Form[T]{Append: c.AppendBare, Decode: c.DecodeBare}
}

// describePublished is the framework's service in Avro as grpc-go serves it.
func describePublished() *grpc.ServiceDesc {
	f := publishedForms()
	return wiregrpc.Describe(
		publishedAvro, "",
		wiregrpc.Unary("listPersons", f.page, f.list, directory.Service.ListPersons),
		wiregrpc.Unary("getPerson", f.id, f.person, directory.Service.GetPerson),
		wiregrpc.Unary("getPersonLinks", f.id, f.links, directory.Service.GetPersonLinks),
		wiregrpc.Unary("createPerson", f.person, f.person, directory.Service.CreatePerson),
	)
}

// handlePublished has connect-go serve the framework's service in Avro.
func handlePublished(mux *http.ServeMux, service directory.Service) {
	const encoding = "proto" // as which connect-go knows a content type that names none
	const list, get, links, create = "/" + publishedAvro + "/listPersons", "/" + publishedAvro + "/getPerson",
		"/" + publishedAvro + "/getPersonLinks", "/" + publishedAvro + "/createPerson"
	f := publishedForms()
	mux.Handle(list, wireconnect.HandleUnary(list, encoding, f.page, f.list, service.ListPersons))
	mux.Handle(get, wireconnect.HandleUnary(get, encoding, f.id, f.person, service.GetPerson))
	mux.Handle(links, wireconnect.HandleUnary(links, encoding, f.id, f.links, service.GetPersonLinks))
	mux.Handle(create, wireconnect.HandleUnary(create, encoding, f.person, f.person, service.CreatePerson))
}
