package target

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// enter moves the calling thread to a network namespace.
func enter(namespace *os.File) error {
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return nil
}
