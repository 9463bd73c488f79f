package load

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Alarm wakes whoever waits for its channel, as exactly as [SystemClock] does and
// for the same reasons. One goroutine sets it.
type Alarm struct {
	C       <-chan struct{} // holds one once the time has come
	fd      int
	file    *os.File
	waiting sync.WaitGroup
	plain   *time.Timer // where the kernel has none to give
}

// NewAlarm returns an alarm that is not set.
func NewAlarm() *Alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return newPlainAlarm()
	}
	rang := make(chan struct{}, 1)
	a := &Alarm{C: rang, fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
	a.waiting.Go(func() {
		var expirations [8]byte
		for {
			if _, err := a.file.Read(expirations[:]); err != nil {
				return // closed
			}
			ring(rang)
		}
	})
	return a
}

// Set has it ring after d, which is > 0, and not when it was to before.
func (a *Alarm) Set(d time.Duration) {
	if a.plain != nil {
		a.plain.Reset(d)
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_ = unix.TimerfdSettime(a.fd, 0, &spec, nil) // it is ours and open
}

// Close ends it.
func (a *Alarm) Close() {
	if a.plain != nil {
		a.plain.Stop()
		return
	}
	_ = a.file.Close() // nothing was written to it
	a.waiting.Wait()
}
