package bind

import (
	"context"
	"iter"

	"wirelab/workload/ledger"
)

// stub is the service as a client sees it over the calls of one wire. It
// refuses what is outside the contract before the wire sees it: wires differ in
// what they do with an id that is no element of a path, with text that is not
// UTF-8, and with a list that no address can hold.
type stub struct{ calls ledger.Service }

var _ ledger.Service = stub{}

// GetBalance implements [ledger.Service].
func (s stub) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	if err := id.Validate(); err != nil {
		return ledger.Balance{}, err
	}
	return s.calls.GetBalance(ctx, id)
}

// GetBalances implements [ledger.Service].
func (s stub) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	if err := ids.Validate(); err != nil {
		return ledger.Balances{}, err
	}
	return s.calls.GetBalances(ctx, ids)
}

// GetTransactions implements [ledger.Service].
func (s stub) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	if err := page.Validate(); err != nil {
		return ledger.TransactionList{}, err
	}
	return s.calls.GetTransactions(ctx, page)
}

// PostTransaction implements [ledger.Service].
func (s stub) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	if err := posting.Validate(); err != nil {
		return ledger.Transaction{}, err
	}
	return s.calls.PostTransaction(ctx, posting)
}

// StreamTransactions implements [ledger.Service].
func (s stub) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	if err := feed.Validate(); err != nil {
		return failed[ledger.Event](err)
	}
	return s.calls.StreamTransactions(ctx, feed)
}
