package daemon

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"

	"wirelab"
)

// The ports that [FreePort] gives are below those that the kernel gives to clients (32768 and up,
// as it comes): one of theirs could take the port while a server is being restarted on it.
const (
	firstPort = 20_000
	portCount = 12_000
)

// given are the ports that this process was given. Nobody holds a port until its server does, so that
// one asked for at random would be given twice in three of a thousand clusters of three nodes,
// and that of a server that was killed, to be started again, to another. Once they are
// half of all they are forgotten: their servers are gone.
var given = struct {
	sync.Mutex
	ports map[int]bool
}{ports: map[int]bool{}}

// FreePort returns a port of 127.0.0.1 that nobody listens on and that this process was not given
// lately. Nobody holds it until the server does: another process may take it before.
// ResourceExhausted if none was found.
func FreePort() (int, error) {
	given.Lock()
	defer given.Unlock()
	if len(given.ports) > portCount/2 {
		clear(given.ports)
	}
	for range 100 {
		port := firstPort + rand.IntN(portCount)
		if given.ports[port] {
			continue
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		given.ports[port] = true
		return port, l.Close()
	}
	return 0, wirelab.Errorf(wirelab.ResourceExhausted, "none of 100 ports between %d and %d was free", firstPort, firstPort+portCount)
}
