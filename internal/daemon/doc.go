// Package daemon holds what servers of our own have in common, whatever they serve: who one runs as when we are
// root, its directory with a lock that tells whether anyone is left, the sweep of those whose owners were
// killed, its port, and the wait until it takes connections. The process itself is package process. It must not
// know any server: no binary, no setting, no protocol, no word of what a server stores or says.
package daemon
