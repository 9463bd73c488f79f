// Package postgres keeps results in a PostgreSQL database that a team shares, in a separate schema. It knows SQL,
// connections and how they fail. Of the meaning of results it knows only what it writes into tables for users of SQL.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/results/store"
	"wirelab/system/postgres"
)

// connections is the size of a store's pool: one connection for a Put, one for progress, the others for reading.
const connections = 4

// Store is a [store.Store] in a PostgreSQL database.
type Store struct {
	pool *postgres.Pool
	at   postgres.Address // its address, without secrets
}

var _ store.Store = (*Store)(nil)

// Open opens the results in the database that a connection string names, and creates or migrates their schema if
// necessary. Errors contain the database's address and never the string, which may contain a password. ctx limits
// only the opening.
func Open(ctx context.Context, dsn string) (*Store, error) {
	at, err := postgres.Parse(dsn)
	if err != nil {
		return nil, err
	}
	pool, err := postgres.Open(ctx, dsn, postgres.Pooling{Size: connections})
	if err != nil {
		return nil, err
	}
	s := &Store{pool: pool, at: at}
	files, err := migrations()
	if err == nil {
		err = s.explain(ctx, "open the results", s.migrate(ctx, files))
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the connections after the calls in progress have ended.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// String returns where the results are, without user and password.
func (s *Store) String() string { return "PostgreSQL at " + s.at.String() }

// How often a call is tried if its connection is lost, and the first pause between attempts. The pause grows: a
// server that was restarted is back after about a second.
const (
	attempts   = 4
	firstPause = 200 * time.Millisecond
)

// pause waits before the next attempt.
func pause(ctx context.Context, attempt int) error {
	timer := time.NewTimer(firstPause << (attempt - 1))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, r *result.Result) error {
	p, err := store.Pack(r)
	if err != nil {
		return err
	}
	return s.put(ctx, p)
}

// PutText implements [store.Store].
func (s *Store) PutText(ctx context.Context, text []byte) error {
	p, err := store.PackText(text)
	if err != nil {
		return err
	}
	return s.put(ctx, p)
}

// PutPacked implements [store.Store].
func (s *Store) PutPacked(ctx context.Context, p store.Packed) error { return s.put(ctx, p) }

func (s *Store) put(ctx context.Context, p store.Packed) error {
	all := derive(p)
	if p.Origin != "" {
		// Before the transaction, since a statement that the user may not execute would abort it.
		usable, err := s.makeOrigins(ctx)
		if err != nil {
			return s.explain(ctx, "store result "+all.id, err)
		}
		if !usable {
			p.Origin = ""
		}
	}
	err := s.again(ctx, s.settled(all, p, func(ctx context.Context, _ int) error { return s.insert(ctx, all, p) }))
	return s.explain(ctx, "store result "+all.id, err)
}

// settled makes an insert that can be repeated: after a lost answer to a commit, the result may be stored already.
func (s *Store) settled(all derived, p store.Packed,
	insert func(context.Context, int) error,
) func(context.Context, int) error {
	return func(ctx context.Context, attempt int) error {
		err := insert(ctx, attempt)
		if attempt > 1 && err != nil && wirelab.CodeOf(err) == wirelab.Conflict {
			if there, sought := s.Digest(ctx, all.id); sought == nil && there == p.Digest {
				return nil
			}
		}
		return err
	}
}

// insert stores a result, and the data next to it, in one transaction.
func (s *Store) insert(ctx context.Context, all derived, p store.Packed) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// A result must survive a power failure once Put has returned, also if the server is configured to answer
		// before its disk has the data.
		if _, err := tx.Exec(ctx,
			`SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, insertResult, all.result...)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return wirelab.Errorf(wirelab.Conflict, "there is a result %s already", all.id)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO wirelab_results.bodies (result_id, body) VALUES ($1, $2)`, all.id,
			p.Body); err != nil {
			return err
		}
		for _, t := range all.tables {
			if len(t.rows) == 0 {
				continue
			}
			if _, err := tx.CopyFrom(ctx, pgx.Identifier{schema, t.name}, t.columns,
				pgx.CopyFromRows(t.rows)); err != nil {
				return err
			}
		}
		if p.Origin != "" {
			if _, err := tx.Exec(ctx, insertOrigin, all.id, p.Origin); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `DELETE FROM wirelab_results.running WHERE id = $1`, all.id) // it no longer runs
		return err
	})
}

// Digest implements [store.Store].
func (s *Store) Digest(ctx context.Context, id string) (digest string, err error) {
	if unfit(id) {
		return "", s.noSuch(ctx, id)
	}
	err = s.again(ctx, func(ctx context.Context, _ int) error {
		return s.pool.QueryRow(ctx, `SELECT digest FROM wirelab_results.results WHERE id = $1`, id).Scan(&digest)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return "", s.noSuch(ctx, id)
	}
	return digest, s.explain(ctx, "read result "+id, err)
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, id string) (*result.Result, error) {
	id, err := s.resolve(ctx, id)
	if err != nil {
		return nil, err
	}
	var body []byte
	var label string
	err = s.again(ctx, func(ctx context.Context, _ int) error {
		return s.pool.QueryRow(ctx,
			`SELECT body, label FROM wirelab_results.bodies JOIN wirelab_results.results ON id = result_id
			WHERE result_id = $1`, id).Scan(&body, &label)
	})
	if errors.Is(err, pgx.ErrNoRows) { // deleted after its id was found
		return nil, s.noSuch(ctx, id)
	}
	if err != nil {
		return nil, s.explain(ctx, "read result "+id, err)
	}
	r, err := store.UnpackAs(body, id, fmt.Sprintf("PostgreSQL at %s", s.at))
	if err == nil {
		r.Label = label
	}
	return r, err
}

// Raw implements [store.Store].
func (s *Store) Raw(ctx context.Context, id string) (store.Stored, error) {
	id, err := s.resolve(ctx, id)
	if err != nil {
		return store.Stored{}, err
	}
	var found store.Stored
	var body []byte
	err = s.again(ctx, func(ctx context.Context, _ int) error {
		row := s.pool.QueryRow(ctx,
			`SELECT `+summaryColumns+`, digest, (SELECT body FROM wirelab_results.bodies WHERE result_id = r.id)
			FROM wirelab_results.results r WHERE id = $1`, id)
		var err error
		found.Summary, err = scan(row, &found.Digest, &body)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) { // deleted after its id was found
		return store.Stored{}, s.noSuch(ctx, id)
	}
	if err != nil {
		return store.Stored{}, s.explain(ctx, "read result "+id, err)
	}
	if found.JSON, err = store.UnpackText(body); err != nil {
		found.Damage = wirelab.Public(err).Message
	}
	found.Origin, err = s.origin(ctx, id)
	return found, err
}

// Delete implements [store.Store]. The rows derived from the result are deleted with it.
func (s *Store) Delete(ctx context.Context, id string) error {
	if unfit(id) {
		return s.noSuch(ctx, id)
	}
	var gone int64
	err := s.again(ctx, func(ctx context.Context, attempt int) error {
		done, err := s.pool.Exec(ctx, `DELETE FROM wirelab_results.results WHERE id = $1`, id)
		gone = done.RowsAffected()
		if attempt > 1 && err == nil {
			gone = max(gone, 1) // the answer to the previous attempt was lost
		}
		return err
	})
	if err != nil {
		return s.explain(ctx, "delete result "+id, err)
	}
	if gone == 0 {
		return s.noSuch(ctx, id)
	}
	return nil
}
