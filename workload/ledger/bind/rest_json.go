package bind

import (
	"wirelab"
	"wirelab/wire/rfc3339"
	"wirelab/workload/ledger"
)

// The messages in JSON. Names and their order are those of the published
// service, as far as it has them (docs/origins.md grb-F05 to F07); verdicts, pages,
// postings, and of an event what stands after its timestamp, are ours. Absent
// members are zero, as in the other encodings.
//
// due_unix_nano and sent_unix_nano are more than a number of JavaScript holds
// whole: a page reads them rounded to a quarter of a microsecond.
type (
	balanceJSON struct {
		Account   string `json:"account"`
		Balance   int64  `json:"balance"`
		Timestamp string `json:"timestamp"`
	}
	verdictJSON struct {
		Account string `json:"account"`
		Found   bool   `json:"found"`
	}
	balancesJSON struct {
		Balances []balanceJSON `json:"balances"`
		Verdicts []verdictJSON `json:"verdicts"`
	}
	postingJSON struct {
		ID     string `json:"tx_id"`
		From   string `json:"from"`
		To     string `json:"to"`
		Amount int64  `json:"amount"`
		Type   string `json:"type"`
	}
	transactionJSON struct {
		ID        string `json:"tx_id"`
		From      string `json:"from"`
		To        string `json:"to"`
		Amount    int64  `json:"amount"`
		Type      string `json:"type"`
		Timestamp string `json:"timestamp"`
	}
	listJSON struct {
		Transactions []transactionJSON `json:"transactions"`
		Next         string            `json:"next,omitempty"`
	}
	eventJSON struct {
		transactionJSON
		Sequence uint64 `json:"sequence"`
		Due      int64  `json:"due_unix_nano"`
		Sent     int64  `json:"sent_unix_nano"`
	}
)

func balanceToJSON(b ledger.Balance) balanceJSON {
	return balanceJSON{Account: b.Account, Balance: b.Amount, Timestamp: rfc3339.Text(b.UpdatedAt)}
}

func balanceFromJSON(b balanceJSON) (ledger.Balance, error) {
	at, err := rfc3339.Parse(b.Timestamp)
	return ledger.Balance{Account: b.Account, Amount: b.Balance, UpdatedAt: at}, err
}

// balancesToJSON keeps the balances apart from the verdicts: clients of the
// published service know only the first, without those that were not found.
// Neither list is ever null.
func balancesToJSON(b ledger.Balances) balancesJSON {
	to := balancesJSON{
		Balances: make([]balanceJSON, 0, len(b.Verdicts)),
		Verdicts: make([]verdictJSON, len(b.Verdicts)),
	}
	for i, v := range b.Verdicts {
		to.Verdicts[i] = verdictJSON{Account: v.Account, Found: v.Found}
		if v.Found {
			to.Balances = append(to.Balances, balanceToJSON(v.Balance))
		}
	}
	return to
}

// balancesFromJSON joins verdicts and balances again. Where they do not fit
// each other the message is none.
func balancesFromJSON(b balancesJSON) (ledger.Balances, error) {
	from, left := ledger.Balances{Verdicts: make([]ledger.Verdict, len(b.Verdicts))}, b.Balances
	for i, v := range b.Verdicts {
		from.Verdicts[i] = ledger.Verdict{Account: v.Account, Found: v.Found}
		if !v.Found {
			continue
		}
		if len(left) == 0 {
			return ledger.Balances{}, errBalances()
		}
		balance, err := balanceFromJSON(left[0])
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

func transactionToJSON(t ledger.Transaction) transactionJSON {
	return transactionJSON{
		ID: t.ID, From: t.From, To: t.To, Amount: t.Amount, Type: t.Type, Timestamp: rfc3339.Text(t.Timestamp),
	}
}

func transactionFromJSON(t transactionJSON) (ledger.Transaction, error) {
	at, err := rfc3339.Parse(t.Timestamp)
	return ledger.Transaction{ID: t.ID, From: t.From, To: t.To, Amount: t.Amount, Type: t.Type, Timestamp: at}, err
}

func listToJSON(l ledger.TransactionList) listJSON {
	to := listJSON{Transactions: make([]transactionJSON, len(l.Transactions)), Next: l.Next}
	for i, t := range l.Transactions {
		to.Transactions[i] = transactionToJSON(t)
	}
	return to
}

func listFromJSON(l listJSON) (ledger.TransactionList, error) {
	from := ledger.TransactionList{Transactions: make([]ledger.Transaction, len(l.Transactions)), Next: l.Next}
	for i, t := range l.Transactions {
		var err error
		if from.Transactions[i], err = transactionFromJSON(t); err != nil {
			return ledger.TransactionList{}, err
		}
	}
	return from, nil
}

func eventToJSON(e ledger.Event) eventJSON {
	return eventJSON{transactionJSON: transactionToJSON(e.Transaction), Sequence: e.Sequence, Due: e.Due, Sent: e.Sent}
}

func eventFromJSON(e eventJSON) (ledger.Event, error) {
	t, err := transactionFromJSON(e.transactionJSON)
	return ledger.Event{Transaction: t, Stamp: wirelab.Stamp{Sequence: e.Sequence, Due: e.Due, Sent: e.Sent}}, err
}
