package postgres

import (
	"context"

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
	return whole, s.setBeside(ctx, whole, `UPDATE wirelab_results.results SET label = $2 WHERE id = $1`, label)
}

// SetFinding implements [store.Store].
func (s *Store) SetFinding(ctx context.Context, id, finding string) error {
	return s.setBeside(ctx, id, `UPDATE wirelab_results.results SET finding = $2 WHERE id = $1`, finding)
}

func (s *Store) setBeside(ctx context.Context, id, statement, value string) error {
	if unfit(id) {
		return s.noSuch(ctx, id)
	}
	var done int64
	err := s.again(ctx, func(ctx context.Context, _ int) error {
		tag, err := s.pool.Exec(ctx, statement, id, value)
		done = tag.RowsAffected()
		return err
	})
	switch {
	case err != nil:
		return s.explain(ctx, "write data of result "+id, err)
	case done == 0:
		return s.noSuch(ctx, id)
	}
	return nil
}
