package bind

import (
	"wirelab"
	"wirelab/wire/rfc3339"
	"wirelab/workload/ledger"
	"wirelab/workload/ledger/gen"
)

// The domain's types and the generated messages, both ways. Absent messages
// read as their zero value, since the generated getters are nil-safe. Those
// with a time in them can fail: a time is text here, as the published service
// has it.

func idToProto(id ledger.AccountID) *gen.GetBalanceRequest {
	return &gen.GetBalanceRequest{AccountId: id.ID}
}

func idFromProto(id *gen.GetBalanceRequest) ledger.AccountID {
	return ledger.AccountID{ID: id.GetAccountId()}
}

func idsToProto(ids ledger.AccountIDs) *gen.GetBalancesRequest {
	return &gen.GetBalancesRequest{AccountIds: ids.IDs}
}

func idsFromProto(ids *gen.GetBalancesRequest) ledger.AccountIDs {
	return ledger.AccountIDs{IDs: ids.GetAccountIds()}
}

func balanceToProto(b ledger.Balance) *gen.Balance {
	return &gen.Balance{AccountId: b.Account, BalanceTinybar: b.Amount, Timestamp: rfc3339.Text(b.UpdatedAt)}
}

func balanceFromProto(b *gen.Balance) (ledger.Balance, error) {
	at, err := rfc3339.Parse(b.GetTimestamp())
	return ledger.Balance{Account: b.GetAccountId(), Amount: b.GetBalanceTinybar(), UpdatedAt: at}, err
}

// balancesToProto keeps the balances apart from the verdicts: clients of the
// published service know only the first, without those that were not found.
func balancesToProto(b ledger.Balances) *gen.GetBalancesResponse {
	to := &gen.GetBalancesResponse{
		Balances: make([]*gen.Balance, 0, len(b.Verdicts)),
		Verdicts: make([]*gen.Verdict, len(b.Verdicts)),
	}
	for i, v := range b.Verdicts {
		to.Verdicts[i] = &gen.Verdict{AccountId: v.Account, Found: v.Found}
		if v.Found {
			to.Balances = append(to.Balances, balanceToProto(v.Balance))
		}
	}
	return to
}

// balancesFromProto joins verdicts and balances again. Where they do not fit
// each other the message is none.
func balancesFromProto(b *gen.GetBalancesResponse) (ledger.Balances, error) {
	from := ledger.Balances{Verdicts: make([]ledger.Verdict, len(b.GetVerdicts()))}
	left := b.GetBalances()
	for i, v := range b.GetVerdicts() {
		from.Verdicts[i] = ledger.Verdict{Account: v.GetAccountId(), Found: v.GetFound()}
		if !v.GetFound() {
			continue
		}
		if len(left) == 0 {
			return ledger.Balances{}, errBalances()
		}
		balance, err := balanceFromProto(left[0])
		if err != nil {
			return ledger.Balances{}, err
		}
		from.Verdicts[i].Balance, left = balance, left[1:]
	}
	if len(left) > 0 {
		return ledger.Balances{}, errBalances()
	}
	return from, nil
}

// errBalances is a batch whose parts contradict each other.
func errBalances() error {
	return wirelab.Errorf(wirelab.Internal, "there are not as many balances as accounts found")
}

func pageToProto(p ledger.Page) *gen.GetTransactionsRequest {
	return &gen.GetTransactionsRequest{
		AfterTxId: p.After, FilterAccount: p.Account, SinceTimestamp: rfc3339.Text(p.Since), Limit: p.Limit,
	}
}

func pageFromProto(p *gen.GetTransactionsRequest) (ledger.Page, error) {
	since, err := rfc3339.Parse(p.GetSinceTimestamp())
	return ledger.Page{After: p.GetAfterTxId(), Account: p.GetFilterAccount(), Since: since, Limit: p.GetLimit()}, err
}

func postingToProto(p ledger.Posting) *gen.PostTransactionRequest {
	return &gen.PostTransactionRequest{
		TxId: p.ID, FromAccount: p.From, ToAccount: p.To, AmountTinybar: p.Amount, TxType: p.Type,
	}
}

func postingFromProto(p *gen.PostTransactionRequest) ledger.Posting {
	return ledger.Posting{
		ID: p.GetTxId(), From: p.GetFromAccount(), To: p.GetToAccount(), Amount: p.GetAmountTinybar(),
		Type: p.GetTxType(),
	}
}

func transactionToProto(t ledger.Transaction) *gen.Transaction {
	return &gen.Transaction{
		TxId: t.ID, FromAccount: t.From, ToAccount: t.To, AmountTinybar: t.Amount, TxType: t.Type,
		Timestamp: rfc3339.Text(t.Timestamp),
	}
}

func transactionFromProto(t *gen.Transaction) (ledger.Transaction, error) {
	at, err := rfc3339.Parse(t.GetTimestamp())
	return ledger.Transaction{
		ID: t.GetTxId(), From: t.GetFromAccount(), To: t.GetToAccount(), Amount: t.GetAmountTinybar(),
		Type:      t.GetTxType(),
		Timestamp: at,
	}, err
}

func listToProto(l ledger.TransactionList) *gen.GetTransactionsResponse {
	to := &gen.GetTransactionsResponse{Transactions: make([]*gen.Transaction, len(l.Transactions)), Next: l.Next}
	for i, t := range l.Transactions {
		to.Transactions[i] = transactionToProto(t)
	}
	return to
}

func listFromProto(l *gen.GetTransactionsResponse) (ledger.TransactionList, error) {
	from := ledger.TransactionList{
		Transactions: make([]ledger.Transaction, len(l.GetTransactions())),
		Next:         l.GetNext(),
	}
	for i, t := range l.GetTransactions() {
		var err error
		if from.Transactions[i], err = transactionFromProto(t); err != nil {
			return ledger.TransactionList{}, err
		}
	}
	return from, nil
}

func feedToProto(f ledger.Feed) *gen.StreamTransactionsRequest {
	return &gen.StreamTransactionsRequest{
		SinceTimestamp: rfc3339.Text(f.Since), RateLimit: f.Rate, FilterAccount: f.Account,
		AfterTxId: f.After, Limit: f.Limit, Follow: f.Follow,
	}
}

func feedFromProto(f *gen.StreamTransactionsRequest) (ledger.Feed, error) {
	since, err := rfc3339.Parse(f.GetSinceTimestamp())
	return ledger.Feed{
		After: f.GetAfterTxId(), Account: f.GetFilterAccount(), Since: since,
		Rate: f.GetRateLimit(), Limit: f.GetLimit(), Follow: f.GetFollow(),
	}, err
}

func eventToProto(e ledger.Event) *gen.TransactionEvent {
	t := e.Transaction
	return &gen.TransactionEvent{
		TxId: t.ID, FromAccount: t.From, ToAccount: t.To, AmountTinybar: t.Amount, TxType: t.Type,
		Timestamp: rfc3339.Text(t.Timestamp),
		Sequence:  e.Sequence, DueUnixNano: e.Due, SentUnixNano: e.Sent,
	}
}

func eventFromProto(e *gen.TransactionEvent) (ledger.Event, error) {
	at, err := rfc3339.Parse(e.GetTimestamp())
	return ledger.Event{
		Transaction: ledger.Transaction{
			ID: e.GetTxId(), From: e.GetFromAccount(), To: e.GetToAccount(), Amount: e.GetAmountTinybar(),
			Type:      e.GetTxType(),
			Timestamp: at,
		},
		Stamp: wirelab.Stamp{Sequence: e.GetSequence(), Due: e.GetDueUnixNano(), Sent: e.GetSentUnixNano()},
	}, err
}
