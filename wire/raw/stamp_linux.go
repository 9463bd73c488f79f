package raw

import (
	"io"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stamps reads sockets together with the times at which the kernel received the bytes that are read, and the
// clock by which it stamps. It belongs to one goroutine.
type stamps struct {
	at      int64 // of the last byte that the last read took; 0: unknown
	message unix.Msghdr
	part    unix.Iovec
	control [stampSize]byte

	now    func() time.Time
	opened time.Time
	offset int64 // of the clock that can be set from the one that cannot
	steps  uint64
}

// stampSize is room for the one control message that is asked for.
const stampSize = 64

// stepLeast is by how many nanoseconds two readings of both clocks must differ to call it a step: more than it takes to
// read them. Both are slewed alike, so that nothing but setting one moves it.
const stepLeast = 20_000

// stampEach is up to how many events of a turn the clock is read after each: where there are more, it is read once
// after all, so that it costs a busy driver little. Calls then count as written later than they were.
const stampEach = 4

func newStamps() *stamps {
	s := &stamps{now: time.Now}
	s.opened = s.now()
	s.offset = s.opened.UnixNano()
	s.message.Iov = &s.part
	s.message.SetIovlen(1)
	s.message.Control = &s.control[0]
	return s
}

// stamp asks the kernel for times. Where it does not have them, the outcome is unknown.
func (s socket) stamp() { _ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }

// read is [socket.read], and sets at.
func (s *stamps) read(from socket, p []byte) (int, error) {
	s.at = 0
	s.part.Base = &p[0]
	s.part.SetLen(len(p))
	s.message.SetControllen(stampSize)
	n, _, errno := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(from.fd), uintptr(unsafe.Pointer(&s.message)), 0)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return 0, nil
	case errno != 0:
		return 0, errno
	case n == 0:
		return 0, io.EOF
	}
	from.received.Add(uint64(n))
	head := (*unix.Cmsghdr)(unsafe.Pointer(&s.control[0]))
	whole := int(s.message.Controllen) >= unix.CmsgLen(int(unsafe.Sizeof(unix.Timespec{})))
	if whole && head.Level == unix.SOL_SOCKET && head.Type == unix.SO_TIMESTAMPNS {
		s.at = (*unix.Timespec)(unsafe.Pointer(&s.control[unix.CmsgLen(0)])).Nano()
	}
	return int(n), nil
}

// clock is the time by which the kernel stamps. A reading that the thread was stopped in looks like a step of the
// clock, and is made again.
func (s *stamps) clock() int64 {
	var at, offset int64
	for range 3 {
		now := s.now()
		at = now.UnixNano()
		offset = at - int64(now.Sub(s.opened))
		if off := offset - s.offset; -stepLeast < off && off < stepLeast {
			return at
		}
	}
	s.steps++
	s.offset = offset
	return at
}

// wrote notes that what was begun is with the kernel by now, but for what it had no room for.
func (l *lines) wrote() {
	if len(l.fresh) == 0 {
		return
	}
	now, later := l.stamps.clock(), l.fresh[:0]
	for _, c := range l.fresh {
		switch n := c.on; {
		case c.state != flying || c.queued || c.tries > 0 || n.full:
		case n.dirty:
			later = append(later, c)
		default:
			c.written = now
		}
	}
	l.fresh = later
}

// left notes when the reply of a call that has ended had come.
func (c *call) left(at int64) {
	if at != 0 && c.replied != 0 {
		c.outside = max(1, at-c.replied)
	}
}

// Outside implements [wirelab.Lines].
func (l *lines) Outside(slot int) time.Duration { return time.Duration(l.calls[slot].outside) }

// Steps implements [wirelab.Lines].
func (l *lines) Steps() uint64 {
	l.stamps.clock()
	return l.stamps.steps
}
