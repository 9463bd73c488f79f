package bind

import (
	"wirelab/wire/exchange"
	"wirelab/workload/ledger"
)

// What the wires that speak package exchange share: the operations by number,
// in the schema's messages. The numbers are for ever, like those of fields.
// They stand in functions, not variables, since codecs are functions.

func getBalance() exchange.Operation[ledger.AccountID, ledger.Balance] {
	return exchange.Operation[ledger.AccountID, ledger.Balance]{
		Number: 1, Request: exchange.ProtoOf(idToProto, idFromProto), Reply: exchange.CheckedProtoOf(balanceToProto, balanceFromProto),
	}
}

func getBalances() exchange.Operation[ledger.AccountIDs, ledger.Balances] {
	return exchange.Operation[ledger.AccountIDs, ledger.Balances]{
		Number: 2, Request: exchange.ProtoOf(idsToProto, idsFromProto), Reply: exchange.CheckedProtoOf(balancesToProto, balancesFromProto),
	}
}

func getTransactions() exchange.Operation[ledger.Page, ledger.TransactionList] {
	return exchange.Operation[ledger.Page, ledger.TransactionList]{
		Number: 3, Request: exchange.CheckedProtoOf(pageToProto, pageFromProto), Reply: exchange.CheckedProtoOf(listToProto, listFromProto),
	}
}

func postTransaction() exchange.Operation[ledger.Posting, ledger.Transaction] {
	return exchange.Operation[ledger.Posting, ledger.Transaction]{
		Number: 4, Request: exchange.ProtoOf(postingToProto, postingFromProto),
		Reply: exchange.CheckedProtoOf(transactionToProto, transactionFromProto),
	}
}

func streamTransactions() exchange.Operation[ledger.Feed, ledger.Event] {
	return exchange.Operation[ledger.Feed, ledger.Event]{
		Number: 5, Request: exchange.CheckedProtoOf(feedToProto, feedFromProto), Reply: exchange.CheckedProtoOf(eventToProto, eventFromProto),
	}
}

// newExchangeStub returns the stub over a client.
func newExchangeStub(client *exchange.Client) ledger.Service {
	return stub{newExchangeCalls(client)}
}
