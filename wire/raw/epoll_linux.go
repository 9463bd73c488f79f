package raw

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll waits for many sockets. Level-triggered: what a read left comes again.
type epoll struct {
	fd     int
	coarse bool // the kernel waits in milliseconds only (before Linux 5.11)
	events [128]unix.EpollEvent
}

func newEpoll() (*epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &epoll{fd: fd}, nil
}

func (e *epoll) close() { _ = unix.Close(e.fd) } // nothing is to be saved

// watch sets the events to wait for; add is true the first time. Events come back with key and edition.
func (e *epoll) watch(add bool, fd int, events uint32, key, edition int32) error {
	op := unix.EPOLL_CTL_MOD
	if add {
		op = unix.EPOLL_CTL_ADD
	}
	return unix.EpollCtl(e.fd, op, fd, &unix.EpollEvent{Events: events, Fd: key, Pad: edition})
}

// wait fills events and returns how many: at once if limit <= 0.
func (e *epoll) wait(limit time.Duration) (int, error) {
	events := uintptr(unsafe.Pointer(&e.events[0]))
	if limit <= 0 {
		n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.fd), events, uintptr(len(e.events)), 0, 0, 0)
		return result(n, errno)
	}
	until := time.Now().Add(limit)
	for {
		n, err := e.block(events, limit)
		if err != unix.EINTR { //nolint:errorlint // an errno
			return n, err
		}
		// One of the runtime's signals: not what was waited for.
		if limit = time.Until(until); limit <= 0 {
			return 0, nil
		}
	}
}

func (e *epoll) block(events uintptr, limit time.Duration) (int, error) {
	if !e.coarse {
		spec := unix.NsecToTimespec(int64(limit))
		n, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(e.fd), events, uintptr(len(e.events)),
			uintptr(unsafe.Pointer(&spec)), 0, 0)
		if errno != unix.ENOSYS {
			if errno == unix.EINTR {
				return 0, errno
			}
			return result(n, errno)
		}
		e.coarse = true
	}
	millis := (limit + time.Millisecond - 1) / time.Millisecond
	n, _, errno := syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.fd), events, uintptr(len(e.events)),
		uintptr(millis),
		0, 0)
	if errno == unix.EINTR {
		return 0, errno
	}
	return result(n, errno)
}

func result(n uintptr, errno syscall.Errno) (int, error) {
	if errno == unix.EINTR {
		return 0, nil
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
