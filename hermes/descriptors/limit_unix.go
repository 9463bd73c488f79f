//go:build unix

package descriptors

import (
	"math"
	"syscall"
)

// Limit is how many descriptors this process may have open (RLIMIT_NOFILE). Go has raised it to the
// hard limit when the process began.
func Limit() int {
	var is syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &is); err != nil {
		return math.MaxInt32 // not known: nothing is kept to
	}
	return int(min(uint64(is.Cur), math.MaxInt32)) //nolint:unconvert // it is signed on some systems
}
