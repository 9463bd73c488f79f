package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

func dataSync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

func reserve(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	return os.NewSyscallError("fallocate", unix.Fallocate(int(f.Fd()), 0, 0, size))
}

func free(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return s.Bavail * uint64(s.Bsize), nil
}

func lock(f *os.File) error {
	return os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
}
