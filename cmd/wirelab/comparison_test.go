package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"wirelab/internal/programtest"
	"wirelab/lab/result"
	report "wirelab/results/report/json"
)

// shared are the programs and folders that all tests share. The end of all tests
// removes them.
var shared programtest.Shared

// leaveNothing ends all tests.
func leaveNothing(code int) {
	_ = shared.Close() // the folders are temporary ones
	os.Exit(code)
}

// comparison is a real experiment, measured once for all tests that need one and
// do not care how it was asked for: what it printed, and a folder with what it
// stored and wrote.
type comparison struct {
	dir          string
	code         int
	stdout, said string
}

// measured runs it: two loads and a threshold.
var measured = sync.OnceValues(func() (*comparison, error) {
	dir, err := shared.Folder("wirelab-compared-")
	if err != nil {
		return nil, err
	}
	c := &comparison{dir: dir}
	command := exec.Command(os.Args[0], brief(2, "--in-flight", "1,4", "--json", "--certificate", "none",
		"--fail-if", "errors > 0.0001%", "--markdown", "comment.md", "--junit", "junit.xml")...)
	command.Dir = dir
	command.Env = append(os.Environ(), asProgram+"=1", "WIRELAB_STORE="+c.mark())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	command.WaitDelay = time.Minute // a child that stays behind holds standard error
	if err := command.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, fmt.Errorf("%w: %s", err, stderr.String())
	}
	c.code, c.stdout, c.said = command.ProcessState.ExitCode(), stdout.String(), stderr.String()
	return c, nil
})

// mark is the store, by which the processes of the experiment are known.
func (c *comparison) mark() string { return filepath.Join(c.dir, "results.db") }

// compared is that experiment, with a copy of its folder that is the test's own.
func compared(t *testing.T) *comparison {
	t.Helper()
	c, err := measured()
	if err != nil {
		t.Fatal(err)
	}
	mine := *c
	mine.dir = t.TempDir()
	if err := os.CopyFS(mine.dir, os.DirFS(c.dir)); err != nil {
		t.Fatal(err)
	}
	return &mine
}

// shell is one over the experiment's store.
func (c *comparison) shell(t *testing.T) *shell {
	t.Helper()
	return &shell{t, map[string]string{"WIRELAB_STORE": c.mark()}}
}

// result is what was measured, as it was printed.
func (c *comparison) result(t *testing.T) *result.Result {
	t.Helper()
	return decode[report.Document](t, c.stdout).Result
}
