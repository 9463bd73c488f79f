package bind

import (
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	"wirelab/wire/codec"
	wireconnect "wirelab/wire/connect"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/grpcbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen/genconnect"
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
		id:   c.id.Form, balance: c.balance.Form, ids: c.ids.Form, balances: c.balances.Form, page: c.page.Form, list: c.list.Form,
		posting: c.posting.Form, transaction: c.transaction.Form, feed: c.feed.Form, event: c.event.Form,
	}
}

func jsonForms() forms {
	c := newRESTCodecs()
	return forms{
		name: "json",
		id: httprpc.JSONOf(
			func(id ledger.AccountID) idJSON { return idJSON(id) }, func(id idJSON) ledger.AccountID { return ledger.AccountID(id) }).Form(),
		balance: c.balance.JSON.Form(),
		ids: httprpc.JSONOf(
			func(ids ledger.AccountIDs) idsJSON { return idsJSON(ids) }, func(ids idsJSON) ledger.AccountIDs { return ledger.AccountIDs(ids) }).Form(),
		balances:    c.balances.JSON.Form(),
		page:        httprpc.CheckedJSONOf(pageToJSON, pageFromJSON).Form(),
		list:        c.list.JSON.Form(),
		posting:     c.posting.JSON.Form(),
		transaction: c.transaction.JSON.Form(),
		feed:        httprpc.CheckedJSONOf(feedToJSON, feedFromJSON).Form(),
		event:       c.event.Form(),
	}
}

// inForms is the ledger on gRPC in an encoding of its own, named by its subtype.
// Its forms are made when it is served or called.
func inForms(subtype string, in func() forms) grpcbind.Service[ledger.Service] {
	return grpcbind.Service[ledger.Service]{
		Names: rpcNames(), Subtype: subtype,
		Register: func(to grpc.ServiceRegistrar, service ledger.Service) { in().register(to, service) },
		Handle:   func(mux *http.ServeMux, service ledger.Service) { in().handle(mux, service) },
		GRPC:     func(conn *grpc.ClientConn) ledger.Service { return in().grpcStub(conn) },
		Connect: func(client connect.HTTPClient, url string, speak ...connect.ClientOption) ledger.Service {
			return in().connectStub(client, url, speak...)
		},
		RawHoles: rawHoles(), Fresh: rpcFresh(),
	}
}

// register has the three services served by grpc-go.
func (f forms) register(to grpc.ServiceRegistrar, service ledger.Service) {
	to.RegisterService(wiregrpc.Describe(
		genconnect.BalanceServiceName, f.name,
		wiregrpc.Unary("GetBalance", f.id, f.balance, ledger.Service.GetBalance),
		wiregrpc.Unary("GetBalances", f.ids, f.balances, ledger.Service.GetBalances),
	), service)
	to.RegisterService(wiregrpc.Describe(
		genconnect.TransactionServiceName, f.name,
		wiregrpc.ServerStream("StreamTransactions", f.feed, f.event, ledger.Service.StreamTransactions),
	), service)
	to.RegisterService(wiregrpc.Describe(
		genconnect.LedgerServiceName, f.name,
		wiregrpc.Unary("GetTransactions", f.page, f.list, ledger.Service.GetTransactions),
		wiregrpc.Unary("PostTransaction", f.posting, f.transaction, ledger.Service.PostTransaction),
	), service)
}

// handle has connect-go serve the three services.
func (f forms) handle(mux *http.ServeMux, service ledger.Service) {
	const (
		getBalance         = genconnect.BalanceServiceGetBalanceProcedure
		getBalances        = genconnect.BalanceServiceGetBalancesProcedure
		streamTransactions = genconnect.TransactionServiceStreamTransactionsProcedure
		getTransactions    = genconnect.LedgerServiceGetTransactionsProcedure
		postTransaction    = genconnect.LedgerServicePostTransactionProcedure
	)
	mux.Handle(getBalance, wireconnect.HandleUnary(getBalance, f.name, f.id, f.balance, service.GetBalance))
	mux.Handle(getBalances, wireconnect.HandleUnary(getBalances, f.name, f.ids, f.balances, service.GetBalances))
	mux.Handle(streamTransactions, wireconnect.HandleServerStream(streamTransactions, f.name, f.feed, f.event, service.StreamTransactions))
	mux.Handle(getTransactions, wireconnect.HandleUnary(getTransactions, f.name, f.page, f.list, service.GetTransactions))
	mux.Handle(postTransaction, wireconnect.HandleUnary(postTransaction, f.name, f.posting, f.transaction, service.PostTransaction))
}

// grpcStub calls through grpc-go.
func (f forms) grpcStub(conn *grpc.ClientConn) ledger.Service {
	const balances, transactions, ours = genconnect.BalanceServiceName, genconnect.TransactionServiceName, genconnect.LedgerServiceName
	return stub{&restCalls{
		getBalance:         wiregrpc.CallUnary(conn, balances, "GetBalance", f.name, f.id, f.balance),
		getBalances:        wiregrpc.CallUnary(conn, balances, "GetBalances", f.name, f.ids, f.balances),
		getTransactions:    wiregrpc.CallUnary(conn, ours, "GetTransactions", f.name, f.page, f.list),
		postTransaction:    wiregrpc.CallUnary(conn, ours, "PostTransaction", f.name, f.posting, f.transaction),
		streamTransactions: wiregrpc.CallServerStream(conn, transactions, "StreamTransactions", f.name, f.feed, f.event),
	}}
}

// connectStub calls through connect-go.
func (f forms) connectStub(client connect.HTTPClient, at string, speak ...connect.ClientOption) ledger.Service {
	return stub{&restCalls{
		getBalance: wireconnect.CallUnary(
			client, at, genconnect.BalanceServiceGetBalanceProcedure, f.name, f.id, f.balance, speak...),
		getBalances: wireconnect.CallUnary(
			client, at, genconnect.BalanceServiceGetBalancesProcedure, f.name, f.ids, f.balances, speak...),
		getTransactions: wireconnect.CallUnary(
			client, at, genconnect.LedgerServiceGetTransactionsProcedure, f.name, f.page, f.list, speak...),
		postTransaction: wireconnect.CallUnary(
			client, at, genconnect.LedgerServicePostTransactionProcedure, f.name, f.posting, f.transaction, speak...),
		streamTransactions: wireconnect.CallServerStream(
			client, at, genconnect.TransactionServiceStreamTransactionsProcedure, f.name, f.feed, f.event, speak...),
	}}
}
