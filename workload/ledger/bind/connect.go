package bind

import (
	"context"
	"iter"

	"connectrpc.com/connect"

	"wirelab"
	wireconnect "wirelab/wire/connect"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen"
	"wirelab/workload/ledger/gen/genconnect"
)

// Connect carries the ledger over the Connect protocol on HTTP/2 in plaintext.
func Connect() wirelab.Binding[ledger.Service] {
	return rpc().OverConnect(wireconnect.Protocol())
}

// ConnectHTTP1 carries the ledger over the Connect protocol on HTTP/1.1.
func ConnectHTTP1() wirelab.Binding[ledger.Service] {
	return rpc().OverConnect(wireconnect.ProtocolHTTP1())
}

// connectServer answers for service through connect-go, whichever protocol the call came by.
type connectServer struct{ service ledger.Service }

var (
	_ genconnect.BalanceServiceHandler     = connectServer{}
	_ genconnect.TransactionServiceHandler = connectServer{}
	_ genconnect.LedgerServiceHandler      = connectServer{}
)

// GetBalance implements [genconnect.BalanceServiceHandler].
func (s connectServer) GetBalance(
	ctx context.Context, id *connect.Request[gen.GetBalanceRequest],
) (*connect.Response[gen.Balance], error) {
	balance, err := s.service.GetBalance(ctx, idFromProto(id.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(balanceToProto(balance)), nil
}

// GetBalances implements [genconnect.BalanceServiceHandler].
func (s connectServer) GetBalances(
	ctx context.Context, ids *connect.Request[gen.GetBalancesRequest],
) (*connect.Response[gen.GetBalancesResponse], error) {
	balances, err := s.service.GetBalances(ctx, idsFromProto(ids.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(balancesToProto(balances)), nil
}

// GetTransactions implements [genconnect.LedgerServiceHandler].
func (s connectServer) GetTransactions(
	ctx context.Context, ask *connect.Request[gen.GetTransactionsRequest],
) (*connect.Response[gen.GetTransactionsResponse], error) {
	page, err := pageFromProto(ask.Msg)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	list, err := s.service.GetTransactions(ctx, page)
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(listToProto(list)), nil
}

// PostTransaction implements [genconnect.LedgerServiceHandler].
func (s connectServer) PostTransaction(
	ctx context.Context, posting *connect.Request[gen.PostTransactionRequest],
) (*connect.Response[gen.Transaction], error) {
	posted, err := s.service.PostTransaction(ctx, postingFromProto(posting.Msg))
	if err != nil {
		return nil, wireconnect.Encode(err)
	}
	return connect.NewResponse(transactionToProto(posted)), nil
}

// StreamTransactions implements [genconnect.TransactionServiceHandler].
// connect-go writes each message through to the connection, and waits there for
// a reader that is behind.
func (s connectServer) StreamTransactions(
	ctx context.Context, ask *connect.Request[gen.StreamTransactionsRequest], call *connect.ServerStream[gen.TransactionEvent],
) error {
	feed, err := feedFromProto(ask.Msg)
	if err != nil {
		return wireconnect.Encode(err)
	}
	for event, err := range s.service.StreamTransactions(ctx, feed) {
		if err != nil {
			return wireconnect.Encode(err)
		}
		if err := call.Send(eventToProto(event)); err != nil {
			return err
		}
	}
	return nil
}

// connectCalls makes the calls through connect-go.
type connectCalls struct {
	balances     genconnect.BalanceServiceClient
	transactions genconnect.TransactionServiceClient
	ledger       genconnect.LedgerServiceClient
}

var _ ledger.Service = connectCalls{}

func newConnectCalls(by connect.HTTPClient, url string, options ...connect.ClientOption) connectCalls {
	return connectCalls{
		balances:     genconnect.NewBalanceServiceClient(by, url, options...),
		transactions: genconnect.NewTransactionServiceClient(by, url, options...),
		ledger:       genconnect.NewLedgerServiceClient(by, url, options...),
	}
}

// GetBalance implements [ledger.Service].
func (s connectCalls) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	balance, err := s.balances.GetBalance(ctx, connect.NewRequest(idToProto(id)))
	if err != nil {
		return ledger.Balance{}, wireconnect.Decode(err)
	}
	return read(balanceFromProto(balance.Msg))
}

// GetBalances implements [ledger.Service].
func (s connectCalls) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	balances, err := s.balances.GetBalances(ctx, connect.NewRequest(idsToProto(ids)))
	if err != nil {
		return ledger.Balances{}, wireconnect.Decode(err)
	}
	return read(balancesFromProto(balances.Msg))
}

// GetTransactions implements [ledger.Service].
func (s connectCalls) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	list, err := s.ledger.GetTransactions(ctx, connect.NewRequest(pageToProto(page)))
	if err != nil {
		return ledger.TransactionList{}, wireconnect.Decode(err)
	}
	return read(listFromProto(list.Msg))
}

// PostTransaction implements [ledger.Service].
func (s connectCalls) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	posted, err := s.ledger.PostTransaction(ctx, connect.NewRequest(postingToProto(posting)))
	if err != nil {
		return ledger.Transaction{}, wireconnect.Decode(err)
	}
	return read(transactionFromProto(posted.Msg))
}

// StreamTransactions implements [ledger.Service].
func (s connectCalls) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		call, err := s.transactions.StreamTransactions(ctx, connect.NewRequest(feedToProto(feed)))
		if err != nil {
			yield(ledger.Event{}, wireconnect.Decode(err))
			return
		}
		// Resets the stream if its end was not read, else keeps the connection.
		defer func() { _ = call.Close() }()
		for call.Receive() {
			event, err := read(eventFromProto(call.Msg()))
			if !yield(event, err) || err != nil {
				return
			}
		}
		if err := call.Err(); err != nil {
			yield(ledger.Event{}, wireconnect.Decode(err))
		}
	}
}
