// Package conformance proves that every cell of a workload answers like its
// reference in memory, speaks the protocol it claims, and behaves: deadlines,
// cancellation, bounds, stops, restarts, panics, leaks.
//
// It knows the vocabulary, the wires only as bytes to be recognised, and no
// workload. A workload's bind folder calls [Run] from a test; each server and
// each client library of a binding is asked at least once, and of the one
// workload that sets [Suite.EveryPair] every pair of them. A pair is a subtest named
//
//	workload/protocol/client→server
//
// so that `go test -v` says what was asked of whom, and how often.
//
// It is linked into tests only.
package conformance
