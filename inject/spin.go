package inject

import (
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// burner burns processor time: for each call so much, exactly on average.
//
// The thread's own CPU clock decides, as a count of loops would burn another
// time at another frequency and wall time would run on while the thread
// waits. Reading that clock is a system call of some 200 ns, so a call burns
// too much by up to as long; what is too much is taken off the next call's.
type burner struct {
	each time.Duration
	// unseen is what a call burns outside of what its two readings tell: half
	// of each reading, and what is around them.
	unseen time.Duration
	ahead  atomic.Int64 // ns burnt already for calls to come
}

// newBurner takes some 50 ms to find out what a call burns unseen.
func newBurner(each time.Duration) *burner {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const calls, trial = 2000, 5 * time.Microsecond
	unseen := trial
	for range 5 { // the least disturbed of them
		b := burner{each: trial}
		began := threadCPU()
		for range calls {
			b.spin()
		}
		unseen = min(unseen, (threadCPU()-began)/calls-trial)
	}
	return &burner{each: each, unseen: max(unseen, 0)}
}

func (b *burner) spin() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadCPU()
	wanted := b.each - time.Duration(b.ahead.Swap(0))
	burnt := b.unseen
	for burnt < wanted {
		burnt = threadCPU() - began + b.unseen
	}
	b.ahead.Add(int64(burnt - wanted))
}

// threadCPU is the processor time of the calling thread. It cannot fail: the
// clock is always there. A raw system call, because the scheduler's work
// around others would be burnt too, on other threads.
func threadCPU() time.Duration {
	var ts unix.Timespec
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
