package process

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"wirelab/internal/affinity"
)

// LineLimit is the longest line, in bytes. The largest thing that is sent is a
// recording of a few histograms, some tens of kilobytes.
const LineLimit = 16 << 20

// Reader reads lines of type T. A line that is too long, or not of that type, is an error: two ends that no longer
// understand each other cannot work together.
type Reader[T any] struct{ lines *bufio.Scanner }

// NewReader returns a reader of r.
func NewReader[T any](r io.Reader) *Reader[T] {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, LineLimit)
	return &Reader[T]{lines: lines}
}

// Read returns the next object, or io.EOF when the other end has stopped.
func (r *Reader[T]) Read() (T, error) {
	var value T
	if !r.lines.Scan() {
		err := r.lines.Err()
		if err == nil {
			err = io.EOF
		}
		return value, err
	}
	if err := json.Unmarshal(r.lines.Bytes(), &value); err != nil {
		return value, fmt.Errorf("control line: %w", err)
	}
	return value, nil
}

// WriteLine writes one object as a line.
func WriteLine(w io.Writer, value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(line) >= LineLimit {
		return errors.New("control line is too long")
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Command says which program [StartLines] starts, and how.
type Command struct {
	Name string   // for messages: "server of grpc"
	Path string   // of the program
	Args []string // without the program itself
	Env  []string // added to the caller's
	CPUs []int    // cores it may run on; nil: any
	// Stderr gets what the child writes to its standard error, as it comes, and the last words are kept; nil: they
	// are only kept.
	Stderr io.Writer
	// Log is the child's standard error in the place of Stderr, and no last words are kept. A file is written by the
	// child itself, without us.
	Log io.Writer
	// Namespace is the network namespace that it is to live in; nil: ours.
	Namespace *os.File
	// Grace is how long it may take to stop when told, before it is killed; 0: a minute.
	Grace time.Duration
}

// usualGrace is [Command.Grace] where none is given: a child that stops on a machine
// that is busy with ten other things takes some seconds, and one that hangs is a fault.
const usualGrace = time.Minute

// Lines is a process that takes orders on its standard input and gives one reply to each on its standard output, in
// order, as one JSON object a line. It stops when its input ends, so it does not outlive us. Its methods may be
// called by one goroutine at a time, but for Kill, Done and PID.
type Lines[Order, Reply any] struct {
	name    string
	grace   time.Duration
	held    *Process
	orders  io.WriteCloser
	replies chan line[Reply] // closed by listen when the child's output ends
	words   *Words

	listening sync.WaitGroup
	stop      sync.Once
	ended     error // set by Stop
}

// line is a reply, or why none could be read.
type line[Reply any] struct {
	reply Reply
	err   error
}

// StartLines starts a process, and returns it with its first line, for which ready reports whether it says that the
// process is ready. If that does not come before ctx ends, the process is stopped.
func StartLines[Order, Reply any](
	ctx context.Context, c Command, ready func(Reply) bool,
) (*Lines[Order, Reply], Reply, error) {
	p := &Lines[Order, Reply]{
		name: c.Name, grace: cmp.Or(c.Grace, usualGrace), words: &Words{Also: c.Stderr},
		replies: make(chan line[Reply], 1),
	}
	var first Reply
	command := exec.Command(c.Path, c.Args...)
	command.Env = append(os.Environ(), c.Env...)
	if command.Stderr = c.Log; c.Log == nil {
		command.Stderr = p.words
	}
	var err error
	if p.orders, err = command.StdinPipe(); err != nil {
		return nil, first, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, first, err
	}
	if p.held, err = Start(command, affinity.Place{CPUs: c.CPUs, Namespace: c.Namespace}); err != nil {
		return nil, first, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p.listening.Go(func() { p.listen(output) })
	first, err = p.await(ctx)
	if err == nil && !ready(first) {
		err = fmt.Errorf("%s did not report ready", c.Name)
	}
	if err != nil {
		p.Kill()
		if ended := p.Stop(); ended != nil && !errors.Is(err, ended) { // not twice
			err = errors.Join(err, ended)
		}
		return nil, first, err
	}
	return p, first, nil
}

// listen passes the child's replies on until its output ends.
func (p *Lines[Order, Reply]) listen(output io.Reader) {
	defer close(p.replies)
	lines := NewReader[Reply](output)
	for {
		r, err := lines.Read()
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) { // closed: it has ended and was waited for
			return
		}
		p.replies <- line[Reply]{r, err} // read by await, or by Stop, until closed
		if err != nil {
			// What follows cannot be understood; the rest is read so that the
			// child does not block on a full pipe while it is being stopped.
			_, _ = io.Copy(io.Discard, output)
			return
		}
	}
}

// Name is that of the command.
func (p *Lines[Order, Reply]) Name() string { return p.name }

// PID returns the process's id; 0 of no process, nil.
func (p *Lines[Order, Reply]) PID() int {
	if p == nil {
		return 0
	}
	return p.held.PID()
}

// Ask gives an order and returns the reply. A child that dies before it replies is an error, which then has its last
// words.
func (p *Lines[Order, Reply]) Ask(ctx context.Context, order Order) (Reply, error) {
	if err := WriteLine(p.orders, order); err != nil {
		// A child that is gone says more by how it ended than the pipe does.
		r, died := p.await(ctx)
		if died != nil {
			return r, died
		}
		return r, fmt.Errorf("%s: %w", p.name, err)
	}
	return p.await(ctx)
}

func (p *Lines[Order, Reply]) await(ctx context.Context) (Reply, error) {
	var none Reply
	select {
	case r, ok := <-p.replies:
		if !ok {
			return none, fmt.Errorf("%s died: %w", p.name, p.Stop())
		}
		if r.err != nil {
			return r.reply, fmt.Errorf("%s: %w", p.name, r.err)
		}
		return r.reply, nil
	case <-ctx.Done():
		return none, fmt.Errorf("%s: %w", p.name, context.Cause(ctx))
	}
}

// Done is closed when the child has ended.
func (p *Lines[Order, Reply]) Done() <-chan struct{} { return p.held.Done() }

// Err is nil while the child runs. After that it is how the child ended, with its last words, and nil where it ended
// well; as Stop returns it.
func (p *Lines[Order, Reply]) Err() error {
	select {
	case <-p.held.Done():
		return p.Stop()
	default:
		return nil
	}
}

// Killed is [Process.Killed].
func (p *Lines[Order, Reply]) Killed() bool { return p.held.Killed() }

// Signal sends a signal to all of the child's group.
func (p *Lines[Order, Reply]) Signal(signal syscall.Signal) { p.held.Signal(signal) }

// Kill ends the child at once. It still is to be stopped.
func (p *Lines[Order, Reply]) Kill() { p.held.Signal(syscall.SIGKILL) }

// Reap waits for the child from now on, so that it is no zombie when it ends by itself before it is stopped: for a
// server, whose clocks are not read after its end. Replies that come then are lost.
func (p *Lines[Order, Reply]) Reap() {
	go func() { _ = p.held.Wait() }() // until the child has ended
}

// EndInput tells the child to stop, and waits for nothing. It still is to be stopped.
func (p *Lines[Order, Reply]) EndInput() { _ = p.orders.Close() } // an error: the child is gone

// Stop tells the child to stop, waits for it and kills it if it does not
// within its grace. It returns how the child ended, nil if well: a child that was
// alive and did as it was told. Further calls return the same.
func (p *Lines[Order, Reply]) Stop() error {
	p.stop.Do(func() {
		p.EndInput()
		killed := time.AfterFunc(p.grace, p.Kill)
		for range p.replies {
			// What it still says answers nothing that anyone waits for.
		}
		p.listening.Wait()
		err := p.held.Wait()
		if !killed.Stop() {
			err = fmt.Errorf("did not stop within %v and was killed", p.grace)
		}
		if err != nil {
			p.ended = fmt.Errorf("%w%s", err, p.words.Last())
		}
	})
	return p.ended
}
