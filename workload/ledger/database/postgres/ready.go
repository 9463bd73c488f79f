package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/workload/ledger"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// tablesVersion is the migration after which the data set is written, and latestVersion the last one.
const (
	tablesVersion = 1
	latestVersion = 3
)

// Seeded is the result of preparing a data set.
type Seeded struct {
	Written bool          `json:"written"` // false: it was there already
	Took    time.Duration `json:"took"`    // ns
}

// Seed prepares a data set. With again it removes the set first, with everything posted since; it does not change
// anything else in the database (grb-D05).
func Seed(ctx context.Context, dsn string, set *ledger.Set, again bool) (Seeded, error) {
	if again {
		if err := remove(ctx, dsn, set); err != nil {
			return Seeded{}, err
		}
	}
	return makeReady(ctx, dsn, set)
}

// makeReady migrates the schema of the data set to the latest version and writes the data set, unless both are
// done. Concurrent processes take turns; one that dies leaves the work to the next, and never half a data set.
func makeReady(ctx context.Context, dsn string, set *ledger.Set) (Seeded, error) {
	began := time.Now()
	conn, err := postgres.Connect(ctx, dsn, schemaOf(set))
	if err != nil {
		return Seeded{}, err
	}
	defer postgres.CloseSoon(conn) // also releases the lock
	written, err := makeReadyBy(ctx, conn, dsn, set)
	return Seeded{Written: written, Took: time.Since(began)}, postgres.CodedMaking(ctx, err)
}

func makeReadyBy(ctx context.Context, conn *pgx.Conn, dsn string, set *ledger.Set) (written bool, err error) {
	if done, err := ready(ctx, conn, set); err != nil || done {
		return false, err
	}
	if err := lock(ctx, conn, set); err != nil {
		return false, err
	}
	// Another process may have done some steps while we waited for the lock, so each step checks.
	if err := postgres.CreateSchema(ctx, conn, schemaOf(set)); err != nil {
		return false, err
	}
	if err := postgres.Migrate(ctx, dsn, schemaOf(set), migrationFiles, tablesVersion); err != nil {
		return false, err
	}
	if written, err = write(ctx, conn, set); err != nil {
		return written, err
	}
	if err := postgres.Migrate(ctx, dsn, schemaOf(set), migrationFiles, latestVersion); err != nil {
		return written, err
	}
	// Otherwise autovacuum would run some minutes later, during a measurement.
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE) accounts, transactions")
	return written, err
}

// ready reports whether there is nothing to do.
func ready(ctx context.Context, conn *pgx.Conn, set *ledger.Set) (bool, error) {
	var tables int
	if err := conn.QueryRow(ctx,
		`SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename IN ('seeded', 'goose_db_version')`,
		schemaOf(set)).Scan(&tables); err != nil || tables < 2 {
		return false, err
	}
	var version int64
	var seed *string
	if err := conn.QueryRow(ctx,
		`SELECT (SELECT max(version_id) FROM goose_db_version WHERE is_applied), (SELECT seed FROM seeded)`).
		Scan(&version, &seed); err != nil {
		return false, err
	}
	if version > latestVersion {
		return false, wirelab.Errorf(wirelab.Unimplemented,
			"the database's tables are of a later wirelab (form %d, this one knows %d): use that one, or write the "+
				"set again "+
				"with wirelab db seed --again",
			version, latestVersion)
	}
	if seed != nil && *seed != set.Seed() {
		return false, otherSeed(*seed, set)
	}
	return seed != nil && version == latestVersion, nil
}

func otherSeed(seed string, set *ledger.Set) error {
	return wirelab.Errorf(wirelab.Conflict,
		"the database holds the data set as another wirelab wrote it (%.40q, this one writes %q): write it again with "+
			"wirelab db seed --again",
		seed, set.Seed())
}

// lockSpace separates these advisory locks from others in the database.
const lockSpace = 1818518886

// lock takes the lock of the data set until the connection is closed.
func lock(ctx context.Context, conn *pgx.Conn, set *ledger.Set) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(schemaOf(set))) // never fails
	_, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", lockSpace, int32(h.Sum32()))
	return err
}

// write writes the data set in one transaction, unless it is there.
func write(ctx context.Context, conn *pgx.Conn, set *ledger.Set) (written bool, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var seed string
		err := tx.QueryRow(ctx, "SELECT seed FROM seeded").Scan(&seed)
		switch {
		case err == nil && seed == set.Seed():
			return nil
		case err == nil:
			return otherSeed(seed, set)
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		if err := fill(ctx, tx, set); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO seeded (seed) VALUES ($1)", set.Seed())
		written = err == nil
		return err
	})
	return written, err
}

