// Package postgres holds a PostgreSQL server of our own as a child process, and
// opens pools of connections to that or to any other, with every setting said;
// it brings schemas to their form by whatever migrations it is given.
// It knows processes, addresses and failures; what a workload or a store keeps
// in a database it does not know.
package postgres
