package raw

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"wirelab"
)

// socket is a connection that Go's poller does not know. Its calls never
// block, and so need not tell the scheduler.
type socket struct {
	fd int
	*traffic
}

// read returns 0 and no error where there is nothing, io.EOF at the end.
func (s socket) read(p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(&p[0])),
		uintptr(len(p)),
		0, 0, 0)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, nil
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	s.received.Add(uint64(n))
	return int(n), nil
}

// write returns how much the kernel took, which may be nothing.
func (s socket) write(p []byte) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)),
		unix.MSG_NOSIGNAL, 0, 0)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, nil
	case errno != 0:
		return 0, errno
	}
	s.sent.Add(uint64(n))
	return int(n), nil
}

// left reports whether the other side has ended the connection already, and sent nothing before. It reads nothing.
func (s socket) left() bool {
	var one [1]byte
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), uintptr(unsafe.Pointer(&one[0])), 1,
		unix.MSG_PEEK, 0, 0)
	return errno == 0 && n == 0 || errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR
}

func (s socket) close() {
	_ = unix.Close(s.fd) // nothing is to be saved
	s.open.Add(^uint64(0))
}

// detach takes the socket of a connection out of Go's hands and closes the rest of it.
func detach(conn net.Conn, t *traffic) (socket, error) {
	defer func() { _ = conn.Close() }() // the descriptor is a copy
	s, ok := conn.(syscall.Conn)
	if !ok {
		return socket{}, wirelab.Errorf(wirelab.Unimplemented, "%T has no socket", conn)
	}
	control, err := s.SyscallConn()
	if err != nil {
		return socket{}, err
	}
	fd, failed := -1, error(nil)
	if err := control.Control(func(p uintptr) { fd, failed = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return socket{}, err
	}
	if failed != nil {
		return socket{}, failed
	}
	t.opened.Add(1)
	t.open.Add(1)
	return socket{fd, t}, nil
}

// dial opens a connection, with TLS if the plan says so.
func (p *plan) dial(ctx context.Context, t *traffic) (socket, *channel, error) {
	var plain net.Dialer
	conn, err := plain.DialContext(ctx, "tcp", p.to.NextAddress())
	if err != nil {
		return socket{}, nil, wirelab.Lost(wirelab.Unavailable, err, "%v", err)
	}
	p.to.Tell(conn.RemoteAddr())
	c := new(channel)
	if p.over.Secure {
		if err := p.handshake(ctx, conn, c, t); err != nil {
			_ = conn.Close()
			return socket{}, nil, wirelab.Lost(wirelab.Unavailable, fmt.Errorf("tls: %w", err), "TLS: %v", err)
		}
	}
	s, err := detach(conn, t)
	if err != nil {
		return socket{}, nil, wirelab.Errorf(wirelab.CodeOf(err), "%v", err)
	}
	return s, c, nil
}

func (p *plan) handshake(ctx context.Context, conn net.Conn, c *channel, t *traffic) error {
	host, _, err := net.SplitHostPort(p.to.Address)
	if err != nil {
		return err
	}
	c.buffered = &bufferedConn{conn: conn, traffic: t}
	c.secure = tls.Client(c.buffered, p.tlsConfig(host))
	if err := c.secure.HandshakeContext(ctx); err != nil {
		return err
	}
	switch got := c.secure.ConnectionState().NegotiatedProtocol; {
	case got == "" && p.over.Version == HTTP1: // it does not know ALPN, which HTTP/1.1 does not need
	case got == "":
		return fmt.Errorf("the server does not say that it speaks %s (by ALPN)", p.over.protocolName())
	case got != p.over.protocolName():
		return fmt.Errorf("the server speaks %s, not %s", got, p.over.protocolName())
	}
	c.buffered.conn = nil
	return nil
}

// settle exchanges the first settings of HTTP/2: calls may not begin before.
func settle(ctx context.Context, s socket, c *channel, h *conn2) error {
	buffers := newBuffers(c.secure != nil) // not the loop's, which may be in use
	for !h.settled {
		all, err := c.push(s.write)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		waited := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		if !all {
			waited[0].Events |= unix.POLLOUT
		}
		const glance = 20 * time.Millisecond // after which ctx is looked at again
		if n, err := unix.Poll(waited, int(glance/time.Millisecond)); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		} else if n <= 0 {
			continue
		}
		if err := c.pull(buffers, s.read); err != nil {
			return err
		}
	}
	return nil
}
