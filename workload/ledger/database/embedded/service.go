package embedded

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"wirelab/system/sqlite"
	"wirelab/workload/ledger"
)

// statements are prepared once for each connection, when it first needs one.
type statements struct {
	balance, balances           *sql.Stmt // read
	page, pageOf                *sql.Stmt
	positionOf, firstSince, end *sql.Stmt
	stored, last, move, insert  *sql.Stmt // write
	holds                       *sql.Stmt
}

const columns = `position, id, payer, payee, amount, kind, posted`

// query is the text of a statement, and the pool that prepares it.
type query struct {
	into  **sql.Stmt
	db    *sql.DB
	query string
}

func (s *service) queries() []query {
	return []query{
		{&s.balance, s.Read, `SELECT amount, updated FROM accounts WHERE id = ?`},
		// A single statement reads one snapshot, whatever is posted at the same time.
		{&s.balances, s.Read, `SELECT id, amount, updated FROM accounts WHERE id IN (SELECT value FROM json_each(?))`},
		{&s.page, s.Read, `SELECT ` + columns + ` FROM transactions WHERE position > ? ORDER BY position LIMIT ?`},
		// Each side by its index, at most one page from each (grb-D10).
		{&s.pageOf, s.Read, `SELECT ` + columns + ` FROM transactions WHERE position IN (
			SELECT position FROM (SELECT position FROM transactions WHERE payer = ?1 AND position > ?2 ORDER BY position LIMIT ?3)
			UNION ALL
			SELECT position FROM (SELECT position FROM transactions WHERE payee = ?1 AND position > ?2 ORDER BY position LIMIT ?3)
			) ORDER BY position LIMIT ?3`},
		{&s.positionOf, s.Read, `SELECT position FROM transactions WHERE id = ?`},
		{
			&s.firstSince, s.Read,
			`SELECT position FROM transactions WHERE posted >= ? ORDER BY posted, position LIMIT 1`,
		},
		{&s.end, s.Read, `SELECT coalesce(max(position), 0) FROM transactions`},
		{&s.stored, s.Write, `SELECT ` + columns + ` FROM transactions WHERE id = ?`},
		{&s.holds, s.Write, `SELECT amount FROM accounts WHERE id = ?`},
		{&s.last, s.Write, `SELECT position, posted FROM transactions ORDER BY position DESC LIMIT 1`},
		{&s.move, s.Write, `UPDATE accounts SET amount = amount + ?, updated = ? WHERE id = ?`},
		{&s.insert, s.Write, `INSERT INTO transactions (` + columns + `) VALUES (?, ?, ?, ?, ?, ?, ?)`},
	}
}

// prepare prepares the statements, which are closed with the pools, and rings the bell for the existing log.
func (s *service) prepare(ctx context.Context) error {
	for _, p := range s.queries() {
		var err error
		if *p.into, err = p.db.PrepareContext(ctx, p.query); err != nil {
			return err
		}
	}
	end, err := source{s}.length(ctx)
	s.bell.Ring(end)
	return err
}

// GetBalance implements [ledger.Service].
func (s *service) GetBalance(ctx context.Context, id ledger.AccountID) (ledger.Balance, error) {
	if err := id.Validate(); err != nil {
		return ledger.Balance{}, err
	}
	s.Acquired.Add(1)
	b, updated := ledger.Balance{Account: id.ID}, int64(0)
	err := s.balance.QueryRowContext(ctx, id.ID).Scan(&b.Amount, &updated)
	if errors.Is(err, sql.ErrNoRows) {
		return ledger.Balance{}, ledger.UnknownAccount(id.ID)
	}
	if err != nil {
		return ledger.Balance{}, s.Explain(ctx, err)
	}
	b.UpdatedAt = moment(updated)
	return b, nil
}

// GetBalances implements [ledger.Service].
func (s *service) GetBalances(ctx context.Context, ids ledger.AccountIDs) (ledger.Balances, error) {
	if err := ids.Validate(); err != nil {
		return ledger.Balances{}, err
	}
	asked, err := json.Marshal(ids.IDs)
	if err != nil {
		return ledger.Balances{}, err
	}
	found := make(map[string]ledger.Balance, len(ids.IDs))
	err = s.rows(ctx, s.balances, func(rows *sql.Rows) error {
		var b ledger.Balance
		var updated int64
		if err := rows.Scan(&b.Account, &b.Amount, &updated); err != nil {
			return err
		}
		b.UpdatedAt = moment(updated)
		found[b.Account] = b
		return nil
	}, string(asked))
	if err != nil {
		return ledger.Balances{}, err
	}
	all := ledger.Balances{Verdicts: make([]ledger.Verdict, len(ids.IDs))}
	for i, id := range ids.IDs {
		b, ok := found[id]
		all.Verdicts[i] = ledger.Verdict{Account: id, Found: ok, Balance: b}
	}
	return all, nil
}

