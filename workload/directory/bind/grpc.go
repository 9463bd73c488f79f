package bind

import (
	"context"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/raw"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen"
	"wirelab/workload/directory/gen/genconnect"
)

// GRPC carries the directory over gRPC in plaintext. Library is a dimension of
// its own, and so grpc-go and connect-go both serve and both call.
func GRPC() wirelab.Binding[directory.Service] {
	return grpcBinding(false)
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[directory.Service] {
	return grpcBinding(true)
}

func grpcBinding(secure bool) wirelab.Binding[directory.Service] {
	over := wireconnect.HTTP2(secure)
	return withRawConnect(wirelab.Binding[directory.Service]{
		Protocol: wiregrpc.Protocol(secure),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[directory.Service]{
			{Library: "grpc-go", Serve: func(ctx context.Context, at wirelab.Endpoint, service directory.Service) error {
				return wiregrpc.Serve(ctx, at, secure, func(to grpc.ServiceRegistrar) {
					gen.RegisterPersonServiceServer(to, grpcServer{service: service})
				})
			}},
			{Library: "connect-go", Serve: func(ctx context.Context, at wirelab.Endpoint, service directory.Service) error {
				options := wireconnect.HandlerOptions()
				mux := http.NewServeMux()
				mux.Handle(genconnect.NewPersonServiceHandler(connectServer{service}, options...))
				for path, handler := range wiregrpc.Standard([]string{genconnect.PersonServiceName}, options...) {
					mux.Handle(path, handler)
				}
				return wireconnect.Serve(ctx, at, over, mux)
			}},
		},
		Clients: []wirelab.Dialer[directory.Service]{
			{Library: "grpc-go", Dial: func(_ context.Context, to wirelab.Dialing) (directory.Service, io.Closer, error) {
				conn, err := wiregrpc.Dial(to, secure)
				if err != nil {
					return nil, nil, err
				}
				return stub{grpcCalls{gen.NewPersonServiceClient(conn)}}, conn, nil
			}},
			{Library: "connect-go", Dial: func(_ context.Context, to wirelab.Dialing) (directory.Service, io.Closer, error) {
				client := wireconnect.Dial(to, over)
				return newConnectStub(client, connect.WithGRPC()), client, nil
			}},
		},
	}, raw.Over{Version: raw.HTTP2, Secure: secure}, connect.WithGRPC())
}

// grpcServer answers for service through grpc-go.
type grpcServer struct {
	gen.UnimplementedPersonServiceServer
	service directory.Service
}

// ListPersons implements [gen.PersonServiceServer].
func (s grpcServer) ListPersons(ctx context.Context, page *gen.Page) (*gen.PersonList, error) {
	list, err := s.service.ListPersons(ctx, pageFromProto(page))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return listToProto(list), nil
}

// GetPerson implements [gen.PersonServiceServer].
func (s grpcServer) GetPerson(ctx context.Context, id *gen.PersonId) (*gen.Person, error) {
	person, err := s.service.GetPerson(ctx, idFromProto(id))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return personToProto(person), nil
}

// GetPersonLinks implements [gen.PersonServiceServer].
func (s grpcServer) GetPersonLinks(ctx context.Context, id *gen.PersonId) (*gen.PersonLinkList, error) {
	links, err := s.service.GetPersonLinks(ctx, idFromProto(id))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return linksToProto(links), nil
}

// CreatePerson implements [gen.PersonServiceServer].
func (s grpcServer) CreatePerson(ctx context.Context, person *gen.Person) (*gen.Person, error) {
	created, err := s.service.CreatePerson(ctx, personFromProto(person))
	if err != nil {
		return nil, wiregrpc.Encode(err)
	}
	return personToProto(created), nil
}

// grpcCalls makes the calls through grpc-go.
type grpcCalls struct{ client gen.PersonServiceClient }

// ListPersons implements [calls].
func (s grpcCalls) ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error) {
	list, err := s.client.ListPersons(ctx, pageToProto(page))
	if err != nil {
		return directory.PersonList{}, wiregrpc.Decode(err)
	}
	return listFromProto(list), nil
}

// GetPerson implements [calls].
func (s grpcCalls) GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error) {
	person, err := s.client.GetPerson(ctx, idToProto(id))
	if err != nil {
		return directory.Person{}, wiregrpc.Decode(err)
	}
	return personFromProto(person), nil
}

// GetPersonLinks implements [calls].
func (s grpcCalls) GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error) {
	links, err := s.client.GetPersonLinks(ctx, idToProto(id))
	if err != nil {
		return directory.PersonLinkList{}, wiregrpc.Decode(err)
	}
	return linksFromProto(links), nil
}

// CreatePerson implements [calls].
func (s grpcCalls) CreatePerson(ctx context.Context, person directory.Person) (directory.Person, error) {
	created, err := s.client.CreatePerson(ctx, personToProto(person))
	if err != nil {
		return directory.Person{}, wiregrpc.Decode(err)
	}
	return personFromProto(created), nil
}
