package daemon

import (
	"fmt"
	"math/rand/v2"
	"net"

	"wirelab"
)

// FreePort returns a port of 127.0.0.1 that nobody listens on, from below those
// that the kernel gives to clients (32768 and up, as it comes): one of theirs
// could take the port while a server is being restarted on it. Nobody holds it
// until the server does. ResourceExhausted if none was found.
func FreePort() (int, error) {
	for range 100 {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, wirelab.Errorf(wirelab.ResourceExhausted, "none of 100 ports between 20000 and 32000 was free")
}
