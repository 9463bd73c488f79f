// Package affinity says where a child process of ours lives: on which cores, and in which network namespace. It
// chooses neither.
package affinity

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Place is where something runs; the zero value is anywhere on this machine, in our
// network.
type Place struct {
	CPUs      []int    // nil: any
	Namespace *os.File // nil: ours
}

// Host is a place in a network, with the address that others reach it at.
type Host struct {
	Address   string   // without port
	Namespace *os.File // nil: ours
}

// Start starts a command there. The child inherits the place from the thread that
// starts it: set before it runs, it holds for every thread and child that it makes,
// and a runtime that counts cores counts these.
func (p Place) Start(command *exec.Cmd) error { return p.Do(command.Start) }

// Do does something there, on a thread that is put back where it was. The thread must
// not end instead: the runtime may have started a child from it before, which would be
// told that its parent died (Pdeathsig is of threads, not processes) and be killed.
func (p Place) Do(something func() error) error {
	if p.Namespace == nil && p.CPUs == nil {
		return something()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err, back := p.do(something)
		if back == nil {
			runtime.UnlockOSThread() // else no one gets this thread any more, and it ends
		}
		done <- errors.Join(err, back)
	}()
	return <-done
}

// do does something on the calling thread, which is locked. back is why the thread is
// not where it was.
func (p Place) do(something func() error) (failed, back error) {
	if p.Namespace != nil {
		own, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err, nil
		}
		defer func() { _ = own.Close() }() // it was only open
		if err := enter(p.Namespace); err != nil {
			return err, nil
		}
		defer func() { back = errors.Join(back, enter(own)) }()
	}
	if p.CPUs != nil {
		var before unix.CPUSet
		if err := unix.SchedGetaffinity(0, &before); err != nil {
			return err, nil
		}
		var wanted unix.CPUSet
		for _, cpu := range p.CPUs {
			wanted.Set(cpu)
		}
		if err := unix.SchedSetaffinity(0, &wanted); err != nil {
			return fmt.Errorf("run on cores %v: %w", p.CPUs, err), nil
		}
		defer func() { back = errors.Join(back, unix.SchedSetaffinity(0, &before)) }()
	}
	return something(), nil
}

// enter moves the calling thread to a network namespace.
func enter(namespace *os.File) error {
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return nil
}

// NewNamespace makes a network namespace without a name: it is there as long as the
// file is open, or a process lives in it.
func NewNamespace() (*os.File, error) {
	own, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	defer func() { _ = own.Close() }() // it was only open
	var made *os.File
	err = Place{Namespace: own}.Do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		var err error
		made, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return made, err
}
