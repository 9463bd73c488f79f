// Package process starts a program as the first of a process group, and holds the group until nothing of it is
// left: its start in a place, its last words, its end, in good time or by force. [Lines] is a process that takes
// orders as lines of JSON, and [Tree] reads what processes have used. The package must not know what a program is
// for, nor what the lines say: the messages are type parameters.
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
// it. So only we get that signal, and stop the process in order. Unless the command has attributes already, the
// kernel kills the first process when we die. With attributes, they say when it dies and as which user it runs.
// Anyone who starts one calls [Process.Wait]; see also [Run].
func Start(command *exec.Cmd, at affinity.Place) (*Process, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	// The first of a session is the first of a group too, and the kernel refuses to be asked for both.
	command.SysProcAttr.Setpgid = !command.SysProcAttr.Setsid
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

// Run is Start for a server that may end at any time: it is waited for from the start, so that no zombie stays
// that others take for a living server.
func Run(command *exec.Cmd, at affinity.Place) (*Process, error) {
	p, err := Start(command, at)
	if err == nil {
		go func() { _ = p.Wait() }() // until the process has ended; Err tells how
	}
	return p, err
}

// PID is the id of the first process, and of the group; 0 of no process, nil.
func (p *Process) PID() int {
	if p == nil {
		return 0
	}
	return p.command.Process.Pid
}

// Done is closed when the first process has ended. Others of its group may live.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Err is nil while the first process runs. After that it tells how the process ended, nil where it ended well, as
// [Process.Wait] does.
func (p *Process) Err() error {
	select {
	case <-p.ended:
		return p.Wait()
	default:
		return nil
	}
}

// Killed reports whether SIGKILL ended the first process, no matter who sent it. It waits for the end.
func (p *Process) Killed() bool {
	_ = p.Wait() // the state says more
	status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Signal sends a signal to all of the group. After Wait nothing is sent.
func (p *Process) Signal(signal syscall.Signal) { p.signal(-p.PID(), signal) }

// SignalFirst sends a signal to the first process alone: to a server that ends its helpers itself, in the order
// that they need.
func (p *Process) SignalFirst(signal syscall.Signal) { p.signal(p.PID(), signal) }

func (p *Process) signal(to int, signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = syscall.Kill(to, signal) // an error: all have ended, or are another user's
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
