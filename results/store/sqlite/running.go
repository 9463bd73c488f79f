package sqlite

import (
	"context"
	"database/sql"
	"time"

	"wirelab/results/store"
)

// newsTimeout is how long progress waits for another writer. Late progress is out of date, and the next follows in a
// second.
const newsTimeout = 250 * time.Millisecond

// Report implements [store.Store]. It uses a separate connection, so that a Put never queues behind it, and it does
// not wait for the disk.
func (s *Store) Report(ctx context.Context, r store.Running) (err error) {
	news, standing, err := store.EncodeRunning(r)
	if err != nil {
		return err
	}
	now := time.Now()
	if r.Reported.IsZero() {
		r.Reported = now
	}
	defer func() { err = s.explain("report experiment "+r.ID, err) }()
	tx, err := s.news.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	if _, err := tx.ExecContext(ctx, `DELETE FROM running WHERE reported < ?`,
		now.Add(-store.ForgottenAfter).UnixMicro()); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO running (id, reported, body, standing) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET reported = excluded.reported, body = excluded.body,
			standing = coalesce(excluded.standing, standing)`,
		r.ID, r.Reported.UnixMicro(), string(news),
		sql.NullString{String: string(standing), Valid: standing != nil}); err != nil {
		return err
	}
	return tx.Commit()
}

// Running implements [store.Store].
func (s *Store) Running(ctx context.Context) ([]store.Running, error) {
	now := time.Now()
	// Ids begin with the time at which their experiment began.
	rows, err := s.read.QueryContext(ctx,
		`SELECT reported, body, standing FROM running WHERE reported >= ? ORDER BY id DESC LIMIT ?`,
		now.Add(-store.ForgottenAfter).UnixMicro(), store.RunningLimit)
	if err != nil {
		return nil, s.explain("read", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has reported the error
	all := []store.Running{}
	for rows.Next() {
		var reported int64
		var body, standing []byte
		if err := rows.Scan(&reported, &body, &standing); err != nil {
			return nil, s.explain("read", err)
		}
		r, err := store.DecodeRunning(body, standing, time.UnixMicro(reported), now)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, s.explain("read", rows.Err())
}

// Forget implements [store.Store].
func (s *Store) Forget(ctx context.Context, id string) error {
	_, err := s.news.ExecContext(ctx, `DELETE FROM running WHERE id = ?`, id)
	return s.explain("forget experiment "+id, err)
}
