package bind

import (
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	"wirelab/wire/avro"
	"wirelab/wire/codec"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen/genconnect"
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
		name: "avro", page: avroForm(c.page), id: avroForm(c.id), person: avroForm(c.person), list: avroForm(c.list), links: avroForm(c.links),
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
			func(p directory.Page) pageJSON { return pageJSON(p) }, func(p pageJSON) directory.Page { return directory.Page(p) }).Form(),
		id: httprpc.JSONOf(
			func(id directory.PersonID) idJSON { return idJSON(id) }, func(id idJSON) directory.PersonID { return directory.PersonID(id) }).Form(),
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

// inForms is the directory on gRPC in an encoding of its own, named by its subtype.
// Its forms are made when it is served or called.
func inForms(subtype string, in func() forms) grpcbind.Service[directory.Service] {
	return grpcbind.Service[directory.Service]{
		Names: []string{genconnect.PersonServiceName}, Subtype: subtype,
		Register: func(to grpc.ServiceRegistrar, service directory.Service) {
			to.RegisterService(in().describe(), service)
		},
		Handle: func(mux *http.ServeMux, service directory.Service) { in().handle(mux, service) },
		GRPC:   func(conn *grpc.ClientConn) directory.Service { return in().grpcStub(conn) },
		Connect: func(client connect.HTTPClient, url string, speak ...connect.ClientOption) directory.Service {
			return in().connectStub(client, url, speak...)
		},
		RawHoles: rawHoles(), Fresh: []string{genconnect.PersonServiceCreatePersonProcedure},
	}
}

// describe is the service as grpc-go serves it.
func (f forms) describe() *grpc.ServiceDesc {
	return wiregrpc.Describe(
		genconnect.PersonServiceName, f.name,
		wiregrpc.Unary("ListPersons", f.page, f.list, directory.Service.ListPersons),
		wiregrpc.Unary("GetPerson", f.id, f.person, directory.Service.GetPerson),
		wiregrpc.Unary("GetPersonLinks", f.id, f.links, directory.Service.GetPersonLinks),
		wiregrpc.Unary("CreatePerson", f.person, f.person, directory.Service.CreatePerson),
	)
}

// handle has connect-go serve.
func (f forms) handle(mux *http.ServeMux, service directory.Service) {
	mux.Handle(genconnect.PersonServiceListPersonsProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceListPersonsProcedure, f.name, f.page, f.list, service.ListPersons))
	mux.Handle(genconnect.PersonServiceGetPersonProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceGetPersonProcedure, f.name, f.id, f.person, service.GetPerson))
	mux.Handle(genconnect.PersonServiceGetPersonLinksProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceGetPersonLinksProcedure, f.name, f.id, f.links, service.GetPersonLinks))
	mux.Handle(genconnect.PersonServiceCreatePersonProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceCreatePersonProcedure, f.name, f.person, f.person, service.CreatePerson))
}

// grpcStub calls through grpc-go.
func (f forms) grpcStub(conn *grpc.ClientConn) directory.Service {
	const service = genconnect.PersonServiceName
	return stub{&restCalls{
		listPersons:    wiregrpc.CallUnary(conn, service, "ListPersons", f.name, f.page, f.list),
		getPerson:      wiregrpc.CallUnary(conn, service, "GetPerson", f.name, f.id, f.person),
		getPersonLinks: wiregrpc.CallUnary(conn, service, "GetPersonLinks", f.name, f.id, f.links),
		createPerson:   wiregrpc.CallUnary(conn, service, "CreatePerson", f.name, f.person, f.person),
	}}
}

// connectStub calls through connect-go.
func (f forms) connectStub(client connect.HTTPClient, baseURL string, speak ...connect.ClientOption) directory.Service {
	return stub{&restCalls{
		listPersons:    wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceListPersonsProcedure, f.name, f.page, f.list, speak...),
		getPerson:      wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceGetPersonProcedure, f.name, f.id, f.person, speak...),
		getPersonLinks: wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceGetPersonLinksProcedure, f.name, f.id, f.links, speak...),
		createPerson:   wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceCreatePersonProcedure, f.name, f.person, f.person, speak...),
	}}
}
