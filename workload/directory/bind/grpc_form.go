package bind

import (
	"context"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	"wirelab/wire/avro"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/form"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen/genconnect"
)

// GRPCAvro carries the directory over gRPC in Avro: calls, paths and names are
// those of [GRPC], and only the messages differ, which the content type
// application/grpc+avro says.
func GRPCAvro() wirelab.Binding[directory.Service] {
	return grpcForm(wiregrpc.ProtocolAvro(false), avroForms)
}

// GRPCTLSAvro is [GRPCAvro] over TLS 1.3.
func GRPCTLSAvro() wirelab.Binding[directory.Service] {
	return grpcForm(wiregrpc.ProtocolAvro(true), avroForms)
}

// GRPCJSON is the same with the JSON of plain HTTP, which is not the JSON that
// Protocol Buffers define.
func GRPCJSON() wirelab.Binding[directory.Service] {
	return grpcForm(wiregrpc.ProtocolJSON(false), jsonForms)
}

// GRPCTLSJSON is [GRPCJSON] over TLS 1.3.
func GRPCTLSJSON() wirelab.Binding[directory.Service] {
	return grpcForm(wiregrpc.ProtocolJSON(true), jsonForms)
}

// forms are the messages in one encoding, whose subtype in content types is name.
type forms struct {
	name   string
	page   form.Form[directory.Page]
	id     form.Form[directory.PersonID]
	person form.Form[directory.Person]
	list   form.Form[directory.PersonList]
	links  form.Form[directory.PersonLinkList]
}

func avroForms() forms {
	c := inAvro()
	return forms{
		name: "avro", page: avroForm(c.page), id: avroForm(c.id), person: avroForm(c.person), list: avroForm(c.list), links: avroForm(c.links),
	}
}

func avroForm[T any](c *avro.Codec[T]) form.Form[T] {
	return form.Form[T]{Append: c.Append, Decode: c.Decode}
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
		page: jsonForm(httprpc.JSONOf(
			func(p directory.Page) pageJSON { return pageJSON(p) }, func(p pageJSON) directory.Page { return directory.Page(p) })),
		id: jsonForm(httprpc.JSONOf(
			func(id directory.PersonID) idJSON { return idJSON(id) }, func(id idJSON) directory.PersonID { return directory.PersonID(id) })),
		person: jsonForm(httprpc.JSONOf(personToJSON, personFromJSON)),
		list:   jsonForm(httprpc.JSONOf(listToJSON, listFromJSON)),
		links:  jsonForm(httprpc.JSONOf(linksToJSON, linksFromJSON)),
	}
}

func jsonForm[T any](c httprpc.Codec[T]) form.Form[T] {
	return form.Form[T]{
		Append: func(dst []byte, v *T) ([]byte, error) {
			message, err := c.Encode(*v)
			if err != nil {
				return dst, wirelab.Errorf(wirelab.InvalidArgument, "the value cannot be written in JSON")
			}
			return append(dst, message...), nil
		},
		Decode: func(message []byte) (T, error) {
			v, err := c.Decode(message)
			if err != nil {
				return v, wirelab.Errorf(wirelab.InvalidArgument, "the message cannot be read as JSON")
			}
			return v, nil
		},
	}
}

// grpcForm is the directory over gRPC in an encoding of its own. As with
// [GRPC], the library is another dimension.
func grpcForm(protocol wirelab.Protocol, in func() forms) wirelab.Binding[directory.Service] {
	secure := protocol.Secure
	over := wireconnect.HTTP2(secure)
	wire := raw.Over{Version: raw.HTTP2, Secure: secure}
	return wirelab.Binding[directory.Service]{
		Protocol: protocol,
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[directory.Service]{
			{Library: "grpc-go", Serve: func(ctx context.Context, at wirelab.Endpoint, service directory.Service) error {
				f := in()
				return wiregrpc.ServeIn(ctx, at, secure, f.name, func(to grpc.ServiceRegistrar) {
					to.RegisterService(f.describe(), service)
				})
			}},
			{Library: "connect-go", Serve: func(ctx context.Context, at wirelab.Endpoint, service directory.Service) error {
				handler := in().handler(service)
				health := wiregrpc.Health([]string{genconnect.PersonServiceName}, wireconnect.HandlerOptions()...)
				for path, answer := range health {
					handler.Handle(path, answer)
				}
				return wireconnect.Serve(ctx, at, over, handler)
			}},
		},
		Clients: []wirelab.Dialer[directory.Service]{
			{Library: "grpc-go", Dial: func(_ context.Context, to wirelab.Dialing) (directory.Service, io.Closer, error) {
				conn, err := wiregrpc.Dial(to, secure)
				if err != nil {
					return nil, nil, err
				}
				return in().grpcStub(conn), conn, nil
			}},
			{Library: "connect-go", Dial: func(_ context.Context, to wirelab.Dialing) (directory.Service, io.Closer, error) {
				client := wireconnect.Dial(to, over)
				return in().connectStub(client, client.BaseURL()), client, nil
			}},
		},
		Raw: raw.Driver(wire, rawHoles(), func(t *raw.Transport, scheme, address string) directory.Service {
			return in().connectStub(t, scheme+"://"+address)
		}),
		Null: raw.Null(wire, func(service directory.Service) http.Handler {
			return in().handler(service)
		}, genconnect.PersonServiceCreatePersonProcedure),
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

// handler is the service as connect-go serves it.
func (f forms) handler(service directory.Service) *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle(genconnect.PersonServiceListPersonsProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceListPersonsProcedure, f.name, f.page, f.list, service.ListPersons))
	mux.Handle(genconnect.PersonServiceGetPersonProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceGetPersonProcedure, f.name, f.id, f.person, service.GetPerson))
	mux.Handle(genconnect.PersonServiceGetPersonLinksProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceGetPersonLinksProcedure, f.name, f.id, f.links, service.GetPersonLinks))
	mux.Handle(genconnect.PersonServiceCreatePersonProcedure, wireconnect.HandleUnary(
		genconnect.PersonServiceCreatePersonProcedure, f.name, f.person, f.person, service.CreatePerson))
	return mux
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
func (f forms) connectStub(client connect.HTTPClient, baseURL string) directory.Service {
	speak := connect.WithGRPC()
	return stub{&restCalls{
		listPersons:    wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceListPersonsProcedure, f.name, f.page, f.list, speak),
		getPerson:      wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceGetPersonProcedure, f.name, f.id, f.person, speak),
		getPersonLinks: wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceGetPersonLinksProcedure, f.name, f.id, f.links, speak),
		createPerson:   wireconnect.CallUnary(client, baseURL, genconnect.PersonServiceCreatePersonProcedure, f.name, f.person, f.person, speak),
	}}
}
