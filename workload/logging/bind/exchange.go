package bind

import (
	"wirelab/wire/exchange"
	"wirelab/workload/logging"
)

// What the wires that speak package exchange share: the operations by number,
// in the schema's messages. The numbers are for ever, like those of fields.
// They stand in functions, not variables, since codecs are functions.

func writeLog() exchange.Operation[logging.Entry, logging.Written] {
	return exchange.Operation[logging.Entry, logging.Written]{
		Number: 1, Request: exchange.CheckedProtoOf(entryToProto, entryFromProto), Reply: exchange.ProtoOf(writtenToProto, writtenFromProto),
	}
}

func getEntry() exchange.Operation[logging.EntryID, logging.Stored] {
	return exchange.Operation[logging.EntryID, logging.Stored]{
		Number: 2, Request: exchange.ProtoOf(idToProto, idFromProto), Reply: exchange.CheckedProtoOf(storedToProto, storedFromProto),
	}
}

func listEntries() exchange.Operation[logging.Query, logging.EntryList] {
	return exchange.Operation[logging.Query, logging.EntryList]{
		Number: 3, Request: exchange.CheckedProtoOf(queryToProto, queryFromProto), Reply: exchange.CheckedProtoOf(listToProto, listFromProto),
	}
}

func deleteEntries() exchange.Operation[logging.Retention, logging.Deleted] {
	return exchange.Operation[logging.Retention, logging.Deleted]{
		Number: 4, Request: exchange.CheckedProtoOf(retentionToProto, retentionFromProto),
		Reply: exchange.ProtoOf(deletedToProto, deletedFromProto),
	}
}

// newExchangeStub returns the stub over a client.
func newExchangeStub(client *exchange.Client) logging.Service {
	return stub{newExchangeCalls(client)}
}
