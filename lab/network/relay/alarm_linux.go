package relay

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// kernel is a timerfd, which is waited for by the poller beside the sockets.
type kernel struct {
	file *os.File
	fd   int
}

// newTimer opens a timer; where the kernel has none to give, the runtime's serves.
func newTimer() timer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newPlain()
	}
	return &kernel{os.NewFile(uintptr(fd), "timerfd"), fd}
}

func (k *kernel) after(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	// It fails for a bad descriptor or a bad time only, and neither can be.
	_ = unix.TimerfdSettime(k.fd, 0, &spec, nil)
}

func (k *kernel) wait() bool {
	var expirations [8]byte
	_, err := k.file.Read(expirations[:])
	return err == nil
}

// close is called by the one who sets the timer, never after itself.
func (k *kernel) close() { _ = k.file.Close() } // nothing was written to it
