package daemon_test

import (
	"testing"

	"wirelab/internal/daemon"
)

// Ports of servers that are yet to be started, or to be started again, are given to no other: of
// three thousand drawn at random some hundred would be the same.
func TestPortsAreGivenOnce(t *testing.T) {
	seen := map[int]bool{}
	for range 3000 {
		port, err := daemon.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d was given twice, after %d others", port, len(seen))
		}
		seen[port] = true
	}
}

// No one runs out of ports, and none is one of the kernel's for clients.
func TestPortsAreGivenAgain(t *testing.T) {
	for range 20_000 {
		if port, err := daemon.FreePort(); err != nil || port < 20_000 || port >= 32_000 {
			t.Fatalf("port %d, %v", port, err)
		}
	}
}
