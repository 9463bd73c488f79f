// Package porttest gives tests an address whose port no one else gets: one at which
// every connection is refused, or one to listen at more than once. It knows nothing
// of who tries to connect, and of what listens.
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
	return bound(t, false)
}

// Held returns an address that a test listens at, stops, and listens at again, or has
// a program do so, all with Go's listeners. In between connections are refused, and
// the kernel gives the port to no one who asks for any.
func Held(t testing.TB) string {
	t.Helper()
	return bound(t, true)
}

// bound holds a port until the test ends, and listens not. A port that is shared can
// be listened at by one of those that share it, as Go's listeners do.
func bound(t testing.TB, shared bool) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if shared {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		err = unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*unix.SockaddrInet4).Port))
}
