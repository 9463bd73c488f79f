package clitest

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Fault is one fault, and the command lines that meet it.
type Fault struct {
	Code  int    // the exit code of all of them
	Says  string // part of what each writes to standard error
	Lines []string
}

// OneText checks that a fault has one exit code and one text, whichever command meets it. fill replaces placeholders
// in a command line, and in the expected text, by values of this run.
func OneText(t *testing.T, faults []Fault, fill func(string) string,
	run func(args ...string) (code int, stderr string),
) {
	t.Helper()
	for _, f := range faults {
		for _, line := range f.Lines {
			code, said := run(strings.Fields(fill(line))...)
			Refused(t, line, code, said)
			if code != f.Code || !strings.Contains(said, fill(f.Says)) {
				t.Errorf("%s: exit code %d, says %q; want %d, %q", line, code, said, f.Code, fill(f.Says))
			}
		}
	}
}

// FullDisk is standard output on a full disk.
type FullDisk struct{}

// Write writes nothing.
func (FullDisk) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: os.Stdout.Name(), Err: syscall.ENOSPC}
}
