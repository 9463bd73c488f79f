package load

import (
	"context"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// open makes the timer of one run, which ends its sleeps when ctx ends, and
// the function that closes it. Where the kernel has none to give, Go's timers serve.
func (SystemClock) open(ctx context.Context) (opened, func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return openPlain(ctx)
	}
	file := os.NewFile(uintptr(fd), "timerfd") // not blocking, so its reads wait in the poller
	// A deadline in the past ends the read under way and all later ones.
	stop := context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })
	var expirations [8]byte
	sleep := func(d time.Duration) {
		// Relative: the runtime's monotonic clock is the kernel's, but its
		// zero is not known here.
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
		if err := unix.TimerfdSettime(fd, 0, &spec, nil); err == nil {
			// An error is the end of ctx, which the caller sees for itself.
			_, _ = file.Read(expirations[:])
		}
	}
	return opened{sleep}, func() {
		stop()
		_ = file.Close() // nothing was written to it
	}
}

// exact makes the calling goroutine's thread its own, and its timers exact:
// the kernel otherwise lets a sleep of one last up to 50 µs longer, to wake
// several at once. It returns what undoes that.
func exact() (undo func()) {
	runtime.LockOSThread()
	const slack = 1 // ns; 0 would mean the default
	// What it does not grant only shows in the lag, which is measured.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, slack, 0, 0, 0)
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // the default again
		runtime.UnlockOSThread()
	}
}
