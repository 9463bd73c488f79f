// Package bind carries the person directory over each protocol. Each protocol has one
// file, with server and client together. The package joins this domain with the
// wires; it knows no other workload, and not how its cells are driven.
package bind
