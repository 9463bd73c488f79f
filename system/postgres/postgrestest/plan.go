package postgrestest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// Plan prepares a statement and returns, line by line, how PostgreSQL goes
// about it with these arguments, written as "(1, 'a')" or "". Who wants the plan
// that is kept for all arguments sets plan_cache_mode on the connection.
func Plan(t testing.TB, conn *pgx.Conn, name, sql, arguments string) []string {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "PREPARE "+name+" AS "+sql); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN (COSTS OFF) EXECUTE "+name+arguments, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
