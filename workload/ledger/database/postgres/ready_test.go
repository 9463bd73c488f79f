package postgres

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/system/postgres/postgrestest"
	"wirelab/workload/ledger"
)

// Writing a data set touches nothing but it, the results of others least of all
// (docs/origins.md grb-D05: reseeding truncated them), and again writes it as it was.
func TestSeed(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	conn, err := postgres.Connect(t.Context(), dsn, "")
	if err != nil {
		t.Fatal(err)
	}
	defer postgres.CloseSoon(conn)
	if _, err := conn.Exec(t.Context(), `CREATE TABLE benchmark_runs (id int); INSERT INTO benchmark_runs VALUES (1);
		CREATE TABLE transactions (id int); CREATE SCHEMA ledger_notes; CREATE TABLE ledger_notes.accounts (id int)`); err != nil {
		t.Fatal(err)
	}
	set := smallSet(t)
	for _, c := range []struct {
		name           string
		again, written bool
	}{{"first", false, true}, {"the same again", false, false}, {"anew", true, true}, {
		"and not once more", false, false,
	}} {
		done, err := Seed(t.Context(), dsn, set, c.again)
		if err != nil || done.Written != c.written {
			t.Errorf("%s: %+v, %v", c.name, done, err)
		}
		sets, err := Sets(t.Context(), dsn)
		if err != nil || len(sets) != 1 || sets[0].Name != small || sets[0].Accounts != 100 ||
			sets[0].Transactions != 1000 ||
			sets[0].Bytes < 100_000 {
			t.Errorf("%s: the database holds %+v, %v", c.name, sets, err)
		}
		s := opened(t, dsn).Service
		if _, err := s.PostTransaction(t.Context(), ledger.Posting{
			ID: "posted", From: alice, To: bob, Amount: 1,
		}); err != nil {
			t.Error(err)
		}
		if _, err := Seed(t.Context(), dsn, set, true); err != nil {
			t.Error(err)
		}
	}
	var runs int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM benchmark_runs, pg_tables WHERE tablename IN "+
		"('transactions', 'accounts') AND schemaname IN ('public', 'ledger_notes')").Scan(&runs); err != nil ||
		runs != 2 {
		t.Errorf("what was there before: %d, %v", runs, err)
	}
	// Apart from the data set: three tables here, and the databases of the other tests.
	if others, err := Others(t.Context(), dsn); err != nil || others < 3 {
		t.Errorf("others: %d, %v", others, err)
	} else if fewer, err := Others(t.Context(), dsn, "public"); err != nil || fewer >= others {
		t.Errorf("others but those in public: %d of %d, %v", fewer, others, err)
	}
}

