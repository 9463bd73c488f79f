package load

import (
	"context"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// open makes the timer of one run, whose sleeps end when ctx is done, and returns the function that closes it. If the
// kernel provides no timerfd, it uses Go's timers.
func (SystemClock) open(ctx context.Context) (opened, func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return openPlain(ctx)
	}
	file := os.NewFile(uintptr(fd), "timerfd") // it does not block, so that reads wait in the poller
	// A deadline in the past ends the current read and all later ones.
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })
	var expirations [8]byte
	sleep := func(d time.Duration) {
		// The wait is relative: the runtime's monotonic clock is the kernel's, but its zero is not known here.
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		if err := unix.TimerfdSettime(fd, 0, &spec, nil); err == nil {
			// An error means that ctx is done, which the caller checks itself.
			_, _ = file.Read(expirations[:])
		}
	}
	return opened{sleep}, func() {
		stop()
		_ = file.Close() // nothing was written to it
	}
}

// exact locks the goroutine to its thread and makes the thread's timers exact: otherwise the kernel may extend a sleep
// by up to 50 µs, to wake several threads at the same time. It returns a function that undoes this.
func exact() (undo func()) {
	runtime.LockOSThread()
	const slack = 1 // ns; 0 would mean the default
	// If the kernel refuses, only the lag grows, which is measured.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // the default again
		runtime.UnlockOSThread()
	}
}
