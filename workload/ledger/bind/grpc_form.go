package bind

import (
	"context"
	"errors"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/grpc"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/wire/form"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/httprpc"
	"wirelab/wire/raw"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen/genconnect"
)

// GRPCAvro carries the ledger over gRPC in Avro: calls, paths and names are
// those of [GRPC], and only the messages differ, which the content type
// application/grpc+avro says.
func GRPCAvro() wirelab.Binding[ledger.Service] {
	return grpcForm(wiregrpc.ProtocolAvro(false), avroForms)
}

// GRPCTLSAvro is [GRPCAvro] over TLS 1.3.
func GRPCTLSAvro() wirelab.Binding[ledger.Service] {
	return grpcForm(wiregrpc.ProtocolAvro(true), avroForms)
}

// GRPCJSON is the same with the JSON of plain HTTP, which is not the JSON that
// Protocol Buffers define.
func GRPCJSON() wirelab.Binding[ledger.Service] {
	return grpcForm(wiregrpc.ProtocolJSON(false), jsonForms)
}

// GRPCTLSJSON is [GRPCJSON] over TLS 1.3.
func GRPCTLSJSON() wirelab.Binding[ledger.Service] {
	return grpcForm(wiregrpc.ProtocolJSON(true), jsonForms)
}

// forms are the messages in one encoding, whose subtype in content types is name.
type forms struct {
	name        string
	id          form.Form[ledger.AccountID]
	balance     form.Form[ledger.Balance]
	ids         form.Form[ledger.AccountIDs]
	balances    form.Form[ledger.Balances]
	page        form.Form[ledger.Page]
	list        form.Form[ledger.TransactionList]
	posting     form.Form[ledger.Posting]
	transaction form.Form[ledger.Transaction]
	feed        form.Form[ledger.Feed]
	event       form.Form[ledger.Event]
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
		id: jsonForm(httprpc.JSONOf(
			func(id ledger.AccountID) idJSON { return idJSON(id) }, func(id idJSON) ledger.AccountID { return ledger.AccountID(id) })),
		balance: jsonForm(c.balance.JSON),
		ids: jsonForm(httprpc.JSONOf(
			func(ids ledger.AccountIDs) idsJSON { return idsJSON(ids) }, func(ids idsJSON) ledger.AccountIDs { return ledger.AccountIDs(ids) })),
		balances:    jsonForm(c.balances.JSON),
		page:        jsonForm(httprpc.CheckedJSONOf(pageToJSON, pageFromJSON)),
		list:        jsonForm(c.list.JSON),
		posting:     jsonForm(c.posting.JSON),
		transaction: jsonForm(c.transaction.JSON),
		feed:        jsonForm(httprpc.CheckedJSONOf(feedToJSON, feedFromJSON)),
		event:       jsonForm(c.event),
	}
}

// jsonForm is a codec as gRPC takes it. What a message of ours says of itself,
// as that a text in it is no time, is for the caller; what the library says is not.
func jsonForm[T any](c httprpc.Codec[T]) form.Form[T] {
	return form.Form[T]{
		Append: func(dst []byte, v *T) ([]byte, error) {
			message, err := c.Encode(*v)
			if err != nil {
				return dst, wirelab.Errorf(wirelab.InvalidArgument, "the value cannot be written in JSON")
			}
			return append(dst, message...), nil
		},
		Decode: func(message []byte) (T, error) {
			v, err := c.Decode(message)
			var coded *wirelab.Error
			if err != nil && !errors.As(err, &coded) {
				err = wirelab.Errorf(wirelab.InvalidArgument, "the message cannot be read as JSON")
			}
			return v, err
		},
	}
}

