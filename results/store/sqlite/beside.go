package sqlite

import (
	"context"
	"database/sql"

	"wirelab/results/store"
)

// SetLabel implements [store.Store].
func (s *Store) SetLabel(ctx context.Context, id, label string) (whole string, err error) {
	if label != "" {
		if err := store.CheckLabel(label); err != nil {
			return "", err
		}
	}
	if whole, err = s.resolve(ctx, id); err != nil {
		return "", err
	}
	return whole, s.setBeside(ctx, whole,
		`INSERT INTO beside (result_id, label) SELECT id, ?2 FROM results WHERE id = ?1
		ON CONFLICT (result_id) DO UPDATE SET label = excluded.label`, label)
}

// SetFinding implements [store.Store].
func (s *Store) SetFinding(ctx context.Context, id, finding string) error {
	return s.setBeside(ctx, id, `INSERT INTO beside (result_id, finding) SELECT id, ?2 FROM results WHERE id = ?1
		ON CONFLICT (result_id) DO UPDATE SET finding = excluded.finding`, finding)
}

// setBeside stores a value next to a result, if the result exists. It uses one statement, so that no value remains if
// the result is deleted at the same moment.
func (s *Store) setBeside(ctx context.Context, id, statement, value string) error {
	var n int64
	err := s.change(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, statement, id, value)
		if err != nil {
			return err
		}
		n, err = done.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		return s.explain("write data of result "+id, err)
	case n == 0:
		return s.noSuch(ctx, id)
	}
	return nil
}