// rows runs a statement and calls each with every row. It holds a connection until the last row.
func (s *service) rows(ctx context.Context, of *sql.Stmt, each func(*sql.Rows) error, args ...any) error {
	s.Acquired.Add(1)
	rows, err := of.QueryContext(ctx, args...)
	if err != nil {
		return s.Explain(ctx, err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has reported any error
	for rows.Next() {
		if err := each(rows); err != nil {
			return s.Explain(ctx, err)
		}
	}
	return s.Explain(ctx, rows.Err())
}

// entry scans a row of [columns].
func entry(row interface{ Scan(into ...any) error }) (ledger.Entry, error) {
	var e ledger.Entry
	var posted int64
	t := &e.Transaction
	err := row.Scan(&e.Position, &t.ID, &t.From, &t.To, &t.Amount, &t.Type, &posted)
	t.Timestamp = moment(posted)
	return e, err
}

// GetTransactions implements [ledger.Service].
func (s *service) GetTransactions(ctx context.Context, page ledger.Page) (ledger.TransactionList, error) {
	return ledger.List(ctx, page, source{s})
}

// StreamTransactions implements [ledger.Service].
func (s *service) StreamTransactions(ctx context.Context, feed ledger.Feed) iter.Seq2[ledger.Event, error] {
	return ledger.Stream(ctx, feed, source{s})
}

// PostTransaction implements [ledger.Service].
func (s *service) PostTransaction(ctx context.Context, posting ledger.Posting) (ledger.Transaction, error) {
	if err := posting.Validate(); err != nil {
		return ledger.Transaction{}, err
	}
	s.Acquired.Add(1)
	tx, err := s.Write.BeginTx(ctx, nil) // acquires the write lock
	if err != nil {
		return ledger.Transaction{}, s.Explain(ctx, err)
	}
	done, position, err := s.post(ctx, tx, posting)
	if err == nil && position > 0 {
		err = tx.Commit()
	}
	if failed := sqlite.Rollback(tx); err == nil {
		err = failed
	}
	if err != nil {
		return ledger.Transaction{}, s.Explain(ctx, err)
	}
	s.bell.Ring(position)
	return done, nil
}

// post does a posting in tx, and returns its position, or 0 if it was stored before.
func (s *service) post(ctx context.Context, tx *sql.Tx, p ledger.Posting) (ledger.Transaction, int64, error) {
	stored, err := entry(tx.StmtContext(ctx, s.stored).QueryRowContext(ctx, p.ID))
	if err == nil {
		again, err := p.Again(stored.Transaction)
		return again, 0, err
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return ledger.Transaction{}, 0, err
	}
	var holds [2]int64
	for i, id := range []string{p.From, p.To} {
		err := tx.StmtContext(ctx, s.holds).QueryRowContext(ctx, id).Scan(&holds[i])
		if errors.Is(err, sql.ErrNoRows) {
			err = ledger.UnknownAccount(id)
		}
		if err != nil {
			return ledger.Transaction{}, 0, err
		}
	}
	if err := p.Check(holds[0], holds[1]); err != nil {
		return ledger.Transaction{}, 0, err
	}
	var position int64
	var last time.Time
	var posted int64
	err = tx.StmtContext(ctx, s.last).QueryRowContext(ctx).Scan(&position, &posted)
	switch {
	case err == nil:
		last = moment(posted)
	case !errors.Is(err, sql.ErrNoRows): // an empty log has no last row
		return ledger.Transaction{}, 0, err
	}
	t := p.Done(ledger.Later(time.Now(), last))
	position, posted = position+1, t.Timestamp.UnixMicro()
	_, err1 := tx.StmtContext(ctx, s.move).ExecContext(ctx, -p.Amount, posted, p.From)
	_, err2 := tx.StmtContext(ctx, s.move).ExecContext(ctx, p.Amount, posted, p.To)
	_, err3 := tx.StmtContext(ctx, s.insert).ExecContext(ctx, position, t.ID, t.From, t.To, t.Amount, t.Type, posted)
	return t, position, errors.Join(err1, err2, err3)
}

// source is the [ledger.Source] of a file.
type source struct{ *service }

// Start implements [ledger.Source].
func (s source) Start(ctx context.Context, after string, since time.Time) (int64, error) {
	var behind, before int64
	if after != "" {
		s.Acquired.Add(1)
		err := s.positionOf.QueryRowContext(ctx, after).Scan(&behind)
		if errors.Is(err, sql.ErrNoRows) {
			return 0, ledger.UnknownTransaction(after)
		}
		if err != nil {
			return 0, s.Explain(ctx, err)
		}
	}
	if since.IsZero() {
		return behind, nil
	}
	s.Acquired.Add(1)
	err := s.firstSince.QueryRowContext(ctx, since.UnixMicro()).Scan(&before)
	before--
	if errors.Is(err, sql.ErrNoRows) {
		before, err = s.length(ctx)
	}
	return max(behind, before), s.Explain(ctx, err)
}

// length returns the position of the log's last transaction.
func (s source) length(ctx context.Context) (int64, error) {
	s.Acquired.Add(1)
	var n int64
	err := s.end.QueryRowContext(ctx).Scan(&n)
	return n, s.Explain(ctx, err)
}

// Read implements [ledger.Source].
func (s source) Read(ctx context.Context, behind int64, account string, limit int) ([]ledger.Entry, error) {
	entries := make([]ledger.Entry, 0, limit)
	add := func(rows *sql.Rows) error {
		e, err := entry(rows)
		entries = append(entries, e)
		return err
	}
	var err error
	if account == "" {
		err = s.rows(ctx, s.page, add, behind, limit)
	} else {
		err = s.rows(ctx, s.pageOf, add, account, behind, limit)
	}
	return entries, err
}

// Wait implements [ledger.Source]. The bell rings when the file is opened, and for each posting of this process;
// those of others are polled for.
func (s source) Wait(ctx context.Context, head int64) (int64, error) {
	if s.Private() { // no other process has it open
		return s.bell.Wait(ctx, head)
	}
	for {
		poll, stop := context.WithTimeout(ctx, pollEvery)
		now, err := s.bell.Wait(poll, head)
		stop()
		switch {
		case err == nil:
			return now, nil
		case ctx.Err() != nil: // both may have ended, and err is the poll's
			return 0, ctx.Err()
		}
		if now, err = s.length(ctx); err != nil {
			return 0, err
		}
		s.bell.Ring(now)
	}
}
