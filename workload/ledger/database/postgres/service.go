package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/workload/ledger"
)

// The statements, prepared on every new connection, so that no call pays for it.
const (
	balanceStatement  = "balance"
	balancesStatement = "balances"
	postStatement     = "post"
	startStatement    = "start"
	logStatement      = "log"
	accountStatement  = "account"
)

func statements() map[string]string {
	const row = `position, tx_id, from_account, to_account, amount_tinybar, tx_type, "timestamp"`
	return map[string]string{
		balanceStatement:  `SELECT balance_tinybar, updated_at FROM accounts WHERE account_id = $1`,
		balancesStatement: `SELECT account_id, balance_tinybar, updated_at FROM accounts WHERE account_id = ANY ($1)`,
		postStatement:     `SELECT * FROM post_transaction($1, $2, $3, $4, $5)`,
		startStatement: `SELECT (SELECT position FROM transactions WHERE tx_id = $1),
			CASE WHEN $2::timestamptz IS NULL THEN 0 ELSE coalesce(
				(SELECT position - 1 FROM transactions WHERE "timestamp" >= $2 ORDER BY "timestamp", position LIMIT 1),
				(SELECT max(position) FROM transactions), 0) END`,
		logStatement: `SELECT ` + row + ` FROM transactions WHERE position > $1 ORDER BY position LIMIT $2`,
		// Two ranges of two indexes, each cut at the limit, instead of one condition with OR, for which PostgreSQL
		// reads and sorts all transactions of the account, or the whole log until it has found enough (grb-D10). No
		// transaction is in both: its accounts differ.
		accountStatement: `(SELECT ` + row +
			` FROM transactions WHERE from_account = $1 AND position > $2 ORDER BY position LIMIT $3)
			UNION ALL (SELECT ` + row +
			` FROM transactions WHERE to_account = $1 AND position > $2 ORDER BY position LIMIT $3)
			ORDER BY position LIMIT $3`,
	}
}

// prepare prepares the statements of a new connection.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	for name, sql := range statements() {
		if _, err := conn.Prepare(ctx, name, sql); err != nil {
			return err
		}
	}
	return nil
}

// service is the ledger in a database.
type service struct {
	pool *postgres.Pool
	// balances combines the requests of GetBalance.
	balances *gatherer
	dsn      string
	name     string // of the schema, and of the channel
	bell     ledger.Bell

	turn     chan struct{} // a lock of all below; waiting for it ends with a context
	listener *listener     // nil: no stream has waited yet
	closed   bool
}

var (
	_ ledger.Service = (*service)(nil)
	_ ledger.Source  = (*service)(nil)
	_ ledger.Readier = (*service)(nil)
)

// Ready implements [ledger.Readier].
func (s *service) Ready(ctx context.Context) error { return s.pool.Coded(ctx, s.pool.Ping(ctx)) }

// GetBalance implements [ledger.Service].
func (s *service) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	if err := id.Validate(); err != nil {
		return ledger.Balance{}, err
	}
	return s.balances.balance(ctx, id.ID)
}

// GetBalances implements [ledger.Service]. One statement reads one snapshot.
func (s *service) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	if err := ids.Validate(); err != nil {
		return ledger.Balances{}, err
	}
	known := make(map[string]ledger.Balance, len(ids.IDs))
	if err := s.balances.read(ctx, ids.IDs, known); err != nil {
		return ledger.Balances{}, err
	}
	all := ledger.Balances{Verdicts: make([]ledger.Verdict, len(ids.IDs))}
	for i, id := range ids.IDs {
		v := &all.Verdicts[i]
		v.Account = id
		v.Balance, v.Found = known[id]
	}
	return all, nil
}

// PostTransaction implements [ledger.Service]. The timestamp is by the clock of the database, the only one that all
// its servers share.
func (s *service) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	if err := posting.Validate(); err != nil {
		return ledger.Transaction{}, err
	}
	var verdict string
	var payer, payee, amount *int64
	var from, to, kind *string
	var at *time.Time
	err := s.pool.QueryRow(ctx, postStatement, posting.ID, posting.From, posting.To, posting.Amount, posting.Type).
		Scan(&verdict, &payer, &payee, &from, &to, &amount, &kind, &at)
	if err != nil {
		return ledger.Transaction{}, s.pool.Coded(ctx, err)
	}
	switch {
	case verdict == "done" && at != nil:
		return posting.Done(at.UTC()), nil
	case verdict == "stored" && from != nil && to != nil && amount != nil && kind != nil && at != nil:
		return posting.Again(ledger.Transaction{
			ID: posting.ID, From: *from, To: *to, Amount: *amount, Type: *kind, Timestamp: at.UTC(),
		})
	case verdict == "no payer":
		return ledger.Transaction{}, ledger.UnknownAccount(posting.From)
	case verdict == "no payee":
		return ledger.Transaction{}, ledger.UnknownAccount(posting.To)
	case verdict == "refused" && payer != nil && payee != nil:
		if err := posting.Check(*payer, *payee); err != nil {
			return ledger.Transaction{}, err
		}
	}
	return ledger.Transaction{}, wirelab.Errorf(wirelab.Internal, "the database's verdict on a posting cannot be read")
}

// GetTransactions implements [ledger.Service].
func (s *service) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	return ledger.List(ctx, page, s)
}

// StreamTransactions implements [ledger.Service].
func (s *service) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	return ledger.Stream(ctx, feed, s)
}

// Start implements [ledger.Source].
func (s *service) Start(ctx context.Context, after string, since time.Time) (int64, error) {
	var from *time.Time
	if !since.IsZero() {
		from = &since
	}
	var position *int64
	var before int64
	if err := s.pool.QueryRow(ctx, startStatement, after, from).Scan(&position, &before); err != nil {
		return 0, s.pool.Coded(ctx, err)
	}
	if after == "" {
		return before, nil
	}
	if position == nil {
		return 0, ledger.UnknownTransaction(after)
	}
	return max(*position, before), nil
}

// Read implements [ledger.Source].
func (s *service) Read(ctx context.Context, behind int64, account string, limit int) ([]ledger.Entry, error) {
	var rows pgx.Rows
	var err error
	if account == "" {
		rows, err = s.pool.Query(ctx, logStatement, behind, limit)
	} else {
		rows, err = s.pool.Query(ctx, accountStatement, account, behind, limit)
	}
	if err != nil {
		return nil, s.pool.Coded(ctx, err)
	}
	entries := make([]ledger.Entry, 0, limit)
	var e ledger.Entry
	t := &e.Transaction
	if _, err := pgx.ForEachRow(rows, []any{&e.Position, &t.ID, &t.From, &t.To, &t.Amount, &t.Type, &t.Timestamp},
		func() error {
			t.Timestamp = t.Timestamp.UTC()
			entries = append(entries, e)
			return nil
		}); err != nil {
		return nil, s.pool.Coded(ctx, err)
	}
	return entries, nil
}
