// Package postgres keeps the entries of a logger in a PostgreSQL database, in a separate schema. It knows SQL and
// the contract of the logger, and no wire.
//
// Entries of concurrent writers go together in one statement and one commit; see package gather. A call holds a
// connection of the pool while its one statement runs.
package postgres
