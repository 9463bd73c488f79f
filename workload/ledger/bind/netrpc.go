package bind

import (
	"context"
	"io"
	"iter"

	"wirelab"
	"wirelab/wire/netrpc"
	"wirelab/workload/ledger"
)

// netrpcName is the name of the service, as net/rpc's clients say it.
const netrpcName = "Ledger"

// netrpcHole is why net/rpc does not carry the stream.
const netrpcHole = "net/rpc has no streams: one reply answers one request"

// NetRPC carries the ledger over net/rpc, in gob of the domain's own types,
// which is how net/rpc is used: their fields' names are on the wire.
func NetRPC() wirelab.Binding[ledger.Service] {
	return wirelab.Binding[ledger.Service]{
		Protocol: netrpc.Protocol(),
		Style:    wirelab.Idiomatic,
		Holes:    map[string]string{"StreamTransactions": netrpcHole},
		Servers: []wirelab.Server[ledger.Service]{{
			Library: "net/rpc",
			Serve: func(ctx context.Context, at wirelab.Endpoint, service ledger.Service) error {
				return netrpc.Serve(ctx, at, netrpcName, &netrpcServer{service})
			},
		}},
		Clients: []wirelab.Dialer[ledger.Service]{{
			Library: "net/rpc",
			Dial: func(_ context.Context, to wirelab.Dialing) (ledger.Service, io.Closer, error) {
				client := netrpc.Dial(to)
				return stub{netrpcCalls{client}}, client, nil
			},
		}},
	}
}

// netrpcServer is the receiver whose methods net/rpc finds.
type netrpcServer struct{ service ledger.Service }

// GetBalance is the method Ledger.GetBalance.
func (s *netrpcServer) GetBalance(
	req *netrpc.Request[ledger.AccountID], rep *netrpc.Reply[ledger.Balance],
) error {
	return netrpc.Answer(req, rep, s.service.GetBalance)
}

// GetBalances is the method Ledger.GetBalances.
func (s *netrpcServer) GetBalances(
	req *netrpc.Request[ledger.AccountIDs], rep *netrpc.Reply[ledger.Balances],
) error {
	return netrpc.Answer(req, rep, s.service.GetBalances)
}

// GetTransactions is the method Ledger.GetTransactions.
func (s *netrpcServer) GetTransactions(
	req *netrpc.Request[ledger.Page], rep *netrpc.Reply[ledger.TransactionList],
) error {
	return netrpc.Answer(req, rep, s.service.GetTransactions)
}

// PostTransaction is the method Ledger.PostTransaction.
func (s *netrpcServer) PostTransaction(
	req *netrpc.Request[ledger.Posting], rep *netrpc.Reply[ledger.Transaction],
) error {
	return netrpc.Answer(req, rep, s.service.PostTransaction)
}

// netrpcCalls makes the calls.
type netrpcCalls struct{ client *netrpc.Client }

var _ ledger.Service = netrpcCalls{}

// GetBalance implements [ledger.Service].
func (s netrpcCalls) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	return netrpc.Call[ledger.AccountID, ledger.Balance](ctx, s.client, netrpcName+".GetBalance", id)
}

// GetBalances implements [ledger.Service].
func (s netrpcCalls) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	return netrpc.Call[ledger.AccountIDs, ledger.Balances](ctx, s.client, netrpcName+".GetBalances", ids)
}

// GetTransactions implements [ledger.Service].
func (s netrpcCalls) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	return netrpc.Call[ledger.Page, ledger.TransactionList](ctx, s.client, netrpcName+".GetTransactions", page)
}

// PostTransaction implements [ledger.Service].
func (s netrpcCalls) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	return netrpc.Call[ledger.Posting, ledger.Transaction](ctx, s.client, netrpcName+".PostTransaction", posting)
}

// StreamTransactions implements [ledger.Service]: a hole.
func (netrpcCalls) StreamTransactions(context.Context, ledger.Feed) iter.Seq2[ledger.Event, error] {
	return failed[ledger.Event](wirelab.Errorf(wirelab.Unimplemented, "StreamTransactions: %s", netrpcHole))
}
