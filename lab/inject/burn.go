package inject

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Burn keeps a CPU busy until in ends. If idle is set, all other processes have priority.
func Burn(in io.Reader, idle bool) error {
	var over atomic.Bool
	var burning sync.WaitGroup
	burning.Go(func() {
		if idle {
			// The thread ends with this goroutine, so that its policy does not reach others.
			runtime.LockOSThread()
			// SCHED_IDLE needs no privilege.
			_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
		}
		for !over.Load() {
		}
	})
	_, err := io.Copy(io.Discard, in)
	over.Store(true)
	burning.Wait()
	return err
}
