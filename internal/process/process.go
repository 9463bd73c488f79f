// Package process starts a program as the first of a process group, and holds
// the group until nothing of it is left: its start in a place, its last words,
// its end, in good time or by force. It knows neither what the program is for
// nor how one talks to it; that is of packages target and launch.
package process

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wirelab/internal/affinity"
)

// Process is a running program with all that is in its process group. Its
// methods may be called by several goroutines.
type Process struct {
	command *exec.Cmd
	ended   chan struct{} // closed when the first process has ended

	mu     sync.Mutex // guards reaped
	reaped bool       // the id may be another process's by now
	wait   sync.Once
	err    error // set by Wait
}

// Start starts a command at a place, as the first of a process group. A group keeps Ctrl-C at the terminal from
// it, which so reaches only who started it, who then stops it in order. The kernel ends the first process with
// us, for when we cannot. Anyone who starts one calls [Process.Wait].
func Start(command *exec.Cmd, at affinity.Place) (*Process, error) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := at.Start(command); err != nil {
		return nil, err
	}
	p := &Process{command: command, ended: make(chan struct{})}
	go func() { // until the process has ended, for which Wait waits
		defer close(p.ended)
		// The process stays a zombie until Wait, so that its id stays the group's
		// and no signal can reach a stranger.
		for {
			err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return p, nil
}

// PID is the id of the first process, and of the group.
func (p *Process) PID() int { return p.command.Process.Pid }

// Done is closed when the first process has ended. Others of its group may live.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Signal sends a signal to all of the group. After Wait nothing is sent.
func (p *Process) Signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(-p.PID(), signal) // an error: all have ended, or are another user's
	}
}

// pause is how long is waited between two looks at a group, of which the kernel
// does not tell when it is empty.
const pause = 5 * time.Millisecond

// killLimit is how long a process that was killed may take to be gone: one that
// waits for a disk ends only when that answers.
const killLimit = 10 * time.Second

// End tells all of the group to end by a signal, and waits until all have. Those
// that have not after the grace are killed. The error names what even that did not end.
func (p *Process) End(signal syscall.Signal, grace time.Duration) (killed bool, err error) {
	p.Signal(signal)
	p.Signal(syscall.SIGCONT) // a stopped process would not hear of it
	if p.empty(grace) {
		return false, nil
	}
	return true, p.kill()
}

// kill kills all of the group, and waits until all have ended.
func (p *Process) kill() error {
	p.Signal(syscall.SIGKILL)
	if p.empty(killLimit) {
		return nil
	}
	left, err := InGroup(p.PID())
	return errors.Join(fmt.Errorf("processes %v were killed and have not ended after %v", left, killLimit), err)
}

// empty waits until no process of the group lives, and reports whether that was
// so within a limit.
func (p *Process) empty(limit time.Duration) bool {
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case <-p.ended: // the first, as a rule the last too
	case <-over.C:
		return false
	}
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-over.C:
			return false
		case <-again.C:
		}
		if left, err := InGroup(p.PID()); err == nil && len(left) == 0 {
			return true
		}
		again.Reset(pause)
	}
}

// Wait waits until the first process has ended, kills what it left behind in its
// group, and tells how it ended. Further calls return the same.
func (p *Process) Wait() error {
	p.wait.Do(func() {
		<-p.ended
		left := p.kill()
		p.mu.Lock()
		p.reaped = true
		p.mu.Unlock()
		// The output of a process that left the group is not waited for: see WaitDelay.
		if p.err = p.command.Wait(); errors.Is(p.err, exec.ErrWaitDelay) {
			p.err = nil
		}
		if p.err == nil {
			p.err = left
		}
	})
	return p.err
}
