// Package torture tests Hermes as users run it: real processes on real disks and
// sockets are killed, paused and cut off under load, and their disks are filled up, while a
// client accounts for every message by its id. The package has tests only, and
// knows the broker only through its program and its client.
//
// With -real, each test runs for seconds; build/scripts/torture runs them for about
// an hour: see the flags in torture_test.go.
package torture
