package bind

import (
	"net/http"

	"google.golang.org/grpc"

	"wirelab"
	"wirelab/wire/avro"
	"wirelab/wire/codec"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/directory"
)

// GRPCAvro carries the directory over gRPC in Avro: calls, paths and names are
// those of [GRPC], and only the messages differ, which the content type
// application/grpc+avro says. Its servers also answer the published
// experiment's clients of Avro, whose names and messages are others.
func GRPCAvro() wirelab.Binding[directory.Service] {
	return inAvroForms().OverGRPC(wiregrpc.ProtocolAvro(false))
}

// GRPCTLSAvro is [GRPCAvro] over TLS 1.3.
func GRPCTLSAvro() wirelab.Binding[directory.Service] {
	return inAvroForms().OverGRPC(wiregrpc.ProtocolAvro(true))
}

// GRPCJSON is the same with the JSON of plain HTTP, which is not the JSON that
// Protocol Buffers define.
func GRPCJSON() wirelab.Binding[directory.Service] {
	return inForms("json", jsonForms).OverGRPC(wiregrpc.ProtocolJSON(false))
}

// GRPCTLSJSON is [GRPCJSON] over TLS 1.3.
func GRPCTLSJSON() wirelab.Binding[directory.Service] {
	return inForms("json", jsonForms).OverGRPC(wiregrpc.ProtocolJSON(true))
}

// forms are the messages in one encoding, whose subtype in content types is name.
type forms struct {
	name   string
	page   codec.Form[directory.Page]
	id     codec.Form[directory.PersonID]
	person codec.Form[directory.Person]
	list   codec.Form[directory.PersonList]
	links  codec.Form[directory.PersonLinkList]
}

func avroForms() forms {
	c := inAvro()
	return forms{
		name: "avro", page: avroForm(c.page), id: avroForm(c.id), person: avroForm(c.person), list: avroForm(c.list),
		links: avroForm(c.links),
	}
}

func avroForm[T any](c *avro.Codec[T]) codec.Form[T] {
	return codec.Form[T]{Append: c.Append, Decode: c.Decode}
}

// pageJSON and idJSON travel in bodies here, and in URLs over plain HTTP.
type (
	pageJSON struct {
		After string `json:"after"`
		Limit int32  `json:"limit"`
	}
	idJSON struct {
		ID string `json:"id"`
	}
)

func jsonForms() forms {
	return forms{
		name: "json",
		page: httprpc.JSONOf(
			func(p directory.Page) pageJSON { return pageJSON(p) },
			func(p pageJSON) directory.Page { return directory.Page(p) }).Form(),
		id: httprpc.JSONOf(
			func(id directory.PersonID) idJSON { return idJSON(id) },
			func(id idJSON) directory.PersonID { return directory.PersonID(id) }).Form(),
		person: httprpc.JSONOf(personToJSON, personFromJSON).Form(),
		list:   httprpc.JSONOf(listToJSON, listFromJSON).Form(),
		links:  httprpc.JSONOf(linksToJSON, linksFromJSON).Form(),
	}
}

// inAvroForms is the directory on gRPC in Avro, ours and the published one.
func inAvroForms() grpcbind.Service[directory.Service] {
	s := inForms("avro", avroForms)
	s.Names = append(s.Names, publishedAvro)
	s.Fresh = append(s.Fresh, "/"+publishedAvro+"/createPerson")
	register, handle := s.Register, s.Handle
	s.Register = func(to grpc.ServiceRegistrar, service directory.Service) {
		register(to, service)
		to.RegisterService(describePublished(), service)
	}
	s.Handle = func(mux *http.ServeMux, service directory.Service) {
		handle(mux, service)
		handlePublished(mux, service)
	}
	return s
}
