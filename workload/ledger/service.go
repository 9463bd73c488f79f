package ledger

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
	"unicode/utf8"

	"wirelab"
)

// Service is a ledger. See the package comment for the contract.
type Service interface {
	// GetBalance returns the balance of an account, or NotFound.
	GetBalance(ctx context.Context, id AccountID) (Balance, error)
	// GetBalances returns a verdict for each id, in the order of the ids.
	GetBalances(ctx context.Context, ids AccountIDs) (Balances, error)
	// GetTransactions returns one page of the log.
	GetTransactions(ctx context.Context, page Page) (TransactionList, error)
	// PostTransaction moves money between two accounts, all or nothing, and appends the transaction to the log. The
	// same posting again returns the first transaction.
	PostTransaction(ctx context.Context, posting Posting) (Transaction, error)
	// StreamTransactions sends the log as a stream, from a given position and at a given rate.
	StreamTransactions(ctx context.Context, feed Feed) iter.Seq2[Event, error]
}

// Limits of the contract.
const (
	IDLimit     = 64            // characters of an account's or a transaction's id
	TypeLimit   = 32            // bytes of a transaction's type
	BatchLimit  = 1_000         // ids of one GetBalances
	PageLimit   = 1_000         // transactions of one page
	RateLimit   = 1_000_000     // events per second of a stream
	AmountLimit = 1<<53 - 1     // tinybars: the largest exact integer in every encoding
	CountLimit  = 1_000_000_000 // events of a stream with a limit
	PostedLimit = 5_000_000     // postings that a service in memory keeps
)

// AccountID names an account.
type AccountID struct{ ID string }

// Validate returns InvalidArgument for an invalid id.
func (id AccountID) Validate() error { return validID("account", id.ID) }

// validID accepts ids that need no escaping in a path, whatever the wire.
func validID(what, id string) error {
	if id == "" || len(id) > IDLimit || id == "." || id == ".." {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s %.*q is not 1 to %d characters", what, IDLimit, id, IDLimit)
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '~', c == '-':
		default:
			return wirelab.Errorf(wirelab.InvalidArgument, "%s %q holds other characters than A-Z a-z 0-9 . _ ~ -",
				what, id)
		}
	}
	return nil
}

// validTime accepts times that every encoding and database can carry exactly: years 1 to 9999, to the microsecond.
// The zero time means none.
func validTime(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return wirelab.Errorf(wirelab.InvalidArgument, "a time in year %d is outside 1 to 9999", year)
	}
	if t.Nanosecond()%1000 != 0 {
		return wirelab.Errorf(wirelab.InvalidArgument, "time %s is finer than a microsecond",
			t.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// AccountIDs names several accounts; an account may be repeated.
type AccountIDs struct{ IDs []string }

// Validate returns InvalidArgument for a list outside the contract.
func (ids AccountIDs) Validate() error {
	if len(ids.IDs) == 0 || len(ids.IDs) > BatchLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "%d ids; want 1 to %d", len(ids.IDs), BatchLimit)
	}
	for _, id := range ids.IDs {
		if err := validID("account", id); err != nil {
			return err
		}
	}
	return nil
}

// Balance is the balance of an account.
type Balance struct {
	Account   string
	Amount    int64     // tinybars, 0 to AmountLimit
	UpdatedAt time.Time // of the last change; UTC, to the microsecond
}

// Equal reports whether the two are the same.
func (b Balance) Equal(other Balance) bool {
	return b.Account == other.Account && b.Amount == other.Amount && b.UpdatedAt.Equal(other.UpdatedAt)
}

// Verdict is the result for one id of a batch: its balance, or that there is no such account.
type Verdict struct {
	Account string
	Found   bool
	Balance Balance // the zero value unless Found
}

// Equal reports whether the two are the same.
func (v Verdict) Equal(other Verdict) bool {
	return v.Account == other.Account && v.Found == other.Found && v.Balance.Equal(other.Balance)
}

// Balances are the verdicts for a batch, one for each id, in the order of the ids.
type Balances struct{ Verdicts []Verdict }

// Equal reports whether the two are the same.
func (b Balances) Equal(other Balances) bool {
	return slices.EqualFunc(b.Verdicts, other.Verdicts, Verdict.Equal)
}

// Posting is a request to move money. ID makes it idempotent: the caller chooses it.
type Posting struct {
	ID       string
	From, To string // accounts, two different ones
	Amount   int64  // tinybars, 1 to AmountLimit
	Type     string // 0 to TypeLimit bytes of UTF-8
}

