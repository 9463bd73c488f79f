package bind

import (
	"context"
	"net/http"

	"wirelab"
	"wirelab/wire/httpbind"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen"
	"wirelab/workload/ledger/schema"
)

// The ledger over plain HTTP, whatever its version: what the protocols of
// http1.go, http2.go, http3.go and sse.go share. Every server answers every
// path in every encoding; a protocol is what its client asks for.

// The paths. Balance, balances, stream and health are the published service's:
// its clients call them unchanged (docs/origins.md grb-F05 to F08). What it took for
// a path by its beginning alone is not one here.
const (
	pathBalance      = "/api/v1/accounts/{id}/balance"
	pathBalances     = "/api/v1/balances"
	pathTransactions = "/api/v1/transactions"
	pathStream       = "/api/v1/transactions/stream"
	pathHealth       = "/health"
)

// pathsWithoutID are where the published service says that an id is missing.
func pathsWithoutID() []string {
	return []string{"/api/v1/accounts", "/api/v1/accounts/", "/api/v1/accounts//balance"}
}

// restCodecs are the codecs of every message that travels in a body.
type restCodecs struct {
	balance     httprpc.Forms[ledger.Balance]
	balances    httprpc.Forms[ledger.Balances]
	list        httprpc.Forms[ledger.TransactionList]
	posting     httprpc.Forms[ledger.Posting]
	transaction httprpc.Forms[ledger.Transaction]
	event       httprpc.Codec[ledger.Event]
}

func newRESTCodecs() restCodecs {
	return restCodecs{
		balance: httprpc.Forms[ledger.Balance]{
			JSON:  httprpc.CheckedJSONOf(balanceToJSON, balanceFromJSON),
			Proto: httprpc.CheckedProtoOf[ledger.Balance, gen.Balance](balanceToProto, balanceFromProto),
			Avro:  inAvro().balance.http(),
		},
		balances: httprpc.Forms[ledger.Balances]{
			JSON:  httprpc.CheckedJSONOf(balancesToJSON, balancesFromJSON),
			Proto: httprpc.CheckedProtoOf[ledger.Balances, gen.GetBalancesResponse](balancesToProto, balancesFromProto),
			Avro:  inAvro().balances.http(),
		},
		list: httprpc.Forms[ledger.TransactionList]{
			JSON: httprpc.CheckedJSONOf(listToJSON, listFromJSON),
			Proto: httprpc.CheckedProtoOf[ledger.TransactionList, gen.GetTransactionsResponse](listToProto,
				listFromProto),
			Avro: inAvro().list.http(),
		},
		posting: httprpc.Forms[ledger.Posting]{
			JSON: httprpc.JSONOf(
				func(p ledger.Posting) postingJSON { return postingJSON(p) },
				func(p postingJSON) ledger.Posting { return ledger.Posting(p) }),
			Proto: httprpc.ProtoOf[ledger.Posting, gen.PostTransactionRequest](postingToProto, postingFromProto),
			Avro:  inAvro().posting.http(),
		},
		transaction: httprpc.Forms[ledger.Transaction]{
			JSON: httprpc.CheckedJSONOf(transactionToJSON, transactionFromJSON),
			Proto: httprpc.CheckedProtoOf[ledger.Transaction, gen.Transaction](transactionToProto,
				transactionFromProto),
			Avro: inAvro().transaction.http(),
		},
		event: httprpc.CheckedJSONOf(eventToJSON, eventFromJSON),
	}
}

// restHandler serves service on all paths.
func restHandler(service ledger.Service) http.Handler {
	c := newRESTCodecs()
	resources := map[string][]httprpc.Route{
		pathBalance:  {httprpc.Get(idParameters(), c.balance, service.GetBalance)},
		pathBalances: {httprpc.Get(idsParameters(), c.balances, service.GetBalances)},
		pathTransactions: {
			httprpc.Get(pageParameters(), c.list, service.GetTransactions),
			httprpc.Unary(c.posting, c.transaction, service.PostTransaction),
		},
		pathStream: {httprpc.GetStream(
			feedParameters(), service.StreamTransactions,
			eventStream(c.event).Framing(), httprpc.Lines[ledger.Feed](c.event),
		)},
		httprpc.PathOpenAPI: {httprpc.Described(schema.OpenAPI())},
		pathHealth:          {httprpc.Health(func(ctx context.Context) error { return ledger.Ready(ctx, service) })},
	}
	for _, path := range pathsWithoutID() {
		resources[path] = []httprpc.Route{{Method: http.MethodGet, Answer: func(context.Context, *httprpc.Call) error {
			return ledger.AccountID{}.Validate()
		}}}
	}
	return httprpc.NewREST(resources)
}

// noFraming is why a protocol whose client asks in an encoding carries no
// stream; "" where it does.
func noFraming(encoding httprpc.Encoding) string {
	switch encoding {
	case httprpc.Proto:
		return "there is no agreed framing of a stream of protobuf messages in a plain HTTP body; " +
			"the agreed ones are gRPC's and Connect's, which are protocols of their own here"
	case httprpc.Avro:
		return "there is no agreed framing of a stream of Avro messages in a plain HTTP body: an object " +
			"container file " +
			"has blocks, and no way to say that it failed; gRPC's is a separate protocol here"
	}
	return ""
}

// restStub calls every operation in one encoding; the stream is one of JSON alone.
func restStub(client *httprpc.Client, encoding httprpc.Encoding) stub {
	c := newRESTCodecs()
	calls := &functions{
		getBalance:      httprpc.CallGet(client, pathBalance, idParameters(), *c.balance.In(encoding)),
		getBalances:     httprpc.CallGet(client, pathBalances, idsParameters(), *c.balances.In(encoding)),
		getTransactions: httprpc.CallGet(client, pathTransactions, pageParameters(), *c.list.In(encoding)),
		postTransaction: httprpc.CallUnary(client, pathTransactions, *c.posting.In(encoding),
			*c.transaction.In(encoding)),
	}
	if why := noFraming(encoding); why != "" {
		calls.streamTransactions = unimplemented(why).streamTransactions
	} else {
		calls.streamTransactions = httprpc.CallGetStream(client, pathStream, feedParameters(), c.event)
	}
	return stub{calls}
}

// restBinding is the ledger over a protocol of plain HTTP.
func restBinding(c httpbind.Carriage) wirelab.Binding[ledger.Service] {
	b := restOver(c, func(client *httprpc.Client) ledger.Service { return restStub(client, c.Encoding) })
	if why := noFraming(c.Encoding); why != "" {
		b.Holes = map[string]string{"StreamTransactions": why}
	}
	return b
}

// restOver returns the ledger over a protocol of plain HTTP, with a given stub.
func restOver(c httpbind.Carriage, stub func(*httprpc.Client) ledger.Service) wirelab.Binding[ledger.Service] {
	return httpbind.Service[ledger.Service]{
		Handler: restHandler, RawHoles: rawHoles(),
		Fresh: []string{http.MethodPost + " " + pathTransactions, pathStream},
	}.Over(c, stub)
}
