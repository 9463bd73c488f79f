package ledger

import (
	"time"

	"wirelab"
)

// The functions below decide a posting, for memory and every database alike.

// Again answers a posting whose ID is that of a stored transaction: with the stored one if it is the same posting,
// else with Conflict.
func (p Posting) Again(stored Transaction) (Transaction, error) {
	if !p.Done(stored.Timestamp).Same(stored) {
		return Transaction{}, wirelab.Errorf(wirelab.Conflict, "transaction %s is stored with another content", p.ID)
	}
	return stored, nil
}

// Check returns Conflict unless the money can be moved between accounts with these balances.
func (p Posting) Check(from, to int64) error {
	switch {
	case from < p.Amount:
		return wirelab.Errorf(wirelab.Conflict, "account %s holds less than %d", p.From, p.Amount)
	case to > AmountLimit-p.Amount:
		return wirelab.Errorf(wirelab.Conflict, "account %s would hold more than %d", p.To, int64(AmountLimit))
	}
	return nil
}

// Done returns the transaction for the posting at a time.
func (p Posting) Done(at time.Time) Transaction {
	return Transaction{ID: p.ID, From: p.From, To: p.To, Amount: p.Amount, Type: p.Type, Timestamp: at}
}

// Later returns the timestamp of a transaction posted now, after one with the timestamp last: to the microsecond,
// and never before last.
func Later(now, last time.Time) time.Time {
	now = now.UTC().Truncate(time.Microsecond)
	if now.Before(last) {
		return last
	}
	return now
}

// UnknownAccount returns the error for an unknown account.
func UnknownAccount(id string) error {
	return wirelab.Errorf(wirelab.NotFound, "there is no account %q", id)
}

// UnknownTransaction returns the error for an unknown transaction.
func UnknownTransaction(id string) error {
	return wirelab.Errorf(wirelab.NotFound, "there is no transaction %q", id)
}
