package daemon

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"

	"wirelab/wire/status"
)

// The ports that [FreePort] gives are below those that the kernel gives to clients (32768 and up,
// as it comes): one of theirs could take the port while a server is being restarted on it.
const (
	firstPort = 20_000
	portCount = 12_000
)

// Each process begins with another port and continues from there: drawn one by one, the nine of a cluster of
// three nodes would hold one twice in three of a thousand clusters, and a server that was killed, to be started
// again, could find its own with another.
var (
	beginPort = rand.Uint32N(portCount)
	tried     atomic.Uint32
)

// FreePort returns a port of 127.0.0.1 that no one listens on and that this process was not given since it was
// given most of the others. No one holds it until the server does: another process may take it before.
// ResourceExhausted if none was found.
func FreePort() (int, error) {
	for range 100 {
		port := firstPort + int((beginPort+tried.Add(1))%portCount)
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, status.Errorf(status.ResourceExhausted, "none of 100 ports between %d and %d was free", firstPort,
		firstPort+portCount)
}
