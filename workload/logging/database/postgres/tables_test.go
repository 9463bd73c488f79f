package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"wirelab"
	"wirelab/system/postgres/postgrestest"
	"wirelab/workload/logging"
)

// Removing is done in steps, each committed for itself: what it locks is
// bounded, and what was removed when its caller left stays removed (S14).
func TestRemoveInSteps(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	s := opened(t, dsn)
	s.removeAtOnce = 7
	for i := range 50 {
		if _, err := s.WriteLog(t.Context(), logging.Entry{ID: fmt.Sprint("e", i), Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM entries WHERE id = 'e20' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	future := logging.Retention{Before: time.Now().Add(time.Hour).Truncate(time.Microsecond)}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	ended := make(chan error, 1)
	go func() {
		_, err := s.DeleteEntries(ctx, future)
		ended <- err
	}()
	untilWaiting(t, dsn, 1)
	leave()
	wantCode(t, "a removal that waits for one entry", <-ended, wirelab.Canceled)
	if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "during", Name: "n"}); err != nil {
		t.Errorf("a concurrent writer: %v", err)
	}
	if left := all(t, s); len(left) != 50-14+1 || left[len(left)-1].ID != "e14" {
		t.Errorf("%d are left, the oldest %v", len(left), left[len(left)-1])
	}
	untilWaiting(t, dsn, 0)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := s.pool.Use().Acquired
	deleted, err := s.DeleteEntries(t.Context(), future)
	if err != nil || deleted.Count != 37 {
		t.Errorf("%v were removed, %v", deleted, err)
	}
	if steps := s.pool.Use().Acquired - before; steps != 1+6+1 { // the end, 37 by 7, whether any is left
		t.Errorf("in %d statements, want 8", steps)
	}
}

// untilWaiting waits until so many statements in the database wait for a lock. 0: a
// caller that leaves asks the server to cancel what it waited for, but is not
// there any more to see it done, and a lock released before lets it finish.
func untilWaiting(t *testing.T, dsn string, want int) {
	t.Helper()
	conn := connected(t, dsn)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const waiting = `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for count := -1; count != want; {
		if err := conn.QueryRow(ctx, waiting).Scan(&count); err != nil {
			t.Fatalf("%d statements wait, not %d: %v", count, want, err)
		}
	}
}

// TestTablesRefuse checks that the tables themselves refuse invalid rows, whichever program writes.
func TestTablesRefuse(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	if _, err := opened(t, dsn).WriteLog(t.Context(), logging.Entry{ID: "there", Name: "n"}); err != nil {
		t.Fatal(err)
	}
	conn := connected(t, dsn)
	const insert = "INSERT INTO entries (id, name, data, stored_at) VALUES "
	for _, c := range []struct{ name, statement, state string }{
		{"an id again", insert + "('there', 'n', '', now())", "23505"},
		{"no id", insert + "('', 'n', '', now())", "23514"},
		{"a long id", insert + "(repeat('i', 65), 'n', '', now())", "23514"},
		{"no name", insert + "('x', '', '', now())", "23514"},
		{"a name of too many bytes", insert + "('x', repeat('ü', 65), '', now())", "23514"},
		{"long data", insert + "('x', 'n', repeat('d', 524289), now())", "23514"},
		{"no data", insert + "('x', 'n', NULL, now())", "23502"},
		{"no time", insert + "('x', 'n', '', NULL)", "23502"},
		{"a position of one's own", "INSERT INTO entries VALUES (7, 'x', 'n', '', now())", "428C9"},
	} {
		_, err := conn.Exec(t.Context(), c.statement)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != c.state {
			t.Errorf("%s: %v, want SQLSTATE %s", c.name, err, c.state)
		}
	}
}

// Every statement goes by an index, also in the plan that PostgreSQL keeps for
// all arguments: the origin has none at all (ms-D16).
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	opened(t, dsn)
	conn := connected(t, dsn)
	for _, statement := range []string{
		`INSERT INTO entries (id, name, data, stored_at) SELECT 'e' || n, 'name-' || n % 50, repeat('data ', 20), timestamptz '2026-01-01' + n * interval '1 s' FROM generate_series(1, 20000) n`,
		`ANALYZE entries`, `SET plan_cache_mode = force_generic_plan`,
	} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	arguments := map[string]string{
		entryStatement: `('e7')`, lastStatement: ``,
		pageStatement:   `(20000, '2026-01-01 01:00Z', '2026-01-01 02:00Z', 100, 524288)`,
		namedStatement:  `(20000, '2026-01-01 01:00Z', '2026-01-01 02:00Z', 100, 524288, 'name-7')`,
		removeStatement: `('2026-01-01 01:00Z', 20000, 100)`, leftStatement: `('2026-01-01 01:00Z', 20000)`,
	}
	for name, sql := range statements() {
		if name == storeStatement {
			continue // a call of a function: what it looks for is one id, and the last position
		}
		plan := postgrestest.Plan(t, conn, name, sql, arguments[name])
		whole := slices.ContainsFunc(plan, func(line string) bool {
			line = strings.TrimSpace(line)
			return strings.Contains(line, "Seq Scan") || strings.HasSuffix(line, "-> Sort") ||
				strings.HasSuffix(line, "->  Sort") || line == "Sort" ||
				strings.HasPrefix(line, "Filter") && !strings.Contains(line, "ahead") // of a page that was read
		})
		if whole || !strings.Contains(strings.Join(plan, "\n"), "Index") {
			t.Errorf("%s goes without an index:\n%s", name, strings.Join(plan, "\n"))
		}
	}
}

// Migrations stop at the first error, go on where they stopped, and refuse a
// later form (S12).
func TestMigrations(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil || len(names) != latestVersion {
		t.Fatalf("%d files of form %d, %v", len(names), latestVersion, err)
	}
	for _, c := range []struct {
		name   string
		before string // done to a schema that is ready
		code   wirelab.Code
		words  string
	}{
		{"died before anything", "DROP SCHEMA logging_entries CASCADE; CREATE SCHEMA logging_entries", 0, ""},
		{
			"died before the last migration",
			"DROP FUNCTION store_entries; DELETE FROM goose_db_version WHERE version_id = 2",
			0, "",
		},
		// the function is there
		{"a migration that fails", "DELETE FROM goose_db_version WHERE version_id = 2", wirelab.Internal, "42723"},
		{
			"of a later wirelab", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)",
			wirelab.Unimplemented, "form 99",
		},
	} {
		dsn := postgrestest.Database(t, server)
		if err := makeReady(t.Context(), dsn); err != nil {
			t.Fatal(err)
		}
		if _, err := connected(t, dsn).Exec(t.Context(), c.before); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for range 2 {
			o, err := open(t.Context(), wirelab.DatabaseAddress{Source: dsn, Pool: 1}, "")
			if c.words != "" {
				if wantCode(t, c.name, err, c.code); err != nil && !strings.Contains(err.Error(), c.words) {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if _, err := o.Service.WriteLog(t.Context(), logging.Entry{ID: "x", Name: "n"}); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Times do not go back where the clock does: a range of times is looked for as
// one of positions.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	s := opened(t, dsn)
	ahead := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	if _, err := connected(t, dsn).Exec(t.Context(),
		"INSERT INTO entries (id, name, data, stored_at) VALUES ('ahead', 'n', '', $1)", ahead); err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteLog(t.Context(), logging.Entry{ID: "now", Name: "n"}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.GetEntry(t.Context(), logging.EntryID{ID: "now"}); err != nil || !got.At.Equal(ahead) ||
		got.Position != 2 {
		t.Errorf("%v of %v, %v; want it of %v", got, got.At, err, ahead)
	}
}

// TestDatabasesDefaults checks that an acknowledgement waits for the disk whatever the defaults of the database
// are, and that each statement sees what others have committed (S2).
func TestDatabasesDefaults(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	if _, err := connected(t, dsn).Exec(t.Context(), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database());
		EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$`); err != nil {
		t.Fatal(err)
	}
	s := opened(t, dsn)
	var commit, isolation string
	if err := s.pool.QueryRow(t.Context(), "SELECT current_setting('synchronous_commit'), "+
		"current_setting('transaction_isolation')").
		Scan(&commit, &isolation); err != nil || commit != "on" || isolation != "read committed" {
		t.Errorf("synchronous_commit %s, %s, %v", commit, isolation, err)
	}
}

// TestMayNot checks that the error for a user without the right to create a schema names that right, and contains
// no password.
func TestMayNot(t *testing.T) {
	t.Parallel()
	guest := postgrestest.Guest(t, postgrestest.Database(t, server), "guest-s3cret")
	_, err := open(t.Context(), wirelab.DatabaseAddress{Source: guest, Pool: 1}, "")
	if wantCode(t, "without the right", err, wirelab.PermissionDenied); err != nil &&
		(!strings.Contains(err.Error(), "grant CREATE") || strings.Contains(err.Error(), "s3cret")) {
		t.Errorf("without the right: %v", err)
	}
	_, err = open(t.Context(), wirelab.DatabaseAddress{Pool: 1}, "")
	wantCode(t, "without a connection string", err, wirelab.InvalidArgument)
}
