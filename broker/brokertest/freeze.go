package brokertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Freeze stops a process's clock until the thaw that it returns, which the end of
// the test sees to at the latest. It waits until every thread stands: kill(2)
// returns before that, and a server of many threads answers a little longer.
func Freeze(t *testing.T, pid int) (thaw func()) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw = func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Errorf("thaw %d: %v", pid, err)
		}
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // it may be gone, or go on
	for deadline := time.Now().Add(5 * time.Minute); !stands(t, pid); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs, a minute after SIGSTOP", pid)
		}
		time.Sleep(time.Millisecond)
	}
	return thaw
}

// stands tells whether every thread of a process is stopped (proc_pid_stat(5)).
func stands(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("process %d: %d threads, %v", pid, len(threads), err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if os.IsNotExist(err) {
			continue // it has ended meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		// The state follows the name, which is in parentheses and may hold some.
		if end := bytes.LastIndexByte(text, ')'); end < 0 || !bytes.HasPrefix(text[end:], []byte(") T")) {
			return false
		}
	}
	return true
}
