// Package launch starts a server that is not ours, in any language, as the first
// of a process group: it gives it a port, waits until it is ready, accounts for it
// by the kernel's numbers, and stops it with all that it started. What the server
// has to do is in docs/processes.md. The package knows processes, and neither plans
// nor what a server serves.
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

// Spec says what to start, and how one knows that it is ready.
type Spec struct {
	Name string // for messages: "server of shop"
	// Run is the program and its arguments, in which $PORT, ${PORT} or {port} stand for the port, and
	// $HOST, ${HOST} or {host} for the host to listen at: see [ParseCommand].
	Run []string
	Dir string // to start it in; "": ours
	// Env is added to our environment. PORT and HOST in it do not count.
	Env   []string
	Ready Ready
	// Host is where it is to listen and can be reached, an IP address; "": 127.0.0.1.
	Host string
	CPUs []int // cores it may run on; nil: any
	// Namespace is the network namespace that it is to live in; nil: ours.
	Namespace *os.File
	// StartTime is how long it may take to be ready; 0: 30 s.
	StartTime time.Duration
	// Grace is how long it may take to stop when told, before it is killed; 0: 8 s.
	Grace time.Duration
	// Stderr gets what it writes to standard output and standard error, as it comes; nil:
	// nobody does. The last words are kept either way.
	Stderr io.Writer
}

const (
	usualStartTime = 30 * time.Second
	usualGrace     = 8 * time.Second
	loopback       = "127.0.0.1"
)

// Process is a running server. Its methods may be called by several goroutines.
type Process struct {
	name  string
	grace time.Duration
	held  *process.Process
	input io.Closer
	out   *output
	ready control.Ready
	early string // " before it was ready", until it is

	mu    sync.Mutex // guards group, and killed
	group *probe.Group
	// killed is that we killed it before it was stopped.
	killed bool

	stop   sync.Once
	ended  error // set by Stop, as is forced
	forced bool
}

// Start starts a server and waits until it is ready. If it is not within the start
// time, or before ctx ends, it is stopped. The error says what was waited for, and
// has the server's last words. It is InvalidArgument for a specification that cannot
// be, NotFound for a program that is not there, and else Unavailable.
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
		_ = p.Stop() // the error says more
		return nil, err
	}
	p.early = ""
	return p, nil
}

// check tells what in a specification cannot be.
func (s Spec) check() error {
	if len(s.Run) == 0 || s.Run[0] == "" {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: there is no command that starts it", s.Name)
	}
	if s.Host != "" && net.ParseIP(s.Host) == nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: the host %q is no IP address", s.Name, s.Host)
	}
	if s.StartTime < 0 || s.Grace < 0 {
		return wirelab.Errorf(wirelab.InvalidArgument, "%s: start time and grace are not below 0", s.Name)
	}
	_, err := ParseReady(string(s.Ready))
	return err
}

// command is the server's, for a port.
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
	// The last of several counts.
	command.Env = append(command.Env, "PORT="+strconv.Itoa(port), "HOST="+s.Host)
	// How long is waited for the output of a process that left the group.
	command.WaitDelay = time.Second
	return command
}

// notStarted says why a program could not be started, and what to do.
func (s Spec) notStarted(err error) error {
	if s.Dir != "" {
		if about, gone := os.Stat(s.Dir); gone != nil || !about.IsDir() {
			return wirelab.Errorf(wirelab.NotFound, "start %s: the folder %s is not there", s.Name, s.Dir)
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
			"start %s: %s%s is no program, or may not be run; try chmod +x", s.Name, s.Run[0], in)
	case errors.Is(err, syscall.ENOEXEC):
		return wirelab.Errorf(wirelab.NotFound,
			"start %s: %s%s is neither a program of this machine nor a script that begins with #!", s.Name,
			s.Run[0], in)
	}
	return fmt.Errorf("start %s: %w", s.Name, err)
}

// PID is the id of the first process, and of the group.
func (p *Process) PID() int { return p.held.PID() }

// Ready tells where the server is, or what it said of itself.
func (p *Process) Ready() control.Ready { return p.ready }

// Done is closed when the first process has ended; Stop then tells how.
func (p *Process) Done() <-chan struct{} { return p.held.Done() }

// Ask gives the order Usage, which the kernel's numbers answer. All others are
// refused: the server does not know them.
func (p *Process) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	return answer(ctx, p.name, order, p.Used)
}

// answer gives an order for a server that knows none.
func answer(
	ctx context.Context, name string, order control.Order, read func() (probe.GroupUse, error),
) (control.Reply, error) {
	if order.Usage == nil {
		return control.Reply{}, wirelab.Errorf(wirelab.Unimplemented,
			"%s is no program of wirelab and takes no orders", name)
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

// usageOf is what of a group's use is told like that of one of our own processes.
// Allocations and the collector's cycles and pauses are not known: the kernel does
// not see them, and the server's runtime is not asked. They are 0 here.
func usageOf(used probe.GroupUse) result.Usage { return used.Usage }

// Used is what the server's processes have used so far, by the kernel's numbers. Of
// a server that has ended the error tells how it ended.
func (p *Process) Used() (probe.GroupUse, error) {
	p.mu.Lock()
	used, err := p.group.Read()
	p.mu.Unlock()
	return used, p.dead(err)
}

// CPU is the CPU time that the server's processes have used so far.
func (p *Process) CPU() (time.Duration, error) {
	p.mu.Lock()
	used, err := p.group.CPU()
	p.mu.Unlock()
	return used.CPU, p.dead(err)
}

// dead turns the error of a reading into how the server ended, if it has.
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

// Kill ends all of the group at once. It still is to be stopped.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	p.held.Signal(syscall.SIGKILL)
}

// Stop ends the server's input, sends SIGTERM to its process group, and kills what
// has not ended within the grace. Then no process is left that was in the group, or
// that descended from it when Stop was called. The error tells how the server ended if that
// was before; it is nil where it ended because it was told, whatever its exit status:
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
			if one.Lives() { // in a group of its own
				_ = syscall.Kill(one.PID, syscall.SIGKILL) // an error: it has ended
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

// family are the living processes of the server, as far as they can be found.
func (p *Process) family() []probe.TreeProcess {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.group == nil {
		return nil
	}
	used, err := p.group.CPU()
	if err != nil {
		return nil // its first process has ended, and the group is ended as such
	}
	return used.Living
}

// Forced waits for Stop and tells whether the server, or one of its processes, had to
// be killed because it did not end in time when told.
func (p *Process) Forced() bool {
	_ = p.Stop() // told already
	return p.forced
}

// Words are the last lines that the server wrote, at most so many.
func (p *Process) Words(most int) []string { return p.out.words.Lines(most) }
