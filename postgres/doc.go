// Package postgres holds a PostgreSQL server of our own as a child process, and
// opens pools of connections to that or any other, with every setting said.
// It knows no workload, no store and no table.
package postgres

import "github.com/jackc/pgx/v5/pgxpool"

// Pool is an open pool.
type Pool struct{ *pgxpool.Pool }
