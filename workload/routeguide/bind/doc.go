// Package bind carries the route guide over every protocol that supports it. Each
// protocol has one file, with server and client together, because they change together.
// The package knows the domain, the generated messages and one wire per file; it knows
// nothing of load, measurement or other workloads.
package bind
