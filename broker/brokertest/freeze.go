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

// Freeze stops a process with SIGSTOP until the returned thaw is called, at the latest at the end of the test. It
// waits until every thread is stopped: kill(2) returns before that, and a server with many threads still answers
// for a while.
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
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // the process may have ended, or be running again
	for deadline := time.Now().Add(5 * time.Minute); !stands(t, pid); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs, a minute after SIGSTOP", pid)
		}
		time.Sleep(time.Millisecond)
	}
	return thaw
}

// stands reports whether every thread of a process is stopped (proc_pid_stat(5)).
func stands(t *testing.T, pid int) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("process %d: %d threads, %v", pid, len(threads), err)
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if os.IsNotExist(err) {
			continue // the thread has ended since
		}
		if err != nil {
			t.Fatal(err)
		}
		// The state follows the name, which is in parentheses and may itself contain some.
		if end := bytes.LastIndexByte(text, ')'); end < 0 || !bytes.HasPrefix(text[end:], []byte(") T")) {
			return false
		}
	}
	return true
}
