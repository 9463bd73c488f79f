package postgres

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/gather"
)

// service is the logger in a database.
type service struct {
	pool         *postgres.Pool
	writer       *gather.Writer
	removeAtOnce int // removeAtOnce; less in a test
	closed       atomic.Bool
}

var (
	_ logging.Service = (*service)(nil)
	_ logging.Readier = (*service)(nil)
)

// Close fails the writers who wait, and closes the connections.
func (s *service) Close() error {
	s.closed.Store(true)
	s.writer.Close()
	s.pool.Close()
	return nil
}

// coded is the error of a call as callers may see it.
func (s *service) coded(ctx context.Context, err error) error {
	if err != nil && s.closed.Load() && ctx.Err() == nil {
		return wirelab.Errorf(wirelab.Unavailable, "the log is closed")
	}
	return s.pool.Coded(ctx, err)
}

// Ready implements [logging.Readier].
func (s *service) Ready(ctx context.Context) error { return s.coded(ctx, s.pool.Ping(ctx)) }

// WriteLog implements [logging.Service]. The time is by the database's clock, of
// which there is one however many loggers share it.
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
func (s *service) store(ctx context.Context, entries []logging.Entry) ([]gather.Verdict, error) {
	ids, names, data := make([]string, len(entries)), make([]string, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		ids[i], names[i], data[i] = e.ID, e.Name, e.Data
	}
	var verdicts []gather.Verdict
	if err := s.pool.QueryRow(ctx, storeStatement, ids, names, data).Scan(&verdicts); err != nil {
		return nil, s.coded(ctx, err)
	}
	return verdicts, nil
}

// GetEntry implements [logging.Service].
func (s *service) GetEntry(ctx context.Context, id logging.EntryID) (logging.Stored, error) {
	if err := id.Validate(); err != nil {
		return logging.Stored{}, err
	}
	var e logging.Stored
	err := s.pool.QueryRow(ctx, entryStatement, id.ID).Scan(into(&e)...)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return logging.Stored{}, logging.UnknownEntry(id.ID)
	case err != nil:
		return logging.Stored{}, s.coded(ctx, err)
	}
	e.At = e.At.UTC()
	return e, nil
}

// into is where a row of an entry goes.
func into(e *logging.Stored) []any { return []any{&e.Position, &e.ID, &e.Name, &e.Data, &e.At} }

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
	arguments := []any{before, bound(query.Since), bound(query.Until), page.Limit, logging.PageBytes}
	statement := pageStatement
	if query.Name != "" {
		statement, arguments = namedStatement, append(arguments, query.Name)
	}
	rows, err := s.pool.Query(ctx, statement, arguments...)
	if err != nil {
		return logging.EntryList{}, s.coded(ctx, err)
	}
	var e logging.Stored
	if _, err := pgx.ForEachRow(rows, into(&e), func() error {
		e.At = e.At.UTC()
		page.Add(e)
		return nil
	}); err != nil {
		return logging.EntryList{}, s.coded(ctx, err)
	}
	return page.List(), nil
}

// bound is a time as an argument: nil for none.
func bound(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// DeleteEntries implements [logging.Service]. It keeps entries stored after it began, so that it ends.
func (s *service) DeleteEntries(ctx context.Context, retention logging.Retention) (logging.Deleted, error) {
	if err := retention.Validate(); err != nil {
		return logging.Deleted{}, err
	}
	var last int64
	if err := s.pool.QueryRow(ctx, lastStatement).Scan(&last); err != nil {
		return logging.Deleted{}, s.coded(ctx, err)
	}
	var deleted logging.Deleted
	for left := true; left; {
		done, err := s.pool.Exec(ctx, removeStatement, retention.Before, last, s.removeAtOnce)
		if err != nil {
			return logging.Deleted{}, s.coded(ctx, err)
		}
		deleted.Count += done.RowsAffected()
		// Fewer than asked for may be the last, or those another process removed
		// while this one waited for them.
		if done.RowsAffected() < int64(s.removeAtOnce) {
			if err := s.pool.QueryRow(ctx, leftStatement, retention.Before, last).Scan(&left); err != nil {
				return logging.Deleted{}, s.coded(ctx, err)
			}
		}
	}
	return deleted, nil
}
