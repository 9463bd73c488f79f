package bind

import (
	"context"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/workload/directory"
	"wirelab/workload/directory/gen"
	"wirelab/workload/directory/gen/genconnect"
)

// Connect carries the directory over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[directory.Service] {
	return rpc().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the directory over the Connect protocol on HTTP/1.1.
func ConnectHTTP1() wirelab.Binding[directory.Service] {
	return rpc().OverConnect(wireconnect.ProtocolHTTP1())
}

// connectServer answers for service through connect-go, whichever protocol the call came by.
type connectServer struct{ service directory.Service }

var _ genconnect.PersonServiceHandler = connectServer{}

// ListPersons implements [genconnect.PersonServiceHandler].
func (s connectServer) ListPersons(
	ctx context.Context, page *connect.Request[gen.Page],
) (*connect.Response[gen.PersonList], error) {
	list, err := s.service.ListPersons(ctx, pageFromProto(page.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(listToProto(list)), nil
}

// GetPerson implements [genconnect.PersonServiceHandler].
func (s connectServer) GetPerson(
	ctx context.Context, id *connect.Request[gen.PersonId],
) (*connect.Response[gen.Person], error) {
	person, err := s.service.GetPerson(ctx, idFromProto(id.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(personToProto(person)), nil
}

// GetPersonLinks implements [genconnect.PersonServiceHandler].
func (s connectServer) GetPersonLinks(
	ctx context.Context, id *connect.Request[gen.PersonId],
) (*connect.Response[gen.PersonLinkList], error) {
	links, err := s.service.GetPersonLinks(ctx, idFromProto(id.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(linksToProto(links)), nil
}

// CreatePerson implements [genconnect.PersonServiceHandler].
func (s connectServer) CreatePerson(
	ctx context.Context, person *connect.Request[gen.Person],
) (*connect.Response[gen.Person], error) {
	created, err := s.service.CreatePerson(ctx, personFromProto(person.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(personToProto(created)), nil
}

// connectCalls makes the calls through connect-go.
type connectCalls struct {
	client genconnect.PersonServiceClient
}

// ListPersons implements [calls].
func (s connectCalls) ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error) {
	list, err := s.client.ListPersons(ctx, connect.NewRequest(pageToProto(page)))
	if err != nil {
		return directory.PersonList{}, wireconnect.Decode(err)
	}
	return listFromProto(list.Msg), nil
}

// GetPerson implements [calls].
func (s connectCalls) GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error) {
	person, err := s.client.GetPerson(ctx, connect.NewRequest(idToProto(id)))
	if err != nil {
		return directory.Person{}, wireconnect.Decode(err)
	}
	return personFromProto(person.Msg), nil
}

// GetPersonLinks implements [calls].
func (s connectCalls) GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error) {
	links, err := s.client.GetPersonLinks(ctx, connect.NewRequest(idToProto(id)))
	if err != nil {
		return directory.PersonLinkList{}, wireconnect.Decode(err)
	}
	return linksFromProto(links.Msg), nil
}

// CreatePerson implements [calls].
func (s connectCalls) CreatePerson(ctx context.Context, person directory.Person) (directory.Person, error) {
	created, err := s.client.CreatePerson(ctx, connect.NewRequest(personToProto(person)))
	if err != nil {
		return directory.Person{}, wireconnect.Decode(err)
	}
	return personFromProto(created.Msg), nil
}