// grpcForm is the ledger over gRPC in an encoding of its own. As with [GRPC],
// the library is another dimension.
func grpcForm(protocol wirelab.Protocol, in func() forms) wirelab.Binding[ledger.Service] {
	secure := protocol.Secure
	over := wireconnect.HTTP2(secure)
	wire := raw.Over{Version: raw.HTTP2, Secure: secure}
	return wirelab.Binding[ledger.Service]{
		Protocol: protocol,
		Style:    wirelab.Idiomatic,
		Servers: []wirelab.Server[ledger.Service]{
			{Library: "grpc-go", Serve: func(ctx context.Context, at wirelab.Endpoint, service ledger.Service) error {
				f := in()
				return wiregrpc.ServeIn(ctx, at, secure, f.name, func(to grpc.ServiceRegistrar) { f.register(to, service) })
			}},
			{Library: "connect-go", Serve: func(ctx context.Context, at wirelab.Endpoint, service ledger.Service) error {
				handler := in().handler(service)
				names := []string{genconnect.BalanceServiceName, genconnect.TransactionServiceName, genconnect.LedgerServiceName}
				for path, answer := range wiregrpc.Health(names, wireconnect.HandlerOptions()...) {
					handler.Handle(path, answer)
				}
				return wireconnect.Serve(ctx, at, over, handler)
			}},
		},
		Clients: []wirelab.Dialer[ledger.Service]{
			{Library: "grpc-go", Dial: func(_ context.Context, to wirelab.Dialing) (ledger.Service, io.Closer, error) {
				conn, err := wiregrpc.Dial(to, secure)
				if err != nil {
					return nil, nil, err
				}
				return in().grpcStub(conn), conn, nil
			}},
			{Library: "connect-go", Dial: func(_ context.Context, to wirelab.Dialing) (ledger.Service, io.Closer, error) {
				client := wireconnect.Dial(to, over)
				return in().connectStub(client, client.BaseURL()), client, nil
			}},
		},
		Raw: raw.Driver(wire, rawHoles(), func(t *raw.Transport, scheme, address string) ledger.Service {
			return in().connectStub(t, scheme+"://"+address)
		}),
		Null: raw.Null(wire, func(service ledger.Service) http.Handler {
			return in().handler(service)
		}, genconnect.LedgerServicePostTransactionProcedure, genconnect.TransactionServiceStreamTransactionsProcedure),
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

// handler is the three services as connect-go serves them.
func (f forms) handler(service ledger.Service) *http.ServeMux {
	const (
		getBalance         = genconnect.BalanceServiceGetBalanceProcedure
		getBalances        = genconnect.BalanceServiceGetBalancesProcedure
		streamTransactions = genconnect.TransactionServiceStreamTransactionsProcedure
		getTransactions    = genconnect.LedgerServiceGetTransactionsProcedure
		postTransaction    = genconnect.LedgerServicePostTransactionProcedure
	)
	mux := http.NewServeMux()
	mux.Handle(getBalance, wireconnect.HandleUnary(getBalance, f.name, f.id, f.balance, service.GetBalance))
	mux.Handle(getBalances, wireconnect.HandleUnary(getBalances, f.name, f.ids, f.balances, service.GetBalances))
	mux.Handle(streamTransactions, wireconnect.HandleServerStream(streamTransactions, f.name, f.feed, f.event, service.StreamTransactions))
	mux.Handle(getTransactions, wireconnect.HandleUnary(getTransactions, f.name, f.page, f.list, service.GetTransactions))
	mux.Handle(postTransaction, wireconnect.HandleUnary(postTransaction, f.name, f.posting, f.transaction, service.PostTransaction))
	return mux
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
func (f forms) connectStub(client connect.HTTPClient, at string) ledger.Service {
	speak := connect.WithGRPC()
	return stub{&restCalls{
		getBalance: wireconnect.CallUnary(
			client, at, genconnect.BalanceServiceGetBalanceProcedure, f.name, f.id, f.balance, speak),
		getBalances: wireconnect.CallUnary(
			client, at, genconnect.BalanceServiceGetBalancesProcedure, f.name, f.ids, f.balances, speak),
		getTransactions: wireconnect.CallUnary(
			client, at, genconnect.LedgerServiceGetTransactionsProcedure, f.name, f.page, f.list, speak),
		postTransaction: wireconnect.CallUnary(
			client, at, genconnect.LedgerServicePostTransactionProcedure, f.name, f.posting, f.transaction, speak),
		streamTransactions: wireconnect.CallServerStream(
			client, at, genconnect.TransactionServiceStreamTransactionsProcedure, f.name, f.feed, f.event, speak),
	}}
}
