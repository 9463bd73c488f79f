package daemon

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"wirelab/internal/affinity"
	"wirelab/wire/status"
)

// Process is one run of a server. Its methods may be called by several
// goroutines.
type Process struct {
	command *exec.Cmd
	ended   chan struct{} // closed when it has ended
	err     error         // how; read after ended is closed
}

// Run starts a command at a place. Anyone who runs it waits for [Process.Done]: until then a goroutine does
// that waits for the process.
func Run(command *exec.Cmd, at affinity.Place) (*Process, error) {
	if err := at.Start(command); err != nil {
		return nil, err
	}
	p := &Process{command: command, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = command.Wait()
	}()
	return p, nil
}

// PID is the process id; 0 for none.
func (p *Process) PID() int {
	if p == nil {
		return 0
	}
	return p.command.Process.Pid
}

// Done is closed when the process has ended and was waited for.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Err tells how the process ended; nil where it ended well. It waits for that.
func (p *Process) Err() error {
	<-p.ended
	return p.err
}

// Signal sends a signal. One that has ended gets none, which is no error.
func (p *Process) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// Killed reports whether SIGKILL ended the process, no matter who sent it. It waits for the end.
func (p *Process) Killed() bool {
	<-p.ended
	status, ok := p.command.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Waiting says how long, and how, is waited until a server takes connections.
type Waiting struct {
	Limit, Every time.Duration
	// Try reports whether it takes them. What went wrong counts only if it does.
	Try func(context.Context) (bool, error)
	// Words are the server's own last ones, put behind an error.
	Words func() string
}

// Ready waits until the server takes connections. The error is Unavailable where
// it did not within the limit, or ended as if all were well, and else how it ended.
func (p *Process) Ready(ctx context.Context, w Waiting) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.Limit,
		status.Errorf(status.Unavailable, "it took no connections within %v", w.Limit))
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w%s", context.Cause(ctx), w.Words())
		case <-p.ended:
			if p.err == nil {
				return status.Errorf(status.Unavailable, "it ended by itself before it took connections%s", w.Words())
			}
			return fmt.Errorf("it ended: %w%s", p.err, w.Words())
		case <-timer.C:
		}
		if taken, err := w.Try(ctx); taken {
			return err
		}
		timer.Reset(w.Every)
	}
}
