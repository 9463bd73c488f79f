package bind

import (
	"context"
	"io"

	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/directory"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "Directory"

// NetRPC carries the directory over net/rpc, in gob of the domain's own types,
// which is how net/rpc is used: their fields' names are on the wire.
func NetRPC() wirelab.Binding[directory.Service] {
	return wirelab.Binding[directory.Service]{
		Protocol: netrpc.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[directory.Service]{{
			Library: "net/rpc",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service directory.Service) error {
				return netrpc.Serve(ctx, at, netrpcName, &netrpcServer{service})
			},
		}},
		Clients: []wirelab.Dialer[directory.Service]{{
			Library: "net/rpc",
			Dial: func(_ context.Context, to wirelab.Dialing) (directory.Service, io.Closer, error) {
				client := netrpc.Dial(to)
				return stub{netrpcCalls{client}}, client, nil
			},
		}},
	}
}

// netrpcServer is the receiver whose methods net/rpc finds.
type netrpcServer struct{ service directory.Service }

// ListPersons is the method Directory.ListPersons.
func (s *netrpcServer) ListPersons(
	req *netrpc.Request[directory.Page], rep *netrpc.Reply[directory.PersonList],
) error {
	return netrpc.Answer(req, rep, s.service.ListPersons)
}

// GetPerson is the method Directory.GetPerson.
func (s *netrpcServer) GetPerson(
	req *netrpc.Request[directory.PersonID], rep *netrpc.Reply[directory.Person],
) error {
	return netrpc.Answer(req, rep, s.service.GetPerson)
}

// GetPersonLinks is the method Directory.GetPersonLinks.
func (s *netrpcServer) GetPersonLinks(
	req *netrpc.Request[directory.PersonID], rep *netrpc.Reply[directory.PersonLinkList],
) error {
	return netrpc.Answer(req, rep, s.service.GetPersonLinks)
}

// CreatePerson is the method Directory.CreatePerson.
func (s *netrpcServer) CreatePerson(
	req *netrpc.Request[directory.Person], rep *netrpc.Reply[directory.Person],
) error {
	return netrpc.Answer(req, rep, s.service.CreatePerson)
}

// netrpcCalls makes the calls.
type netrpcCalls struct{ client *netrpc.Client }

// ListPersons implements [calls].
func (s netrpcCalls) ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error) {
	return netrpc.Call[directory.Page, directory.PersonList](ctx, s.client, netrpcName+".ListPersons", page)
}

// GetPerson implements [calls].
func (s netrpcCalls) GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error) {
	return netrpc.Call[directory.PersonID, directory.Person](ctx, s.client, netrpcName+".GetPerson", id)
}

// GetPersonLinks implements [calls].
func (s netrpcCalls) GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error) {
	return netrpc.Call[directory.PersonID, directory.PersonLinkList](ctx, s.client, netrpcName+".GetPersonLinks", id)
}

// CreatePerson implements [calls].
func (s netrpcCalls) CreatePerson(ctx context.Context, person directory.Person) (directory.Person, error) {
	return netrpc.Call[directory.Person, directory.Person](ctx, s.client, netrpcName+".CreatePerson", person)
}
