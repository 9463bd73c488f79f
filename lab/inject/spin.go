package inject

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// burner uses CPU time: a fixed time for each call, on average.
//
// It counts steps, which touches only registers. Reading the thread's CPU clock in every call would be a system call.
// That measures itself but not its effects: a server that was meant to use 500 ns used 2.1 µs, as the code after the
// system call ran slower. So only one call in many is timed, which shows how long steps take at the current clock
// frequency and load.
type burner struct {
	each  time.Duration
	calls atomic.Uint64
	rate  atomic.Int64  // steps per rateUnit
	clock time.Duration // the difference of two consecutive readings
}

const (
	// rateUnit is a power of two, so that a call can divide by shifting.
	rateUnit = 1 << 20 * time.Nanosecond
	timed    = 64 // one call in this many is timed
	// nudge determines by how much a timed call moves the rate, up or down, whatever it measured. So the rate follows
	// the median, and an interrupt cannot move it far.
	nudge = 256
)

// newBurner takes some 50 ms to measure the speed of steps.
func newBurner(each time.Duration) *burner {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := &burner{each: each, clock: time.Millisecond}
	var fastest int64
	for range 50 { // the least disturbed run counts
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
	b.rate.Store(rate) // a concurrent nudge may be lost; the next one makes up for it
}

// walk takes n steps. Each is a xorshift (Marsaglia 2003), which depends on the one before and which no compiler
// computes in advance.
func walk(n int64) {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	runtime.KeepAlive(x) // otherwise the compiler could drop the loop
}

// threadCPU returns the CPU time of the calling thread. It cannot fail, since that clock always exists. It makes a raw
// system call, because the scheduler's work around other system calls would use CPU time too, on other threads.
func threadCPU() time.Duration {
	var ts unix.Timespec
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
