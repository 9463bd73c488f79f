// Package postgres stores a logger's entries in a PostgreSQL database, in a separate
// schema. It knows SQL and the logger's contract, and no wire.
//
// Entries of concurrent writers share one statement and one commit; see package
// gather. A call holds a connection of the pool only for its one statement.
package postgres
