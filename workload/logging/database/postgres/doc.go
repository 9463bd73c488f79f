// Package postgres keeps a logger's entries in a PostgreSQL database, in a schema
// of its own. It knows SQL and the logger's contract, and no wire.
//
// Entries of concurrent writers go together in one statement and one commit;
// see package gather. A call holds a connection of the pool for as long as its
// one statement takes.
package postgres
