// Package torture tries Hermes as users run it: real processes on real disks and
// sockets, which are killed, paused, cut off and filled up under load, while a
// client keeps an account of every message by its id. It has tests only, and
// knows the broker through its program and its client.
//
// With -real each test does what takes seconds; build/scripts/torture has them do what
// takes an hour: see the flags in torture_test.go.
package torture
