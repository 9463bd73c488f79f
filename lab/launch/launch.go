// Package launch starts an external server, in any language, as the leader of a process group: it gives the server a
// port, waits until it is ready, accounts for it with the kernel's figures, and stops it with all processes that it
// started. docs/processes.md says what the server has to do. The package knows processes. It knows neither plans nor
// what a server serves.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/daemon"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Spec says what to start, and how to know that it is ready.
type Spec struct {
	Name string // for messages: "server of shop"
	// Run is the program and its arguments. In them $PORT, ${PORT} and {port} stand for the port, and $HOST, ${HOST} and
	// {host} for the host to listen on: see [ParseCommand].
	Run []string
	Dir string // the folder to start it in; "": the current one
	// Env is added to the environment of this process. PORT and HOST in it are overridden.
	Env   []string
	Ready Ready
	// Host is the IP address on which it must listen and can be reached; "": 127.0.0.1.
	Host string
	CPUs []int // CPUs on which it may run; nil: any
	// Namespace is the network namespace in which it runs; nil: that of this process.
	Namespace *os.File
	// StartTime is how long it may take to become ready; 0: 30 s.
	StartTime time.Duration
	// Grace is how long it may take to stop after SIGTERM, before it is killed; 0: 8 s.
	Grace time.Duration
	// Stderr gets what the server writes to standard output and standard error, as it comes; nil: it is discarded. The
	// last lines are kept either way.
	Stderr io.Writer
}

const (
	usualStartTime = 30 * time.Second
	usualGrace     = 8 * time.Second
	loopback       = "127.0.0.1"
)

// Process is a running server. Its methods may be called concurrently.
type Process struct {
	name  string
	grace time.Duration
	held  *process.Process
	input io.Closer
	out   *output
	ready control.Ready
	early string // " before it was ready" until it is ready, for errors

	mu    sync.Mutex // guards group, and killed
	group *probe.Group
	// killed says that Kill was called before Stop.
	killed bool

	stop   sync.Once
	ended  error // set by Stop, as is forced
	forced bool
}

// Start starts a server and waits until it is ready. If it is not ready within the start time, or before ctx is done,
// it is stopped. The error says what Start waited for, and has the server's last words. Its code is InvalidArgument for
// an invalid specification, NotFound for a program that does not exist, and otherwise Unavailable.
func Start(ctx context.Context, s Spec) (*Process, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Host = cmp.Or(s.Host, loopback)
	at := affinity.Place{CPUs: s.CPUs, Namespace: s.Namespace}
	port := 0
	err := affinity.Place{Namespace: s.Namespace}.Do(func() (err error) {
		port, err = daemon.FreePort()
		return err
	})
	if err != nil {
		return nil, err
	}
	p := &Process{
		name: s.Name, grace: cmp.Or(s.Grace, usualGrace),
		out: newOutput(s.Stderr, s.Host), early: " before it was ready",
	}
	command := s.command(port)
	// Standard output and error are one stream, so that last words keep their order.
	command.Stdout, command.Stderr = p.out, p.out
	if p.input, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	if p.held, err = process.Start(command, at); err != nil {
		return nil, s.notStarted(err)
	}
	if p.group, err = probe.NewGroup(p.held.PID()); err == nil {
		p.ready, err = p.await(ctx, s, net.JoinHostPort(s.Host, strconv.Itoa(port)))
	}
	if err != nil {
		p.Kill()
		_ = p.Stop() // the first error says more
		return nil, err
	}
	p.early = ""
	return p, nil
}

// check reports what is wrong with a specification.
func (s Spec) check() error {
	if len(s.Run) == 0 || s.Run[0] == "" {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: there is no command that starts it", s.Name)
	}
	if s.Host != "" && net.ParseIP(s.Host) == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: the host %q is not an IP address", s.Name, s.Host)
	}
	if s.StartTime < 0 || s.Grace < 0 {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: start time and grace must not be below 0", s.Name)
	}
	_, err := ParseReady(string(s.Ready))
	return err
}

// command returns the command that starts the server on a port.
func (s Spec) command(port int) *exec.Cmd {
	known := strings.NewReplacer(
		"${PORT}", strconv.Itoa(port), "$PORT", strconv.Itoa(port), "{port}", strconv.Itoa(port),
		"${HOST}", s.Host, "$HOST", s.Host, "{host}", s.Host)
	words := make([]string, len(s.Run))
	for i, word := range s.Run {
		words[i] = known.Replace(word)
	}
	command := exec.Command(words[0], words[1:]...)
	command.Dir = s.Dir
	command.Env = append(os.Environ(), s.Env...)
	// The last of several settings of a variable counts.
	command.Env = append(command.Env, "PORT="+strconv.Itoa(port), "HOST="+s.Host)
	// WaitDelay limits the wait for the output of a process that left the group.
	command.WaitDelay = time.Second
	return command
}

