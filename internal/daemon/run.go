package daemon

import (
	"fmt"
	"sync"

	"wirelab/wire/status"
)

// Child is a running process: of package process, or a type that wraps it.
type Child interface {
	comparable
	PID() int
	Done() <-chan struct{}
	Err() error
}

// Run is the process that a server is now. A server that is killed, or ends by itself, can be started again and is
// another process then. The zero value is that of a server that does not run. Its methods may be called by several
// goroutines.
type Run[P Child] struct {
	mu   sync.Mutex // guards held
	held P          // zero: it does not run
}

// Begin is called when the server was started.
func (r *Run[P]) Begin(p P) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = p
}

// Now is the process, or zero where the server does not run. One that ended by itself is still there.
func (r *Run[P]) Now() P {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// Take is Now, and forgets the process. Who ends a server calls it before, so that the end is no one's error.
func (r *Run[P]) Take() P {
	r.mu.Lock()
	defer r.mu.Unlock()
	var none P
	p := r.held
	r.held = none
	return p
}

// PID is the process id; 0 where the server does not run.
func (r *Run[P]) PID() int {
	var none P
	if p := r.Now(); p != none {
		return p.PID()
	}
	return 0
}

// Done is closed when the process has ended, by whichever cause; nil where the server does not run.
func (r *Run[P]) Done() <-chan struct{} {
	var none P
	if p := r.Now(); p != none {
		return p.Done()
	}
	return nil
}

// Ended reports whether the server has ended though we did not end it, and how: nil where it reported no error.
func (r *Run[P]) Ended() (ended bool, how error) {
	var none P
	p := r.Now()
	if p == none {
		return false, nil
	}
	select {
	case <-p.Done():
		return true, p.Err()
	default:
		return false, nil
	}
}

// Err is nil while the server runs and after we ended it. If it ended otherwise, Err tells how, with the server's
// title and last words. An end without an error is an error too, Unavailable: no one told the server to end.
func (r *Run[P]) Err(title string, words func() string) error {
	switch ended, how := r.Ended(); {
	case !ended:
		return nil
	case how == nil:
		return status.Errorf(status.Unavailable, "%s stopped by itself%s", title, words())
	default:
		return fmt.Errorf("%s died: %w%s", title, how, words())
	}
}

// NoWords are the last words of a server whose process keeps them.
func NoWords() string { return "" }
