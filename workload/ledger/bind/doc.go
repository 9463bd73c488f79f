// Package bind carries the ledger over every protocol that can: a file each,
// server and client side by side, since they change together. It knows the
// domain, the generated messages and one wire per file; it knows nothing of
// load, measurement, databases or other workloads.
//
// Servers hand each event of a stream to the wire when the service yields it,
// and ask for the next when the wire has taken it: nothing here holds events
// back, keeps them for a slow reader, or drops one.
package bind
