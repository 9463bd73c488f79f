package bind

import (
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

// newExchangeStub returns the stub over a client.
func newExchangeStub(client *exchange.Client) directory.Service {
	return stub{newExchangeCalls(client)}
}
