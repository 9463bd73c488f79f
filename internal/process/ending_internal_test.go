package process

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process that has ended but was not waited for has no memory. A living process has.
func TestEnding(t *testing.T) {
	t.Parallel()
	if ending(os.Getpid()) {
		t.Error("this process is taken for an ending one")
	}
	child := exec.CommandContext(t.Context(), "true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !ending(child.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a process that has ended is taken for a living one")
		}
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
}
