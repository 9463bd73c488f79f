// Package porttest gives tests an address at which every connection is refused.
// It knows nothing of who tries to connect.
package porttest

import (
	"net"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Refusing returns one that stays so until the test ends. A port that was listened
// at and closed is free: another process may have it by the time it is tried. So
// the port is taken here, and not listened at.
func Refusing(t testing.TB) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*unix.SockaddrInet4).Port))
}
