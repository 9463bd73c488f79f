package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// mark names a variable that all processes of tests inherit, and the servers that
// packages share do not: their environment is one of their own.
const mark = "WIRELAB_TEST_RUN"

// endLeft ends processes of tests that outlive them: a test that was killed has
// ended none of those that it had started in a group of their own.
func endLeft(run string) {
	wanted := []byte(mark + "=" + run + "\x00")
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return // the pattern is good
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		pid, bad := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || bad != nil || !bytes.Contains(text, wanted) {
			continue // another user's, or it has ended
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now
	}
}
