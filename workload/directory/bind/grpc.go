package bind

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen"
	"wirelab/workload/directory/gen/genconnect"
)

// GRPC carries the directory over gRPC in plaintext. Its servers answer to the
// published experiment's name of the service too.
func GRPC() wirelab.Binding[directory.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(false))
}

// GRPCTLS is [GRPC] over TLS 1.3.
func GRPCTLS() wirelab.Binding[directory.Service] {
	return rpc().OverGRPC(wiregrpc.Protocol(true))
}

// rpc is the directory on gRPC and Connect, in protobuf.
func rpc() grpcbind.Service[directory.Service] {
	return grpcbind.Service[directory.Service]{
		Names:   []string{genconnect.PersonServiceName},
		Aliases: []wiregrpc.Alias{publishedAlias()},
		Register: func(to grpc.ServiceRegistrar, service directory.Service) {
			gen.RegisterPersonServiceServer(to, grpcServer{service: service})
		},
		Handle: func(mux *http.ServeMux, service directory.Service) {
			mux.Handle(genconnect.NewPersonServiceHandler(connectServer{service}, wireconnect.HandlerOptions()...))
		},
		GRPC: func(conn *grpc.ClientConn) directory.Service {
			return stub{grpcCalls{gen.NewPersonServiceClient(conn)}}
		},
		Connect: func(client connect.HTTPClient, url string, speak ...connect.ClientOption) directory.Service {
			options := append(wireconnect.ClientOptions(), speak...)
			return stub{connectCalls{genconnect.NewPersonServiceClient(client, url, options...)}}
		},
		RawHoles: rawHoles(), Fresh: []string{genconnect.PersonServiceCreatePersonProcedure},
	}
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
