// Package wirelab is the vocabulary of the lab: the few types that every other package shares.
//
// A [Workload] is a kind of work with a service interface S; an [Operation] is one thing it does; a [Protocol] is a
// way for bytes to travel; a [Binding] carries one workload over one protocol; a [Cell] is that pair, with the
// library at each end chosen, ready to be served, dialled and called.
//
// It imports the standard library, and packages status and endpoint, which programs without a lab use too and whose
// names it repeats. Every package of the lab depends on this one, so it stays small: a type that only two packages
// share belongs to one of them.
package wirelab
