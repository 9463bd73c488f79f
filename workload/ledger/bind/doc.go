// Package bind carries the ledger over every protocol that supports it. Each protocol
// has one file, with server and client together, because they change together. The
// package knows the domain, the generated messages and one wire per file; it knows
// nothing of load, measurement, databases or other workloads.
//
// Servers pass each event of a stream to the wire when the service yields it,
// and ask for the next one when the wire has taken it: nothing here delays events,
// buffers them for a slow reader, or drops one.
package bind