// Validate returns InvalidArgument for a posting outside the contract.
func (p Posting) Validate() error {
	if err := validID("transaction", p.ID); err != nil {
		return err
	}
	if err := validID("account", p.From); err != nil {
		return err
	}
	if err := validID("account", p.To); err != nil {
		return err
	}
	switch {
	case p.From == p.To:
		return wirelab.Errorf(wirelab.InvalidArgument, "from and to are both account %s", p.From)
	case p.Amount < 1 || p.Amount > AmountLimit:
		return wirelab.Errorf(wirelab.InvalidArgument, "amount %d is outside 1 to %d", p.Amount, int64(AmountLimit))
	case len(p.Type) > TypeLimit || !utf8.ValidString(p.Type):
		return wirelab.Errorf(wirelab.InvalidArgument, "type is not 0 to %d bytes of UTF-8", TypeLimit)
	}
	for i := range len(p.Type) {
		if p.Type[i] == 0 {
			return wirelab.Errorf(wirelab.InvalidArgument, "type holds NUL, which PostgreSQL does not store")
		}
	}
	return nil
}

// Transaction is an entry of the log.
type Transaction struct {
	ID        string
	From, To  string
	Amount    int64
	Type      string
	Timestamp time.Time // when it was posted; UTC, to the microsecond
}

// Equal reports whether the two are the same apart from their timestamps, which depend on the server's clock.
func (t Transaction) Equal(other Transaction) bool {
	t.Timestamp = other.Timestamp
	return t == other
}

// String omits the timestamp, as Equal does, so that two transcripts of the same calls are the same text.
func (t Transaction) String() string {
	return fmt.Sprintf("{ID:%s From:%s To:%s Amount:%d Type:%s}", t.ID, t.From, t.To, t.Amount, t.Type)
}

// entry is a transaction whose text includes the timestamp.
type entry Transaction

// Same reports whether the two are the same including timestamps. It is for entries of a data set, whose times
// depend on no clock.
func (t Transaction) Same(other Transaction) bool {
	return t.Equal(other) && t.Timestamp.Equal(other.Timestamp)
}

// Page asks for transactions in the order of the log.
type Page struct {
	After   string    // id of the last transaction of the previous page; "": from the first
	Account string    // on either side; "": every account
	Since   time.Time // posted then or later; the zero time: from the beginning
	Limit   int32     // maximum number of transactions; 0: [PageLimit]
}

// Validate returns InvalidArgument for a page outside the contract.
func (p Page) Validate() error {
	if p.Limit < 0 || p.Limit > PageLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "limit %d is outside 0 to %d", p.Limit, PageLimit)
	}
	return validFrom(p.After, p.Account, p.Since)
}

// validFrom validates the fields that pages and streams have in common.
func validFrom(after, account string, since time.Time) error {
	if after != "" {
		if err := validID("transaction", after); err != nil {
			return err
		}
	}
	if account != "" {
		if err := validID("account", account); err != nil {
			return err
		}
	}
	return validTime(since)
}

// TransactionList is one page of the log.
type TransactionList struct {
	Transactions []Transaction
	Next         string // After of the next page; "" unless this page is full
}

// Equal reports whether the two are the same; nil equals empty.
func (l TransactionList) Equal(other TransactionList) bool {
	return l.Next == other.Next && slices.EqualFunc(l.Transactions, other.Transactions, Transaction.Same)
}

// String includes the timestamps, since Equal compares them.
func (l TransactionList) String() string {
	all := make([]entry, len(l.Transactions))
	for i, t := range l.Transactions {
		all[i] = entry(t)
	}
	return fmt.Sprintf("{Transactions:%+v Next:%s}", all, l.Next)
}

// Feed asks for a stream of the log.
type Feed struct {
	After   string    // id of the transaction to continue after; "": from the first
	Account string    // on either side; "": every account
	Since   time.Time // posted then or later; the zero time: from the beginning
	Rate    int64     // events per second, 0 to [RateLimit]; 0: as fast as the reader reads
	Limit   int64     // events after which the stream ends, 0 to [CountLimit]; 0: at the end of the log
	Follow  bool      // do not stop at the end of the log: continue with new postings
}

// Validate returns InvalidArgument for a feed outside the contract.
func (f Feed) Validate() error {
	if f.Rate < 0 || f.Rate > RateLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "rate %d is outside 0 to %d events per second", f.Rate,
			RateLimit)
	}
	if f.Limit < 0 || f.Limit > CountLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "limit %d is outside 0 to %d", f.Limit, CountLimit)
	}
	return validFrom(f.After, f.Account, f.Since)
}

// Event is a transaction in a stream.
type Event struct {
	Transaction Transaction
	wirelab.Stamp
}

// Equal reports whether the two are the same apart from the time of sending.
func (e Event) Equal(other Event) bool {
	return e.Transaction.Same(other.Transaction) && e.Sequence == other.Sequence
}

// String omits the time of sending, as Equal does, so that two transcripts of the same calls are the same text.
func (e Event) String() string {
	return fmt.Sprintf("{Sequence:%d Transaction:%+v}", e.Sequence, entry(e.Transaction))
}
