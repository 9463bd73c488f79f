// Package postgres keeps the ledger in a PostgreSQL database, each data set in
// a schema of its own. It knows SQL and the ledger's contract, and no wire.
//
// A call holds a connection of the pool for as long as its one statement takes;
// streams read pages and hold none between two. Those that wait at the end of
// the log share one connection more, beside the pool, on which the database
// says that the log has grown.
package postgres
