package embedded

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"wirelab/system/sqlite"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/gather"
)

// statements are prepared once for each connection, when it first needs one.
type statements struct {
	entry, page, named    *sql.Stmt // read
	compare, last, insert *sql.Stmt // write
	remove, highest       *sql.Stmt // write
}

const columns = `position, id, name, data, stored`

// query is the text of a statement, and the pool that prepares it.
type query struct {
	into  **sql.Stmt
	db    *sql.DB
	query string
}

// firstAt returns an expression for the position of the first entry at or after a time; beyond the last position if
// there is none, or no time.
func firstAt(argument string) string {
	return `coalesce((SELECT position FROM entries WHERE stored >= ` + argument +
		` ORDER BY stored, position LIMIT 1), 9223372036854775807)`
}

func (s *service) queries() []query {
	// Times never decrease along positions, so a range of times is a range of positions, which is found by its
	// ends.
	const page = `SELECT ` + columns + ` FROM entries WHERE `
	within := `position < min(?1, ` + firstAt("?3") + `) AND position >= CASE WHEN ?2 IS NULL THEN 0 ELSE ` +
		firstAt("?2") + ` END
		ORDER BY position DESC LIMIT ?4`
	return []query{
		{&s.entry, s.Read, `SELECT ` + columns + ` FROM entries WHERE id = ?`},
		{&s.page, s.Read, page + within},
		{&s.named, s.Read, page + `name = ?5 AND ` + within},
		{&s.compare, s.Write, `SELECT name = ?2 AND data = ?3 FROM entries WHERE id = ?1`},
		{&s.last, s.Write, `SELECT stored FROM entries ORDER BY position DESC LIMIT 1`},
		{&s.insert, s.Write, `INSERT INTO entries (id, name, data, stored) VALUES (?, ?, ?, ?)`},
		{&s.highest, s.Write, `SELECT coalesce(max(position), 0) FROM entries`},
		{&s.remove, s.Write, `DELETE FROM entries WHERE position IN (
			SELECT position FROM entries WHERE stored < ?1 AND position <= ?2 ORDER BY stored, position LIMIT ?3)`},
	}
}

// prepare prepares the statements, which are closed with the pools.
func (s *service) prepare(ctx context.Context) error {
	for _, p := range s.queries() {
		var err error
		if *p.into, err = p.db.PrepareContext(ctx, p.query); err != nil {
			return err
		}
	}
	return nil
}

// WriteLog implements [logging.Service].
func (s *service) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	if err := entry.Validate(); err != nil {
		return logging.Written{}, err
	}
	if entry.ID == "" {
		entry.ID = logging.NewID()
	}
	return s.writer.Write(ctx, entry)
}

// store is the [gather.Store].
func (s *service) store(ctx context.Context, entries []logging.Entry) (verdicts []gather.Verdict, err error) {
	s.Acquired.Add(1)
	tx, err := s.Write.BeginTx(ctx, nil) // acquires the write lock
	if err != nil {
		return nil, s.Explain(ctx, err)
	}
	verdicts, err = s.storeIn(ctx, tx, entries)
	if err == nil {
		err = tx.Commit()
	}
	if failed := sqlite.Rollback(tx); err == nil {
		err = failed
	}
	return verdicts, s.Explain(ctx, err)
}

// storeIn stores in tx the entries that are not stored yet. Checking first avoids using up a position for one that
// is.
func (s *service) storeIn(ctx context.Context, tx *sql.Tx, entries []logging.Entry) ([]gather.Verdict, error) {
	var last int64
	err := tx.StmtContext(ctx, s.last).QueryRowContext(ctx).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	now := max(last, time.Now().UnixMicro())
	compare, insert := tx.StmtContext(ctx, s.compare), tx.StmtContext(ctx, s.insert)
	verdicts := make([]gather.Verdict, len(entries))
	for i, e := range entries {
		var same bool
		err := compare.QueryRowContext(ctx, e.ID, e.Name, e.Data).Scan(&same)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			verdicts[i] = gather.New
			_, err = insert.ExecContext(ctx, e.ID, e.Name, e.Data, now)
		case same:
			verdicts[i] = gather.Known
		default:
			verdicts[i] = gather.Other
		}
		if err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// GetEntry implements [logging.Service].
func (s *service) GetEntry(ctx context.Context, id logging.EntryID) (logging.Stored, error) {
	if err := id.Validate(); err != nil {
		return logging.Stored{}, err
	}
	s.Acquired.Add(1)
	e, err := stored(s.entry.QueryRowContext(ctx, id.ID))
	if errors.Is(err, sql.ErrNoRows) {
		return logging.Stored{}, logging.UnknownEntry(id.ID)
	}
	if err != nil {
		return logging.Stored{}, s.Explain(ctx, err)
	}
	return e, nil
}

// stored scans a row of [columns].
func stored(row interface{ Scan(into ...any) error }) (logging.Stored, error) {
	var e logging.Stored
	var micros int64
	err := row.Scan(&e.Position, &e.ID, &e.Name, &e.Data, &micros)
	e.At = time.UnixMicro(micros).UTC()
	return e, err
}

// ListEntries implements [logging.Service].
func (s *service) ListEntries(ctx context.Context, query logging.Query) (logging.EntryList, error) {
	if err := query.Validate(); err != nil {
		return logging.EntryList{}, err
	}
	before := query.Before
	if before == 0 {
		before = math.MaxInt64
	}
	page := logging.Page{Limit: query.Most()}
	arguments := []any{before, bound(query.Since), bound(query.Until), page.Limit}
	statement := s.page
	if query.Name != "" {
		statement, arguments = s.named, append(arguments, query.Name)
	}
	s.Acquired.Add(1)
	rows, err := statement.QueryContext(ctx, arguments...)
	if err != nil {
		return logging.EntryList{}, s.Explain(ctx, err)
	}
	defer func() { _ = rows.Close() }()      // rows.Err has reported any error
	for more := true; more && rows.Next(); { // the rows beyond the page are not read
		e, err := stored(rows)
		if err != nil {
			return logging.EntryList{}, s.Explain(ctx, err)
		}
		more = page.Add(e)
	}
	if err := rows.Err(); err != nil {
		return logging.EntryList{}, s.Explain(ctx, err)
	}
	return page.List(), nil
}

// bound returns a time as an argument: nil for none.
func bound(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// DeleteEntries implements [logging.Service]. It keeps entries stored after it began, so that it ends. The file
// keeps its size: the space is reused.
func (s *service) DeleteEntries(ctx context.Context, retention logging.Retention) (logging.Deleted, error) {
	if err := retention.Validate(); err != nil {
		return logging.Deleted{}, err
	}
	s.Acquired.Add(1)
	var highest int64
	if err := s.highest.QueryRowContext(ctx).Scan(&highest); err != nil {
		return logging.Deleted{}, s.Explain(ctx, err)
	}
	var deleted logging.Deleted
	for {
		s.Acquired.Add(1)
		done, err := s.remove.ExecContext(ctx, retention.Before.UnixMicro(), highest, s.removeAtOnce)
		if err != nil {
			return logging.Deleted{}, s.Explain(ctx, err)
		}
		n, err := done.RowsAffected()
		if err != nil {
			return logging.Deleted{}, s.Explain(ctx, err)
		}
		deleted.Count += n
		if n < int64(s.removeAtOnce) { // no other writer can run during a statement
			return deleted, nil
		}
	}
}
