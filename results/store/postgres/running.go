package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab/results/store"
)

// Report implements [store.Store]. It is not repeated, since the next progress follows soon.
func (s *Store) Report(ctx context.Context, r store.Running) error {
	news, standing, err := store.EncodeRunning(r)
	if err != nil {
		return err
	}
	var reported *time.Time // nil: now, by the server's clock
	if !r.Reported.IsZero() {
		reported = &r.Reported
	}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var batch pgx.Batch
		// Progress does not wait for the disk, and does not load it while a database on it is measured.
		batch.Queue(`SET LOCAL synchronous_commit = off`)
		batch.Queue(`DELETE FROM wirelab_results.running WHERE reported < now() - $1::interval`, store.ForgottenAfter)
		batch.Queue(`INSERT INTO wirelab_results.running AS old (id, reported, news, standing) VALUES ($1, coalesce($2, now()), $3, $4)
			ON CONFLICT (id) DO UPDATE SET reported = excluded.reported, news = excluded.news, standing = coalesce(excluded.standing, old.standing)`,
			r.ID, reported, news, standing)
		return tx.SendBatch(ctx, &batch).Close()
	})
	return s.explain(ctx, "report experiment "+r.ID, err)
}

// Running implements [store.Store].
func (s *Store) Running(ctx context.Context) ([]store.Running, error) {
	all := []store.Running{}
	err := s.again(ctx, func(ctx context.Context, _ int) error {
		// Ids begin with the time at which their experiment began. The age of progress is computed with only one
		// clock, the server's.
		rows, err := s.pool.Query(ctx, `SELECT reported, now(), news, standing FROM wirelab_results.running
			WHERE reported >= now() - $1::interval ORDER BY id DESC LIMIT $2`, store.ForgottenAfter, store.RunningLimit)
		if err != nil {
			return err
		}
		all, err = pgx.AppendRows(all[:0], rows, func(row pgx.CollectableRow) (store.Running, error) {
			var reported, now time.Time
			var news, standing []byte
			if err := row.Scan(&reported, &now, &news, &standing); err != nil {
				return store.Running{}, err
			}
			return store.DecodeRunning(news, standing, reported, now)
		})
		return err
	})
	if err != nil {
		return nil, s.explain(ctx, "read", err)
	}
	return all, nil
}

// Forget implements [store.Store].
func (s *Store) Forget(ctx context.Context, id string) error {
	if unfit(id) {
		return nil
	}
	_, err := s.pool.Exec(ctx, `DELETE FROM wirelab_results.running WHERE id = $1`, id)
	return s.explain(ctx, "forget experiment "+id, err)
}
