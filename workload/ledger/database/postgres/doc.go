// Package postgres stores the ledger in a PostgreSQL database, with a separate schema
// for each data set. It knows SQL and the ledger's contract, and no wire.
//
// A call holds a connection of the pool only for its one statement.
// Streams read pages and hold no connection between two pages. All streams that wait
// at the end of the log share one additional connection outside the pool, on which the
// database announces that the log has grown.
package postgres
