package probe

import (
	"io/fs"
	"math"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Limits are the limits of the system for each process started here. 0 means unknown.
type Limits struct {
	// Descriptors is how many files and connections a process may have open. It is the hard limit, because Go raises
	// the soft limit to it.
	Descriptors uint64
	// Memory is the available memory in bytes, of the machine or of the control group, whichever is less.
	Memory uint64
	// Quota is how many CPUs' worth of time the control group may use; 0: no limit. CPUs is how many CPUs it may run
	// on.
	Quota float64
	CPUs  int
}

// ReadLimits reads the limits. root is the root of the machine's files, os.DirFS("/").
func ReadLimits(root fs.FS) Limits {
	var l Limits
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		l.Descriptors = files.Max
	}
	l.Quota = quota(root)
	if all, err := Cores(root); err == nil {
		for _, core := range all {
			l.CPUs += len(core)
		}
	}
	l.Memory = 1024 * field([]byte(textOf(root, "proc/meminfo")), "MemAvailable:")
	if left, limited := groupMemory(root); limited {
		l.Memory = min(l.Memory, left)
	}
	return l
}

// groupMemory is the memory left in the tightest control group, if any has a limit.
func groupMemory(root fs.FS) (left uint64, limited bool) {
	left = math.MaxUint64
	for _, folder := range groupFolders(textOf(root, "proc/self/cgroup"), "memory") {
		group := strings.TrimPrefix(folder, "/")
		for _, files := range [][2]string{
			{"memory.max", "memory.current"},
			{"memory.limit_in_bytes", "memory.usage_in_bytes"},
		} {
			// Without a limit the value is "max", or a number larger than any memory.
			most, used := numbersOf(textOf(root, path.Join(group, files[0]))),
				numbersOf(textOf(root, path.Join(group, files[1])))
			if len(most) != 1 || len(used) != 1 || most[0] <= 0 || most[0] >= math.MaxInt64/2 {
				continue
			}
			// Cached file data counts as used, but is released when memory is short.
			spare := int64(field([]byte(textOf(root, path.Join(group, "memory.stat"))), "inactive_file "))
			left, limited = min(left, uint64(max(0, most[0]-max(0, used[0]-spare)))), true
		}
	}
	return left, limited
}
