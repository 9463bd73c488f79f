package relay

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// kernel is a timerfd. The runtime's poller waits for it together with the sockets.
type kernel struct {
	file *os.File
	fd   int
}

// newTimer opens a timerfd; if the kernel provides none, it uses the runtime's timer.
func newTimer() timer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newPlain()
	}
	return &kernel{os.NewFile(uintptr(fd), "timerfd"), fd}
}

func (k *kernel) after(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	// It fails only for a bad descriptor or a bad time, and neither is possible.
	_ = unix.TimerfdSettime(k.fd, 0, &spec, nil)
}

func (k *kernel) wait() bool {
	var expirations [8]byte
	_, err := k.file.Read(expirations[:])
	return err == nil
}

// close is called by the goroutine that sets the timer, which does not set it afterwards.
func (k *kernel) close() { _ = k.file.Close() } // nothing was written to it
