package sqlite

import (
	"context"
	"database/sql"
	"errors"
)

// SetOrigin implements [store.Store].
//
// The table is created when it is first needed. It is not a migration, so that an earlier version, which would refuse
// a newer schema, can still use the store. See docs/adr/0042.
func (s *Store) SetOrigin(ctx context.Context, id, origin string) error {
	var n int64
	err := s.change(ctx, func(tx *sql.Tx) error {
		var err error
		n, err = setOrigin(ctx, tx, id, origin)
		return err
	})
	if err == nil && n == 0 {
		return s.noSuch(ctx, id)
	}
	return s.explain("write origin of result "+id, err)
}

// setOrigin stores the origin of a result, and returns the number of results: 1, or 0 if there is no such result.
func setOrigin(ctx context.Context, tx *sql.Tx, id, origin string) (n int64, err error) {
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS origins (
		result_id TEXT PRIMARY KEY NOT NULL, origin TEXT NOT NULL) STRICT, WITHOUT ROWID`); err != nil {
		return 0, err
	}
	done, err := tx.ExecContext(ctx, `INSERT INTO origins SELECT id, ?2 FROM results WHERE id = ?1
		ON CONFLICT (result_id) DO UPDATE SET origin = excluded.origin`, id, origin)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

// origin returns where a result came from; "" if it is not known.
func (s *Store) origin(ctx context.Context, id string) (origin string, err error) {
	if there, err := hasOrigins(ctx, s.read); err != nil || !there {
		return "", s.explain("read result "+id, err)
	}
	err = s.read.QueryRowContext(ctx, `SELECT origin FROM origins WHERE result_id = ?`, id).Scan(&origin)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return origin, s.explain("read result "+id, err)
}

// hasOrigins reports whether the table of origins exists.
func hasOrigins(ctx context.Context, q querier) (there bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'origins'`).Scan(&there)
	return there, err
}
