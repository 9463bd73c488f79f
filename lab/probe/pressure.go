package probe

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// unknown is the value of a time that the kernel does not provide.
const unknown = -1

// pressure reads how long, since the host started, some task waited for the file's resource: see the kernel's
// Documentation/accounting/psi.
func pressure(file string) time.Duration {
	text, err := os.ReadFile(file)
	if err != nil {
		return unknown // a kernel without PSI, or with PSI switched off
	}
	return parsePressure(string(text))
}

// parsePressure finds the total, in µs, in the line "some avg10=… total=…".
func parsePressure(text string) time.Duration {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "some" {
			continue
		}
		for _, word := range words {
			if digits, ok := strings.CutPrefix(word, "total="); ok {
				if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
					return time.Duration(n) * time.Microsecond
				}
			}
		}
	}
	return unknown
}

// throttled reads how long the control group of this process was throttled because its quota was used up. Any group
// above it may have a quota too. The largest value is used, because callers only check whether there was any
// throttling.
func throttled() time.Duration {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return unknown
	}
	longest := time.Duration(unknown)
	for _, folder := range groupFolders(string(text), "cpu") {
		if stat, err := os.ReadFile(folder + "/cpu.stat"); err == nil {
			longest = max(longest, parseThrottled(stat))
		}
	}
	return longest
}

// groupFolders returns the folders that may hold a controller's files, such as those of "cpu", for a process with
// this /proc/self/cgroup. They belong to the process's group and all groups up to the mount, for both versions of
// control groups. In a container, the path may be that of the host and not exist; the mount is then the container's
// own group.
func groupFolders(text, wanted string) []string {
	const root = "/sys/fs/cgroup"
	var folders []string
	climb := func(mount, group string) {
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			folders = append(folders, path.Join(mount, group))
			if group == "/" {
				return
			}
		}
	}
	for line := range strings.Lines(text) {
		// "0::/user.slice" is version 2, and "4:cpu,cpuacct:/docker/1" version 1.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[1] == "" {
			climb(root, parts[2])
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if controller == wanted {
				climb(root+"/"+parts[1], parts[2])
				if parts[1] != wanted {
					climb(root+"/"+wanted, parts[2])
				}
			}
		}
	}
	return folders
}

// parseThrottled reads a cpu.stat file: "throttled_usec" in version 2, "throttled_time" in ns in version 1.
func parseThrottled(stat []byte) time.Duration {
	switch {
	case bytes.Contains(stat, []byte("throttled_usec ")):
		return time.Duration(field(stat, "throttled_usec ")) * time.Microsecond
	case bytes.Contains(stat, []byte("throttled_time ")):
		return time.Duration(field(stat, "throttled_time "))
	}
	return unknown
}
