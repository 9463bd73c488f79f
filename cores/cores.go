// Package cores is on which cores of this machine a child process runs. It does
// not choose them.
package cores

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Start starts a command on the given cores, nil: any. The child inherits them
// from the thread that starts it: set before it runs, they hold for every
// thread and child that it makes, and a runtime that counts cores counts these.
func Start(command *exec.Cmd, on []int) error {
	if on == nil {
		return command.Start()
	}
	var before, wanted unix.CPUSet
	for _, cpu := range on {
		wanted.Set(cpu)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := unix.SchedSetaffinity(0, &wanted); err != nil {
		return fmt.Errorf("run on cores %v: %w", on, err)
	}
	return errors.Join(command.Start(), unix.SchedSetaffinity(0, &before))
}
