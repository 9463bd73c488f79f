// Package wirelab is the vocabulary of the lab: the few words that every
// other room speaks, and nothing that any one of them needs alone.
//
// A [Workload] is a kind of work with a service interface S; an [Operation]
// is one thing it does; a [Protocol] is a way for bytes to travel; a [Binding]
// carries one workload over one protocol; a [Cell] is that pair, with the
// library at each end chosen, ready to be served, dialled and called.
//
// It imports the standard library, and what programs without a lab speak too:
// packages status and endpoint, whose names are here as well. A word here
// costs everybody, so it stays small; what only two rooms share belongs to one
// of them.
package wirelab
