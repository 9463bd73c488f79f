package vfs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// created is the time of creation that the file system keeps; it cannot be set.
func created(name string) (string, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, name, 0, unix.STATX_BTIME, &s); err != nil {
		return "", &os.PathError{Op: "statx", Path: name, Err: err}
	}
	if s.Mask&unix.STATX_BTIME == 0 || s.Btime.Sec == 0 {
		return "", errors.ErrUnsupported
	}
	return fmt.Sprintf("%d.%09d", s.Btime.Sec, s.Btime.Nsec), nil
}
