package inject

import (
	"container/heap"
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes any number of sleepers, each at most some 50 µs after its time and never before.
//
// Go's own timers wake up to a millisecond late in an otherwise idle process, since the runtime's poller waits in whole
// milliseconds. So alarm uses one timerfd of the kernel, with nanosecond resolution, that the poller waits for like a
// socket.
type alarm struct {
	timer *os.File

	mu       sync.Mutex // guards all below
	sleepers sleepers   // the earliest first
	closed   bool

	rings sync.WaitGroup // for the goroutine that reads the timer
}

// lead is how long before the due time the timer expires, since it is itself about 45 µs late on a virtual machine. The
// rest is spent polling the clock, after all other goroutines that are ready have run. A larger lead would keep an idle
// CPU busy for longer without more precision.
const lead = 50 * time.Microsecond

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &alarm{timer: os.NewFile(uintptr(fd), "timerfd")} // it does not block, so that reads wait in the poller
	a.rings.Go(a.ring)
	return a, nil
}

// sleep returns nil at due, or the error of ctx if that is done first.
func (a *alarm) sleep(ctx context.Context, due time.Time) error {
	s := &sleeper{due: due, wake: make(chan error, 1)}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return errClosed
	}
	heap.Push(&a.sleepers, s)
	var err error
	if s.place == 0 {
		err = a.arm()
	}
	a.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-s.wake:
		return err
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.place >= 0 {
		heap.Remove(&a.sleepers, s.place)
	}
	return ctx.Err()
}

// arm sets the timer for the earliest sleeper. mu must be held.
func (a *alarm) arm() error {
	if len(a.sleepers) == 0 || a.closed {
		return nil
	}
	// The wait is relative: the runtime's monotonic clock is the kernel's, but its zero is not known here. A wait of 0
	// would stop the timer.
	wait := max(time.Until(a.sleepers[0].due)-lead, 1)
	raw, err := a.timer.SyscallConn()
	if err != nil {
		return err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(wait))}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
	return errors.Join(err, os.NewSyscallError("timerfd_settime", failed))
}

// ring wakes sleepers until the alarm is closed.
func (a *alarm) ring() {
	var expirations [8]byte
	for {
		if _, err := a.timer.Read(expirations[:]); err != nil {
			a.give(err)
			return
		}
		for {
			next, ok := a.wake()
			if !ok {
				break
			}
			for time.Now().Before(next) {
				runtime.Gosched() // let other goroutines that are ready run first
			}
		}
	}
}

// wake wakes the sleepers that are due. If the next one is due so soon that polling is worthwhile, it returns that time
// and true. Otherwise it sets the timer.
func (a *alarm) wake() (next time.Time, soon bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for len(a.sleepers) > 0 && !a.sleepers[0].due.After(now) {
		heap.Pop(&a.sleepers).(*sleeper).wake <- nil
	}
	if len(a.sleepers) == 0 {
		return time.Time{}, false
	}
	if next = a.sleepers[0].due; next.Sub(now) <= lead {
		return next, true
	}
	if err := a.arm(); err != nil {
		a.drop(err)
	}
	return time.Time{}, false
}

// give ends all sleepers, and later calls of sleep, with err.
func (a *alarm) give(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		err = errClosed
	}
	a.closed = true
	a.drop(err)
}

// drop ends every sleeper with err. mu must be held.
func (a *alarm) drop(err error) {
	for len(a.sleepers) > 0 {
		heap.Pop(&a.sleepers).(*sleeper).wake <- err
	}
}

// close ends every sleeper and waits for the alarm's goroutine.
func (a *alarm) close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	err := a.timer.Close() // ends the read
	a.rings.Wait()
	return err
}

// sleeper is a waiting call.
type sleeper struct {
	due   time.Time
	wake  chan error // buffered, so that waking never blocks
	place int        // index in the heap; -1 after its removal
}

// sleepers is a heap with the earliest sleeper first.
type sleepers []*sleeper

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].due.Before(s[j].due) }

func (s sleepers) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

func (s *sleepers) Push(x any) {
	one := x.(*sleeper)
	one.place = len(*s)
	*s = append(*s, one)
}

func (s *sleepers) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	last.place = -1
	return last
}
