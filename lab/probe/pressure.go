package probe

import (
	"bytes"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// unknown stands for a time that the kernel does not tell.
const unknown = -1

// pressure reads the time, since the host started, in which some task waited
// for what the file is about; see the kernel's Documentation/accounting/psi.
func pressure(file string) time.Duration {
	text, err := os.ReadFile(file)
	if err != nil {
		return unknown // a kernel without PSI, or one that was started with it off
	}
	return parsePressure(string(text))
}

// parsePressure finds the total, in µs, of the line "some avg10=… total=…".
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

// throttled reads how long the control group of this process was held back
// for having used its quota. A quota may be set on any group around it, so the
// largest count on the way up is taken: it is asked only whether there is one.
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

// groupFolders are the folders, of both versions of control groups, in which a
// process with this /proc/self/cgroup finds the files of a controller, "cpu": its
// own, and those around it up to the mount. In a container the path may be the host's and not
// be there; the mount is then the container's own group.
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
		// "0::/user.slice" is version 2; "4:cpu,cpuacct:/docker/1" version 1.
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

// parseThrottled reads a cpu.stat: "throttled_usec" in version 2,
// "throttled_time", in ns, in version 1.
func parseThrottled(stat []byte) time.Duration {
	switch {
	case bytes.Contains(stat, []byte("throttled_usec ")):
		return time.Duration(field(stat, "throttled_usec ")) * time.Microsecond
	case bytes.Contains(stat, []byte("throttled_time ")):
		return time.Duration(field(stat, "throttled_time "))
	}
	return unknown
}
