// Package bind carries the route guide over every protocol that can: a file
// each, server and client side by side, since they change together. It knows
// the domain, the generated messages and one wire per file; it knows nothing
// of load, measurement or other workloads.
package bind