// fill copies the data set into the empty tables.
func fill(ctx context.Context, tx pgx.Tx, set *ledger.Set) error {
	if err := copyInto(ctx, tx, "accounts", []string{"account_id", "balance_tinybar", "updated_at"}, set.Accounts(),
		func(b ledger.Balance) []any { return []any{b.Account, b.Amount, b.UpdatedAt} }); err != nil {
		return err
	}
	return copyInto(ctx, tx, "transactions",
		[]string{"position", "tx_id", "from_account", "to_account", "amount_tinybar", "tx_type", "timestamp"},
		set.Transactions(),
		func(e ledger.Entry) []any {
			t := e.Transaction
			return []any{e.Position, t.ID, t.From, t.To, t.Amount, t.Type, t.Timestamp}
		})
}

// copyInto inserts rows with COPY, the fast way for many rows.
func copyInto[T any](
	ctx context.Context, tx pgx.Tx, table string, columns []string, rows iter.Seq[T], values func(T) []any,
) error {
	next, stop := iter.Pull(rows)
	defer stop()
	_, err := tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		row, ok := next()
		if !ok {
			return nil, nil
		}
		return values(row), nil
	}))
	return err
}

// remove removes a data set.
func remove(ctx context.Context, dsn string, set *ledger.Set) error {
	conn, err := postgres.Connect(ctx, dsn, "")
	if err != nil {
		return err
	}
	defer postgres.CloseSoon(conn)
	if err := lock(ctx, conn, set); err != nil {
		return postgres.CodedMaking(ctx, err)
	}
	_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schemaOf(set)}.Sanitize()+" CASCADE")
	return postgres.CodedMaking(ctx, err)
}

// Held describes a data set in a database.
type Held struct {
	Name         string `json:"name"` // "10000x100000"
	Accounts     int64  `json:"accounts"`
	Transactions int64  `json:"transactions"` // including those posted since
	Bytes        int64  `json:"bytes"`        // on disk, with indexes
}

// Sets returns the data sets in a database, by name.
func Sets(ctx context.Context, dsn string) ([]Held, error) {
	conn, err := postgres.Connect(ctx, dsn, "")
	if err != nil {
		return nil, err
	}
	defer postgres.CloseSoon(conn)
	rows, err := conn.Query(ctx, `SELECT substr(n.nspname, $1), sum(pg_total_relation_size(c.oid))::bigint
		FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
		WHERE n.nspname ~ '^ledger_[0-9]+x[0-9]+$' GROUP BY n.nspname
		HAVING bool_or(c.relname = 'transactions') ORDER BY n.nspname COLLATE "C"`, len(schemaStem)+1)
	if err != nil {
		return nil, postgres.CodedMaking(ctx, err)
	}
	sets, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Held, err error) {
		return h, row.Scan(&h.Name, &h.Bytes)
	})
	if err != nil {
		return nil, postgres.CodedMaking(ctx, err)
	}
	for i := range sets {
		in := pgx.Identifier{schemaStem + sets[i].Name}.Sanitize()
		if err := conn.QueryRow(ctx, fmt.Sprintf("SELECT (SELECT count(*) FROM %s.accounts), (SELECT "+
			"coalesce(max(position), 0) FROM %s.transactions)", in, in)).
			Scan(&sets[i].Accounts, &sets[i].Transactions); err != nil {
			return nil, postgres.CodedMaking(ctx, err)
		}
	}
	return sets, nil
}

// Others returns how many tables and databases a server holds apart from the data sets in one of its databases, the
// objects that every server has, and the schemas in but, which the caller knows to hold nothing of value: those of
// another workload, empty.
func Others(ctx context.Context, dsn string, but ...string) (int, error) {
	conn, err := postgres.Connect(ctx, dsn, "")
	if err != nil {
		return 0, err
	}
	defer postgres.CloseSoon(conn)
	var n int
	err = conn.QueryRow(ctx, `SELECT
		(SELECT count(*) FROM pg_tables WHERE schemaname !~ '^(ledger_[0-9]+x[0-9]+|pg_.*|information_schema)$' AND schemaname <> ALL($1)) +
		(SELECT count(*) FROM pg_database WHERE NOT datistemplate AND datname NOT IN ('postgres', current_database()))`,
		append([]string{}, but...)).Scan(&n)
	return n, postgres.CodedMaking(ctx, err)
}