// notStarted returns why a program could not be started, and what to do.
func (s Spec) notStarted(err error) error {
	if s.Dir != "" {
		if about, gone := os.Stat(s.Dir); gone != nil || !about.IsDir() {
			return wirelab.Errorf(wirelab.NotFound, "start %s: there is no folder %s", s.Name, s.Dir)
		}
	}
	in := ""
	if s.Dir != "" && strings.Contains(s.Run[0], "/") {
		in = " in " + s.Dir
	}
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return wirelab.Errorf(wirelab.NotFound,
			"start %s: there is no program %s%s; build it first, or give its path", s.Name, s.Run[0], in)
	case errors.Is(err, fs.ErrPermission):
		return wirelab.Errorf(wirelab.NotFound,
			"start %s: %s%s is not a program, or may not be run; try chmod +x", s.Name, s.Run[0], in)
	case errors.Is(err, syscall.ENOEXEC):
		return wirelab.Errorf(wirelab.NotFound,
			"start %s: %s%s is neither a program of this machine nor a script that begins with #!", s.Name,
			s.Run[0], in)
	}
	return fmt.Errorf("start %s: %w", s.Name, err)
}

// PID returns the id of the first process, which is that of the group.
func (p *Process) PID() int { return p.held.PID() }

// Ready returns where the server is, or what it reported.
func (p *Process) Ready() control.Ready { return p.ready }

// Done is closed when the first process has ended; Stop then says how.
func (p *Process) Done() <-chan struct{} { return p.held.Done() }

// Ask carries out the order Usage with the kernel's figures. It refuses all other orders, since the server does not
// know them.
func (p *Process) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	return answer(ctx, p.name, order, p.Used)
}

// answer carries out an order for a server that knows none.
func answer(
	ctx context.Context, name string, order control.Order, read func() (probe.GroupUse, error),
) (control.Reply, error) {
	if order.Usage == nil {
		return control.Reply{}, wirelab.Errorf(wirelab.Unimplemented,
			"%s is not a program of wirelab and takes no orders", name)
	}
	if err := context.Cause(ctx); err != nil {
		return control.Reply{}, fmt.Errorf("%s: %w", name, err)
	}
	used, err := read()
	if err != nil {
		return control.Reply{}, err
	}
	usage := usageOf(used)
	return control.Reply{Usage: &usage}, nil
}

// usageOf returns the use of a group in the form that wirelab's own processes report. Allocations and the collector's
// cycles and pauses are unknown, since the kernel does not see them and the server's runtime is not asked. They are 0
// here.
func usageOf(used probe.GroupUse) result.Usage { return used.Usage }

// Used returns what the server's processes have used so far, by the kernel's figures. If the server has ended, the
// error says how.
func (p *Process) Used() (probe.GroupUse, error) {
	p.mu.Lock()
	used, err := p.group.Read()
	p.mu.Unlock()
	return used, p.dead(err)
}

// CPU returns the CPU time that the server's processes have used so far.
func (p *Process) CPU() (time.Duration, error) {
	p.mu.Lock()
	used, err := p.group.CPU()
	p.mu.Unlock()
	return used.CPU, p.dead(err)
}

// dead replaces the error of a reading by how the server ended, if it has.
func (p *Process) dead(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-p.held.Done():
		if ended := p.Stop(); ended != nil {
			return ended
		}
		return wirelab.Errorf(wirelab.Unavailable, "%s was stopped", p.name)
	default:
		return fmt.Errorf("%s: %w", p.name, err)
	}
}

// Kill ends the whole group at once. Stop must still be called.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.held.Signal(syscall.SIGKILL)
}

// Stop closes the server's input, sends SIGTERM to its process group, and kills what has not ended within the grace.
// After that no process is left that was in the group, or that descended from it when Stop was called. If the server
// had ended before, the error says how. The error is nil if it ended because it was stopped, whatever its exit status:
// many programs end by the signal itself. Further calls return the same.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		p.mu.Lock()
		before := p.killed
		p.mu.Unlock()
		select {
		case <-p.held.Done():
			before = true
		default:
		}
		family := p.family()
		_ = p.input.Close() // the server may be gone
		forced, err := p.held.End(syscall.SIGTERM, p.grace)
		p.forced = forced
		for _, one := range family {
			if one.Lives() { // it had left the group
				_ = syscall.Kill(one.PID, syscall.SIGKILL) // an error means that it has ended
			}
		}
		how := p.held.Wait()
		switch {
		case before && how == nil:
			p.ended = wirelab.Errorf(wirelab.Unavailable,
				"%s ended by itself%s, and reported no error%s", p.name, p.early, p.out.words.Last())
		case before:
			p.ended = wirelab.Errorf(wirelab.Unavailable, "%s died%s: %v%s", p.name, p.early, how, p.out.words.Last())
		case err != nil:
			p.ended = fmt.Errorf("%s: %w", p.name, err)
		}
	})
	return p.ended
}

// family returns the living processes of the server, as far as they can be found.
func (p *Process) family() []process.TreeProcess {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.group == nil {
		return nil
	}
	used, err := p.group.CPU()
	if err != nil {
		return nil // its first process has ended, so only the group is ended
	}
	return used.Living
}

// Forced waits for Stop and reports whether the server, or one of its processes, had to be killed because it did not
// end in time.
func (p *Process) Forced() bool {
	_ = p.Stop() // its error was returned already
	return p.forced
}

// Words returns the last lines that the server wrote, at most the given number.
func (p *Process) Words(most int) []string { return p.out.words.Lines(most) }
