// Package target starts a server or a driver as a child process, waits until
// it is ready, talks to it, stops it, and accounts for it. It knows how to
// hold a process, and not what runs inside.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"wirelab/internal/affinity"
	"wirelab/internal/process"
	"wirelab/lab/control"
)

// Command says what to start.
type Command struct {
	Name string   // for messages: "server of grpc"
	Path string   // of the program
	Args []string // without the program itself
	Env  []string // added to the caller's
	CPUs []int    // cores it may run on; nil: any
	// Stderr gets what the child writes to its standard error, as it comes; nil:
	// nobody does. The last words are kept either way.
	Stderr io.Writer
	// Namespace is the network namespace that it is to live in; nil: ours.
	Namespace *os.File
	// Grace is how long it may take to stop when told, before it is killed; 0: a minute.
	Grace time.Duration
}

// usualGrace is [Command.Grace] where none is given: a child that stops on a machine
// that is busy with ten other things takes some seconds, and one that hangs is a fault.
const usualGrace = time.Minute

// Process is a running child. Its methods may be called by one goroutine at a
// time, but for Kill.
type Process struct {
	name    string
	grace   time.Duration
	held    *process.Process
	orders  io.WriteCloser
	replies chan reply // closed by listen when the child's output ends
	over    chan struct{}
	last    *process.Words
	ready   control.Ready

	listening sync.WaitGroup
	stop      sync.Once
	ended     error // set by Stop
}

type reply struct {
	control.Reply
	err error
}

// Start starts a child and waits until it says that it is ready. If it does
// not before ctx ends, it is stopped.
func Start(ctx context.Context, c Command) (*Process, error) {
	p := &Process{
		name: c.Name, grace: cmp.Or(c.Grace, usualGrace), last: &process.Words{Also: c.Stderr},
		replies: make(chan reply, 1), over: make(chan struct{}),
	}
	command := exec.Command(c.Path, c.Args...)
	command.Env = append(os.Environ(), c.Env...)
	command.Stderr = p.last
	var err error
	if p.orders, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.held, err = process.Start(command, affinity.Place{CPUs: c.CPUs, Namespace: c.Namespace}); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p.listening.Go(func() { p.listen(output) })
	first, err := p.await(ctx)
	if err == nil && first.Ready == nil {
		err = fmt.Errorf("%s did not report ready", c.Name)
	}
	if err != nil {
		p.Kill()
		if ended := p.Stop(); ended != nil && !errors.Is(err, ended) { // not twice
			err = errors.Join(err, ended)
		}
		return nil, err
	}
	p.ready = *first.Ready
	return p, nil
}

// listen passes the child's replies on until its output ends.
func (p *Process) listen(output io.Reader) {
	defer close(p.over)
	defer close(p.replies)
	lines := control.NewReader[control.Reply](output)
	for {
		r, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		p.replies <- reply{r, err} // read by await, or by Stop, until closed
		if err != nil {
			// What follows cannot be understood; the rest is read so that the
			// child does not block on a full pipe while it is being stopped.
			_, _ = io.Copy(io.Discard, output)
			return
		}
	}
}

// PID returns the process's id.
func (p *Process) PID() int { return p.held.PID() }

// Ready returns what the child said first.
func (p *Process) Ready() control.Ready { return p.ready }

// Ask gives an order and returns the reply. An order that the child refuses
// is an error, as is a child that dies over it; the error then has its last words.
func (p *Process) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	if err := control.Write(p.orders, order); err != nil {
		// A child that is gone says more by how it ended than the pipe does.
		if _, died := p.await(ctx); died != nil {
			return control.Reply{}, died
		}
		return control.Reply{}, fmt.Errorf("%s: %w", p.name, err)
	}
	r, err := p.await(ctx)
	if err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, fmt.Errorf("%s: %s", p.name, r.Error)
	}
	return r, nil
}

func (p *Process) await(ctx context.Context) (control.Reply, error) {
	select {
	case r, ok := <-p.replies:
		if !ok {
			return control.Reply{}, fmt.Errorf("%s died: %w", p.name, p.Stop())
		}
		if r.err != nil {
			return r.Reply, fmt.Errorf("%s: %w", p.name, r.err)
		}
		return r.Reply, nil
	case <-ctx.Done():
		return control.Reply{}, fmt.Errorf("%s: %w", p.name, context.Cause(ctx))
	}
}

// Done is closed when the child has ended, or has closed its output, which none
// does before it ends; Stop then tells how.
func (p *Process) Done() <-chan struct{} { return p.over }

// Kill ends the child at once. It still is to be stopped.
func (p *Process) Kill() { p.held.Signal(syscall.SIGKILL) }

// Stop tells the child to stop, waits for it and kills it if it does not
// within its grace. It returns how the child ended, nil if well: a child that was
// alive and did as it was told. Further calls return the same.
func (p *Process) Stop() error {
	p.stop.Do(func() {
		_ = p.orders.Close() // the child may be gone
		killed := time.AfterFunc(p.grace, p.Kill)
		for range p.replies {
			// What it still says answers nothing that anybody waits for.
		}
		p.listening.Wait()
		err := p.held.Wait()
		if !killed.Stop() {
			err = fmt.Errorf("did not stop within %v and was killed", p.grace)
		}
		if err != nil {
			p.ended = fmt.Errorf("%w%s", err, p.last.Last())
		}
	})
	return p.ended
}
