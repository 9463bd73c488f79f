package bind

import (
	"wirelab"
	"wirelab/wire/codec"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
)

// GRPCAvro carries the ledger over gRPC in Avro: calls, paths and names are
// those of [GRPC], and only the messages differ, which the content type
// application/grpc+avro says.
func GRPCAvro() wirelab.Binding[ledger.Service] {
	return inForms("avro", avroForms).OverGRPC(wiregrpc.ProtocolAvro(false))
}

// GRPCTLSAvro is [GRPCAvro] over TLS 1.3.
func GRPCTLSAvro() wirelab.Binding[ledger.Service] {
	return inForms("avro", avroForms).OverGRPC(wiregrpc.ProtocolAvro(true))
}

// GRPCJSON is the same with the JSON of plain HTTP, which is not the JSON that
// Protocol Buffers define.
func GRPCJSON() wirelab.Binding[ledger.Service] {
	return inForms("json", jsonForms).OverGRPC(wiregrpc.ProtocolJSON(false))
}

// GRPCTLSJSON is [GRPCJSON] over TLS 1.3.
func GRPCTLSJSON() wirelab.Binding[ledger.Service] {
	return inForms("json", jsonForms).OverGRPC(wiregrpc.ProtocolJSON(true))
}

// forms are the messages in one encoding, whose subtype in content types is name.
type forms struct {
	name        string
	id          codec.Form[ledger.AccountID]
	balance     codec.Form[ledger.Balance]
	ids         codec.Form[ledger.AccountIDs]
	balances    codec.Form[ledger.Balances]
	page        codec.Form[ledger.Page]
	list        codec.Form[ledger.TransactionList]
	posting     codec.Form[ledger.Posting]
	transaction codec.Form[ledger.Transaction]
	feed        codec.Form[ledger.Feed]
	event       codec.Form[ledger.Event]
}

func avroForms() forms {
	c := inAvro()
	return forms{
		name: "avro",
		id:   c.id.Form, balance: c.balance.Form, ids: c.ids.Form, balances: c.balances.Form, page: c.page.Form,
		list:    c.list.Form,
		posting: c.posting.Form, transaction: c.transaction.Form, feed: c.feed.Form, event: c.event.Form,
	}
}

func jsonForms() forms {
	c := newRESTCodecs()
	return forms{
		name: "json",
		id: httprpc.JSONOf(
			func(id ledger.AccountID) idJSON { return idJSON(id) },
			func(id idJSON) ledger.AccountID { return ledger.AccountID(id) }).Form(),
		balance: c.balance.JSON.Form(),
		ids: httprpc.JSONOf(
			func(ids ledger.AccountIDs) idsJSON { return idsJSON(ids) },
			func(ids idsJSON) ledger.AccountIDs { return ledger.AccountIDs(ids) }).Form(),
		balances:    c.balances.JSON.Form(),
		page:        httprpc.CheckedJSONOf(pageToJSON, pageFromJSON).Form(),
		list:        c.list.JSON.Form(),
		posting:     c.posting.JSON.Form(),
		transaction: c.transaction.JSON.Form(),
		feed:        httprpc.CheckedJSONOf(feedToJSON, feedFromJSON).Form(),
		event:       c.event.Form(),
	}
}
