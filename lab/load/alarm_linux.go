package load

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Alarm rings on a channel, with the precision of [SystemClock] and for the same reasons. Only one goroutine may set
// it.
type Alarm struct {
	C       <-chan struct{} // receives a value when the time has come
	fd      int
	file    *os.File
	waiting sync.WaitGroup
	plain   *time.Timer // if the kernel provided no timerfd
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

// Set makes it ring after d, which must be > 0. It cancels an earlier setting.
func (a *Alarm) Set(d time.Duration) {
	if a.plain != nil {
		a.plain.Reset(d)
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	_ = unix.TimerfdSettime(a.fd, 0, &spec, nil) // cannot fail on an open timer
}

// Close stops it and releases its timer.
func (a *Alarm) Close() {
	if a.plain != nil {
		a.plain.Stop()
		return
	}
	_ = a.file.Close() // nothing was written to it
	a.waiting.Wait()
}
