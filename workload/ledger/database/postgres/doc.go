// Package postgres keeps the ledger in a PostgreSQL database, each data set in a separate schema. It knows SQL and
// the contract of the ledger, and no wire.
//
// A call holds a connection of the pool while its one statement runs. Streams read pages, and hold no connection
// between two. Streams that wait at the end of the log share one more connection outside the pool, on which the
// database notifies them that the log has grown.
package postgres
