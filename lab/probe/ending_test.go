package probe

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// A process that has ended and was not waited for has no memory any more; one that lives has.
func TestEnding(t *testing.T) {
	t.Parallel()
	if ending(os.Getpid()) {
		t.Error("this process is taken for one that ends")
	}
	child := exec.CommandContext(t.Context(), "true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !ending(child.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a process that has ended is taken for one that lives")
		}
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
}
