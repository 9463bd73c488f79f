package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wirelab/internal/prereq"
)

// own begins the name of every namespace, link and directory that a test makes outside
// its own temporary directory; the process id follows.
const own = "hermes-torture-"

// need is something that not every machine lets a test do.
type need struct {
	thing prereq.Thing
	what  string // and where it comes from
	try   func(dir string) error
}

var (
	netns = need{
		prereq.Namespaces, "network namespaces (root with CAP_NET_ADMIN and CAP_SYS_ADMIN, package iproute2)",
		func(string) error {
			name := fmt.Sprintf("%s%d-try", own, os.Getpid())
			return errors.Join(tool("ip", "netns", "add", name), tool("ip", "netns", "del", name))
		},
	}
	tmpfs = need{prereq.Mount, "mounting a tmpfs (root with CAP_SYS_ADMIN)", func(dir string) error {
		return errors.Join(syscall.Mount(own+"try", dir, "tmpfs", 0, "size=1m"), syscall.Unmount(dir, 0))
	}}
	loop = need{
		prereq.Loop, "mounting a file as ext4 (root with CAP_SYS_ADMIN, /dev/loop*, packages mount and " +
			"e2fsprogs)",
		func(dir string) error {
			image := dir + ".image"
			defer func() { _ = os.Remove(image) }() // it may not be there
			err := errors.Join(tool("truncate", "-s", "4M", image), tool("mkfs.ext4", "-q", "-F", image))
			if err != nil {
				return err
			}
			return errors.Join(tool("mount", "-o", "loop", image, dir), syscall.Unmount(dir, 0))
		},
	}
	traced = need{prereq.Strace, "tracing a process (package strace, CAP_SYS_PTRACE)", func(string) error {
		return tool("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "true")
	}}
)

// needs skips a test, and says so at the end, where it cannot do to the machine what it must.
func needs(t *testing.T, all ...need) {
	t.Helper()
	long(t)
	for _, n := range all {
		err := n.try(place(t))
		if err == nil {
			continue
		}
		found.lacks(t.Name(), fmt.Sprintf("this test needs %s: %v", n.what, err))
		n.thing.Need(t, err)
	}
}

// tool runs a command of the system.
func tool(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if err := tool(name, args...); err != nil {
		t.Fatal(err)
	}
}

// place is an empty directory to mount on, outside the test's own one, whose removal would go into the mounted
// file system.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", own, os.Getpid())) //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil { // not its content
			t.Error(err)
		}
	})
	return dir
}

func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Errorf("unmount %s: %v", dir, err)
		_ = syscall.Unmount(dir, syscall.MNT_DETACH) // rather than leave it for ever
	}
}

// reclaim takes away what tests left whose process was killed: cleanups do not run then.
func reclaim() {
	left := func(name string) bool {
		rest, ours := strings.CutPrefix(filepath.Base(name), own)
		pid, _, _ := strings.Cut(rest, "-")
		id, err := strconv.Atoi(pid)
		return ours && err == nil && syscall.Kill(id, 0) == syscall.ESRCH
	}
	spaces, _ := filepath.Glob("/run/netns/" + own + "*") // the pattern is good
	for _, name := range spaces {
		if left(name) {
			_ = tool("ip", "netns", "del", filepath.Base(name)) // its links go with it
		}
	}
	bridges, _ := filepath.Glob("/sys/class/net/" + bridgePrefix + "*")
	for _, name := range bridges {
		id, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(name), bridgePrefix))
		if err == nil && syscall.Kill(id, 0) == syscall.ESRCH {
			_ = tool("ip", "link", "del", filepath.Base(name))
		}
	}
	places, _ := filepath.Glob(filepath.Join(os.TempDir(), own+"*-*"))
	for _, name := range places {
		if left(name) {
			_ = syscall.Unmount(name, syscall.MNT_DETACH)
			_ = os.Remove(name)
		}
	}
}
