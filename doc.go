// Package wirelab is the vocabulary of the lab: the types that all other packages
// share, and nothing that only one of them needs.
//
// A [Workload] is a kind of work with a service interface S. An [Operation] is one
// call of that service. A [Protocol] describes how bytes travel. A [Binding] carries
// one workload over one protocol. A [Cell] is a binding with a library chosen for
// each end: it can be served, dialled and called.
//
// The package imports the standard library, and the packages status and endpoint,
// which programs outside the lab use too; it exports their names as well. Every
// package depends on it, so it stays small: what only two packages share belongs to
// one of them.
package wirelab
