package embedded

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"wirelab"
	"wirelab/system/sqlite"
	"wirelab/workload/ledger"
)

// rowsAtOnce is how many rows a statement writes: enough that the cost of the statement is negligible, and below
// SQLite's limit of arguments.
const rowsAtOnce = 100

// fill writes the data set into an empty file, in one transaction, so that it is there completely or not at all. A
// file that holds it is not changed; one that holds another is Conflict.
func fill(ctx context.Context, db *sql.DB, set *ledger.Set) error {
	if filled, err := holds(ctx, db, set); filled || err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = fillIn(ctx, tx, set)
	return errors.Join(err, sqlite.Rollback(tx)) // no effect after a commit
}

func fillIn(ctx context.Context, tx *sql.Tx, set *ledger.Set) error {
	if filled, err := holds(ctx, tx, set); filled || err != nil {
		return err // another process has filled it
	}
	accounts := newBatch(ctx, tx, `INSERT INTO accounts (id, amount, updated) VALUES `, 3)
	for b := range set.Accounts() {
		if err := accounts.add(b.Account, b.Amount, b.UpdatedAt.UnixMicro()); err != nil {
			return err
		}
	}
	if err := accounts.flush(); err != nil {
		return err
	}
	entries := newBatch(ctx, tx,
		`INSERT INTO transactions (position, id, payer, payee, amount, kind, posted) VALUES `, 7)
	for e := range set.Transactions() {
		t := e.Transaction
		if err := entries.add(e.Position, t.ID, t.From, t.To, t.Amount, t.Type, t.Timestamp.UnixMicro()); err != nil {
			return err
		}
	}
	if err := entries.flush(); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO seed VALUES (1, ?)`, set.Seed()); err != nil {
		return err
	}
	return tx.Commit()
}

// holds reports whether the file holds the data set.
func holds(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, set *ledger.Set,
) (bool, error) {
	var seed string
	err := q.QueryRowContext(ctx, `SELECT seed FROM seed`).Scan(&seed)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err == nil && seed != set.Seed():
		return false, wirelab.Errorf(wirelab.Conflict,
			"the file holds the data set %s, not %s; give another file, or remove it", seed, set.Seed())
	}
	return err == nil, err
}

// batch inserts rows, many with one statement.
type batch struct {
	ctx    context.Context
	tx     *sql.Tx
	insert string
	row    string // "(?, ?, ?)"
	width  int
	full   *sql.Stmt // for rowsAtOnce rows; nil until there are as many
	args   []any
}

func newBatch(ctx context.Context, tx *sql.Tx, insert string, width int) *batch {
	return &batch{
		ctx: ctx, tx: tx, insert: insert, width: width,
		row: "(" + strings.Repeat("?, ", width-1) + "?)", args: make([]any, 0, width*rowsAtOnce),
	}
}

// query returns the statement for a number of rows.
func (b *batch) query(rows int) string {
	return b.insert + strings.Repeat(b.row+", ", rows-1) + b.row
}

func (b *batch) add(values ...any) error {
	b.args = append(b.args, values...)
	if len(b.args) < cap(b.args) {
		return nil
	}
	if b.full == nil {
		var err error
		if b.full, err = b.tx.PrepareContext(b.ctx, b.query(rowsAtOnce)); err != nil { // closed with tx
			return err
		}
	}
	_, err := b.full.ExecContext(b.ctx, b.args...)
	b.args = b.args[:0]
	return err
}

// flush writes the remaining rows.
func (b *batch) flush() error {
	if len(b.args) == 0 {
		return nil
	}
	_, err := b.tx.ExecContext(b.ctx, b.query(len(b.args)/b.width), b.args...)
	return err
}

// moment returns the time of a number of microseconds.
func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
