package postgrestest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Waiting is how many statements of the transaction's database wait for a lock now.
func Waiting(t testing.TB, tx pgx.Tx) (n int) {
	t.Helper()
	// A transaction sees what it saw first of other sessions, until it forgets that.
	if _, err := tx.Exec(t.Context(), "SELECT pg_stat_clear_snapshot()"); err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'active' AND wait_event_type = 'Lock'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
