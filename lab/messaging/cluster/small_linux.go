package cluster

import (
	"errors"

	"golang.org/x/sys/unix"

	"wirelab"
)

// smallSize is what the nodes of a small disk have together, in memory; smallFree is
// below which Hermes refuses: its own default would refuse everything there.
const (
	smallSize = "1g"
	smallFree = "32MiB"
)

// mountSmall puts a small disk at a directory.
func mountSmall(dir string) (unmount func() error, err error) {
	if err := unix.Mount("wirelab", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV,
		"mode=755,size="+smallSize); err != nil {
		if errors.Is(err, unix.EPERM) {
			return nil, wirelab.Errorf(wirelab.PermissionDenied, "a disk that can be filled up takes root: %v", err)
		}
		return nil, err
	}
	return func() error { return unix.Unmount(dir, unix.MNT_DETACH) }, nil
}

// unmountLeft takes away a small disk that a cluster left behind which was killed, if
// there is one.
func unmountLeft(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH) }
