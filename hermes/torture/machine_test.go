package torture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// own begins the name of every namespace, link and directory that a test makes outside
// its own temporary directory; the process id follows.
const own = "hermes-torture-"

// asRoot ends the test where it cannot do to the machine what it must.
func asRoot(t *testing.T, tools ...string) {
	t.Helper()
	long(t)
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts file systems and makes network namespaces: run it as root, or leave it out with -short")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("this test needs %s (packages iproute2, util-linux, e2fsprogs, strace), or leave it out with -short: %v", tool, err)
		}
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

// place is an empty directory to mount on, outside the test's own one, whose removal
// would go into what is mounted.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", own, os.Getpid())) //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil { // not what is in it
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
