package bind

import (
	"context"

	"wirelab/wire/exchange"
	"wirelab/workload/directory"
)

// What the wires that speak package exchange share: the operations by number,
// in the schema's messages. The numbers are for ever, like those of fields.
// They stand in functions, not variables, since codecs are functions.

func listPersons() exchange.Operation[directory.Page, directory.PersonList] {
	return exchange.Operation[directory.Page, directory.PersonList]{
		Number: 1, Request: exchange.ProtoOf(pageToProto, pageFromProto), Reply: exchange.ProtoOf(listToProto, listFromProto),
	}
}

func getPerson() exchange.Operation[directory.PersonID, directory.Person] {
	return exchange.Operation[directory.PersonID, directory.Person]{
		Number: 2, Request: exchange.ProtoOf(idToProto, idFromProto), Reply: exchange.ProtoOf(personToProto, personFromProto),
	}
}

func getPersonLinks() exchange.Operation[directory.PersonID, directory.PersonLinkList] {
	return exchange.Operation[directory.PersonID, directory.PersonLinkList]{
		Number: 3, Request: exchange.ProtoOf(idToProto, idFromProto), Reply: exchange.ProtoOf(linksToProto, linksFromProto),
	}
}

func createPerson() exchange.Operation[directory.Person, directory.Person] {
	return exchange.Operation[directory.Person, directory.Person]{
		Number: 4, Request: exchange.ProtoOf(personToProto, personFromProto), Reply: exchange.ProtoOf(personToProto, personFromProto),
	}
}

// exchangeHandlers are the operations, for wires that speak package exchange.
func exchangeHandlers(service directory.Service) []exchange.Handler {
	return []exchange.Handler{
		listPersons().Unary(service.ListPersons),
		getPerson().Unary(service.GetPerson),
		getPersonLinks().Unary(service.GetPersonLinks),
		createPerson().Unary(service.CreatePerson),
	}
}

// newExchangeStub returns the stub over a client.
func newExchangeStub(client *exchange.Client) directory.Service {
	return stub{&exchangeCalls{
		client: client,
		list:   listPersons(), get: getPerson(), links: getPersonLinks(), create: createPerson(),
	}}
}

// exchangeCalls makes the calls.
type exchangeCalls struct {
	client *exchange.Client
	list   exchange.Operation[directory.Page, directory.PersonList]
	get    exchange.Operation[directory.PersonID, directory.Person]
	links  exchange.Operation[directory.PersonID, directory.PersonLinkList]
	create exchange.Operation[directory.Person, directory.Person]
}

// ListPersons implements [calls].
func (s *exchangeCalls) ListPersons(ctx context.Context, page directory.Page) (directory.PersonList, error) {
	return s.list.Call(ctx, s.client, page)
}

// GetPerson implements [calls].
func (s *exchangeCalls) GetPerson(ctx context.Context, id directory.PersonID) (directory.Person, error) {
	return s.get.Call(ctx, s.client, id)
}

// GetPersonLinks implements [calls].
func (s *exchangeCalls) GetPersonLinks(ctx context.Context, id directory.PersonID) (directory.PersonLinkList, error) {
	return s.links.Call(ctx, s.client, id)
}

// CreatePerson implements [calls].
func (s *exchangeCalls) CreatePerson(ctx context.Context, person directory.Person) (directory.Person, error) {
	return s.create.Call(ctx, s.client, person)
}
