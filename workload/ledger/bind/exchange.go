package bind

import (
	"context"
	"iter"

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

// exchangeHandlers are the operations, for wires that speak package exchange, which
// write each event to the connection before they ask for the next.
func exchangeHandlers(service ledger.Service) []exchange.Handler {
	return []exchange.Handler{
		getBalance().Unary(service.GetBalance),
		getBalances().Unary(service.GetBalances),
		getTransactions().Unary(service.GetTransactions),
		postTransaction().Unary(service.PostTransaction),
		streamTransactions().ServerStream(service.StreamTransactions),
	}
}

// newExchangeStub returns the stub over a client.
func newExchangeStub(client *exchange.Client) ledger.Service {
	return stub{&exchangeCalls{
		client: client,
		get:    getBalance(), batch: getBalances(), page: getTransactions(),
		post: postTransaction(), stream: streamTransactions(),
	}}
}

// exchangeCalls makes the calls.
type exchangeCalls struct {
	client *exchange.Client
	get    exchange.Operation[ledger.AccountID, ledger.Balance]
	batch  exchange.Operation[ledger.AccountIDs, ledger.Balances]
	page   exchange.Operation[ledger.Page, ledger.TransactionList]
	post   exchange.Operation[ledger.Posting, ledger.Transaction]
	stream exchange.Operation[ledger.Feed, ledger.Event]
}

var _ ledger.Service = (*exchangeCalls)(nil)

// GetBalance implements [ledger.Service].
func (s *exchangeCalls) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	return s.get.Call(ctx, s.client, id)
}

// GetBalances implements [ledger.Service].
func (s *exchangeCalls) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	return s.batch.Call(ctx, s.client, ids)
}

// GetTransactions implements [ledger.Service].
func (s *exchangeCalls) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	return s.page.Call(ctx, s.client, page)
}

// PostTransaction implements [ledger.Service].
func (s *exchangeCalls) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	return s.post.Call(ctx, s.client, posting)
}

// StreamTransactions implements [ledger.Service].
func (s *exchangeCalls) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	return s.stream.CallServerStream(ctx, s.client, feed)
}
