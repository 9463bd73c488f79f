package inject

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// burner burns processor time: for each call so much, on average.
//
// It counts steps, since a count touches nothing but registers. Asking the
// thread's own CPU clock in every call is a system call, which takes itself
// into account but not what it leaves behind: a server that was to burn 500 ns
// burnt 2.1 µs, as the code after it ran slower. So one call in many is timed,
// and tells how long steps take at this frequency beside these neighbours.
type burner struct {
	each  time.Duration
	calls atomic.Uint64
	rate  atomic.Int64  // steps in rateUnit
	clock time.Duration // what two readings one after the other are apart
}

const (
	// rateUnit is a power of two, so that a call divides by shifting.
	rateUnit = 1 << 20 * time.Nanosecond
	timed    = 64 // one call in so many is timed
	// nudge is what a timed call moves the rate by, up or down, whatever it
	// found: so the rate follows the median, and no interrupt carries it off.
	nudge = 256
)

// newBurner takes some 50 ms to find out how fast steps are.
func newBurner(each time.Duration) *burner {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := &burner{each: each, clock: time.Millisecond}
	var fastest int64
	for range 50 { // the least disturbed of them
		began := threadCPU()
		b.clock = min(b.clock, threadCPU()-began)
		const n = 1 << 20
		began = threadCPU()
		walk(n)
		fastest = max(fastest, n*int64(rateUnit)/max(int64(threadCPU()-began-b.clock), 1))
	}
	b.rate.Store(fastest)
	return b
}

func (b *burner) spin() {
	rate := b.rate.Load()
	n := int64(b.each) * rate / int64(rateUnit)
	if b.calls.Add(1)%timed != 0 {
		walk(n)
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadCPU()
	walk(n)
	if took := threadCPU() - began - b.clock; took > b.each {
		rate -= rate / nudge
	} else {
		rate += rate / nudge
	}
	b.rate.Store(rate) // another's nudge may be lost, and the next makes up for it
}

// walk takes n steps: a xorshift each (Marsaglia 2003), which waits for the one
// before and which no compiler computes beforehand.
func walk(n int64) {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x) // else no step need be taken
}

// threadCPU is the processor time of the calling thread. It cannot fail: the
// clock is always there. A raw system call, because the scheduler's work
// around others would be burnt too, on other threads.
func threadCPU() time.Duration {
	var ts unix.Timespec
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
