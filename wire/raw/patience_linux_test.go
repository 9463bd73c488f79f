package raw_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
)

// A server may end a connection that has been idle, a new one too. Then the first call is made over another: the server
// has seen nothing of it, and a library's client, which connects when it calls, does not fail either.
func TestNewConnectionThatWasIdleTooLong(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"http1-json", "raw-tcp"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			cell := one(t, protocol, least(protocol))
			server := start(t, false, "", cell.Serve)
			address, gone := impatient(t, server.address)
			lines := dial(t, cell, wirelab.Dialing{Address: address, Connections: 1}, 1, "GetFeature")
			<-gone
			if o := loop(t, lines, 20); o.right != 20 {
				t.Errorf("%+v, want 20 right", o)
			}
		})
	}
}

// impatient ends the first connection before anything comes, and forwards all others to a server. gone is closed once
// the client's kernel has heard of that.
func impatient(t *testing.T, to string) (address string, gone <-chan struct{}) {
	t.Helper()
	heard, first := make(chan struct{}), true
	address = accepting(t, func(near net.Conn, all *sync.WaitGroup) {
		if first {
			first = false
			leave(t, near)
			close(heard)
			return
		}
		far, err := net.Dial("tcp", to)
		if err != nil {
			_ = near.Close()
			return
		}
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			all.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				_, _ = near.Close(), far.Close()
			})
		}
	})
	return address, heard
}

// leave ends a connection, and returns when the other side's kernel knows.
func leave(t *testing.T, conn net.Conn) {
	t.Helper()
	defer func() { _ = conn.Close() }()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Errorf("%T is not TCP", conn)
		return
	}
	_ = tcp.CloseWrite()
	control, err := tcp.SyscallConn()
	if err != nil {
		t.Error(err)
		return
	}
	for limit := time.Now().Add(rigTime); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		var info *unix.TCPInfo
		_ = control.Control(func(fd uintptr) {
			info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		})
		if err != nil || info.State == unix.BPF_TCP_FIN_WAIT2 {
			return
		}
	}
	t.Error("the other side does not acknowledge the end")
}