// Migrations stop at the first error, go on where they stopped, and refuse a
// later form or another content (docs/origins.md grb-D06: not repeatable, without a
// version, errors not stopping).
func TestMigrations(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil || len(names) != latestVersion {
		t.Fatalf("%d files of form %d, %v", len(names), latestVersion, err)
	}
	set := smallSet(t)
	for _, c := range []struct {
		name   string
		before string // done to a schema with a data set
		code   wirelab.Code
		words  string
	}{
		{"died before anything", "DROP SCHEMA ledger_100x1000 CASCADE; CREATE SCHEMA ledger_100x1000", 0, ""},
		{
			"died before the data set was written", "TRUNCATE accounts, transactions, seeded; DROP FUNCTION " +
				"post_transaction; DELETE FROM goose_db_version WHERE version_id > 1;" +
				"DROP INDEX transactions_tx_id, transactions_from, transactions_to, transactions_timestamp;" +
				"ALTER TABLE transactions DROP CONSTRAINT transactions_from_exists, DROP CONSTRAINT " +
				"transactions_to_exists",
			0, "",
		},
		{
			"died before the last migration",
			"DROP FUNCTION post_transaction; DELETE FROM goose_db_version WHERE version_id " +
				"= 3", 0, "",
		},
		// the function is there
		{"a migration that fails", "DELETE FROM goose_db_version WHERE version_id = 3", wirelab.Internal, "42723"},
		{"written by another wirelab", "UPDATE seeded SET seed = 'v0 of old'", wirelab.Conflict, "db seed --again"},
		{
			"of a later wirelab", "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)",
			wirelab.Unimplemented, "form 99",
		},
	} {
		dsn := postgrestest.Database(t, server)
		if _, err := Seed(t.Context(), dsn, set, false); err != nil {
			t.Fatal(err)
		}
		if _, err := connected(t, dsn).Exec(t.Context(), c.before); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for range 2 {
			o, err := open(t.Context(), wirelab.DatabaseAddress{Source: dsn, Pool: 1}, small)
			if c.words != "" {
				if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.words) {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if _, err := o.Service.PostTransaction(t.Context(), ledger.Posting{
				ID: "posted", From: alice, To: bob, Amount: 1,
			}); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		}
		if c.words == "" {
			continue
		}
		if _, err := Seed(t.Context(), dsn, set, true); err != nil {
			t.Errorf("%s, and again: %v", c.name, err)
		}
	}
}

// TestTablesRefuse checks that the tables themselves refuse invalid rows, whichever program writes (docs/origins.md
// grb-D07: accounts that do not exist; grb-D11: no invariant; grb-D13: times without a zone).
func TestTablesRefuse(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	if _, err := Seed(t.Context(), dsn, smallSet(t), false); err != nil {
		t.Fatal(err)
	}
	conn := connected(t, dsn)
	const insert = "INSERT INTO transactions VALUES "
	for _, c := range []struct{ name, statement, state string }{
		{"a balance below 0", "UPDATE accounts SET balance_tinybar = -1", "23514"},
		{"a balance above 2^53-1", "UPDATE accounts SET balance_tinybar = 9007199254740992", "23514"},
		{"no balance", "UPDATE accounts SET balance_tinybar = NULL", "23502"},
		{"an unknown payer", insert + "(1001, 'x', 'absent', '0.0.100001', 1, 't', now())", "23503"},
		{"an unknown payee", insert + "(1001, 'x', '0.0.100001', 'absent', 1, 't', now())", "23503"},
		{"to oneself", insert + "(1001, 'x', '0.0.100001', '0.0.100001', 1, 't', now())", "23514"},
		{"nothing", insert + "(1001, 'x', '0.0.100001', '0.0.100002', 0, 't', now())", "23514"},
		{"an id again", insert + "(1001, 'tx-000000001', '0.0.100001', '0.0.100002', 1, 't', now())", "23505"},
		{"a position again", insert + "(1000, 'x', '0.0.100001', '0.0.100002', 1, 't', now())", "23505"},
		{"position 0", insert + "(0, 'x', '0.0.100001', '0.0.100002', 1, 't', now())", "23514"},
		{"a long type", insert + "(1001, 'x', '0.0.100001', '0.0.100002', 1, repeat('t', 33), now())", "23514"},
		{"an account with transactions removed", "DELETE FROM accounts", "23503"},
		{"a second data set", "INSERT INTO seeded (seed) VALUES ('x')", "23505"},
	} {
		_, err := conn.Exec(t.Context(), c.statement)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != c.state {
			t.Errorf("%s: %v, want SQLSTATE %s", c.name, err, c.state)
		}
	}
	rows, err := conn.Query(t.Context(), "SELECT column_name::text FROM information_schema.columns WHERE table_schema "+
		"= $1 AND table_name IN ('accounts', 'transactions') AND data_type = 'timestamp without time zone'",
		schemaStem+small)
	if err != nil {
		t.Fatal(err)
	}
	if zoneless, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(zoneless) > 0 {
		t.Errorf("times without a zone: %v, %v", zoneless, err)
	}
}

// Every statement of a call goes by an index, also in the plan that PostgreSQL
// keeps for all arguments (docs/origins.md grb-D10: conditions that defeat them).
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.Database(t, server)
	set, err := ledger.SetOf("") // of the smaller ones the whole table is read, and rightly
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Seed(t.Context(), dsn, set, false); err != nil {
		t.Fatal(err)
	}
	conn, err := postgres.Connect(t.Context(), dsn, schemaOf(set))
	if err != nil {
		t.Fatal(err)
	}
	defer postgres.CloseSoon(conn)
	if _, err := conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	arguments := map[string]string{
		balanceStatement: `('0.0.100001')`, balancesStatement: `(ARRAY['0.0.100001', '0.0.100002'])`,
		startStatement: `('tx-000000001', '2026-10-31')`, logStatement: `(1000, 256)`,
		accountStatement: `('0.0.100001', 10, 100)`, "head": ``,
	}
	all := statements()
	all["head"] = headQuery
	for name, sql := range all {
		if name == postStatement {
			continue // a call of a function: its statements find one account, one transaction, and the last
		}
		plan := postgrestest.Plan(t, conn, name, sql, arguments[name])
		whole := slices.ContainsFunc(plan, func(line string) bool {
			// reads more rows than requested
			return strings.Contains(line, "Seq Scan") || strings.Contains(line, "Filter") ||
				strings.HasSuffix(line, "-> Sort") || strings.HasSuffix(line, "->  Sort") // or more of it
		})
		if whole || !strings.Contains(strings.Join(plan, "\n"), "Index") {
			t.Errorf("%s goes without an index:\n%s", name, strings.Join(plan, "\n"))
		}
	}
}

// TestMayNot checks that the error for a user without the right to create a schema names that right.
func TestMayNot(t *testing.T) {
	t.Parallel()
	guest := postgrestest.Guest(t, postgrestest.Database(t, server), "guest-s3cret")
	_, err := open(t.Context(), wirelab.DatabaseAddress{Source: guest, Pool: 1}, small)
	if err == nil || wirelab.CodeOf(err) != wirelab.PermissionDenied || !strings.Contains(err.Error(), "grant CREATE") {
		t.Errorf("without the right: %v", err)
	}
	if _, err := open(t.Context(), wirelab.DatabaseAddress{Pool: 1}, small); err == nil ||
		wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("without a connection string: %v", err)
	}
}
