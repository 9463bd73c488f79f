package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/workload/logging"
	"wirelab/workload/logging/database/gather"
)

// Kind is the name of the database.
const Kind = "postgres"

// Database returns PostgreSQL as a database of the logger. Its source is a connection string.
func Database() wirelab.Database[logging.Service] {
	return wirelab.Database[logging.Service]{Name: Kind, Open: open, Script: script}
}

// open prepares the tables and opens the logger over them.
func open(ctx context.Context, at wirelab.DatabaseAddress, data string) (wirelab.Opened[logging.Service], error) {
	if data != "" {
		return wirelab.Opened[logging.Service]{}, wirelab.Errorf(wirelab.InvalidArgument,
			"a logger has one data set, without a name and empty; leave data out")
	}
	if at.Pool == 0 {
		at.Pool = wirelab.PoolSize
	}
	if at.Source == "" {
		return wirelab.Opened[logging.Service]{}, wirelab.Errorf(wirelab.InvalidArgument,
			"no connection string: set %s to one such as postgres://user:password@host:5432/database, or start a "+
				"server with "+
				"wirelab db start", postgres.Variable)
	}
	if err := makeReady(ctx, at.Source); err != nil {
		return wirelab.Opened[logging.Service]{}, err
	}
	pool, err := postgres.Open(ctx, at.Source, postgres.Pooling{Size: at.Pool, Schema: Schema, Each: prepare})
	if err != nil {
		return wirelab.Opened[logging.Service]{}, err
	}
	about, err := pool.About(ctx)
	if err != nil {
		pool.Close()
		return wirelab.Opened[logging.Service]{}, err
	}
	s := &service{pool: pool, removeAtOnce: removeAtOnce}
	s.writer = gather.Start(s.store)
	use := func() wirelab.PoolUse { return s.writer.Use(pool.Use()) }
	return wirelab.Opened[logging.Service]{Service: s, About: about, Pool: use, Closer: s}, nil
}

// The statements, prepared on every new connection, so that no call pays for it.
const (
	storeStatement  = "store_entries"
	entryStatement  = "entry"
	pageStatement   = "page"
	namedStatement  = "page_of_name"
	removeStatement = "remove"
	leftStatement   = "any_left"
	lastStatement   = "last"
)

func statements() map[string]string {
	const columns = `position, id, name, data, stored_at`
	// Times never decrease along positions, so a range of times is a range of positions, which is found by its
	// ends; with a condition on each row, an old time would make the database read everything newer. The database
	// sends no more of a page than fits: it sums the sizes of rows before it fetches their data.
	page := func(condition string) string {
		return `SELECT ` + columns + ` FROM (
			SELECT *, sum(octet_length(name) + octet_length(data)) OVER (ORDER BY position DESC ROWS UNBOUNDED PRECEDING)
				- octet_length(name) - octet_length(data) AS ahead
			FROM (SELECT * FROM entries WHERE position < LEAST($1::bigint, ` + firstAt("$3") + `)
				AND position >= CASE WHEN $2::timestamptz IS NULL THEN 0 ELSE ` + firstAt("$2") + ` END` + condition + `
				ORDER BY position DESC LIMIT $4) AS newest
			) AS added WHERE ahead < $5::bigint ORDER BY position DESC`
	}
	return map[string]string{
		storeStatement: `SELECT store_entries($1, $2, $3)`,
		entryStatement: `SELECT ` + columns + ` FROM entries WHERE id = $1`,
		pageStatement:  page(``),
		namedStatement: page(` AND name = $6`),
		// In a fixed order, so that two removals of the same entries cannot deadlock.
		removeStatement: `DELETE FROM entries WHERE position = ANY (ARRAY(
			SELECT position FROM entries WHERE stored_at < $1 AND position <= $2 ORDER BY stored_at, position LIMIT $3 FOR UPDATE))`,
		leftStatement: `SELECT count(*) > 0 FROM (SELECT FROM entries WHERE stored_at < $1 AND position <= $2 ORDER BY stored_at, position LIMIT 1) AS oldest`,
		lastStatement: `SELECT coalesce(max(position), 0) FROM entries`,
	}
}

// firstAt returns an expression for the position of the first entry at or after a time; beyond the last position if
// there is none, or no time.
func firstAt(time string) string {
	return `coalesce((SELECT position FROM entries WHERE stored_at >= ` + time +
		` ORDER BY stored_at, position LIMIT 1), 9223372036854775807)`
}

// prepare prepares a new connection. A server may be configured to acknowledge before a commit is on disk; that
// would break our promise (S2).
func prepare(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx,
		`SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`); err != nil {
		return err
	}
	for name, sql := range statements() {
		if _, err := conn.Prepare(ctx, name, sql); err != nil {
			return err
		}
	}
	return nil
}

// removeAtOnce is how many entries one commit removes: this bounds its locks and writes, and lets writers in
// between two commits.
const removeAtOnce = 5_000
