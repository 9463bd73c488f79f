package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"wirelab"
	"wirelab/control"
	"wirelab/probe"
)

// Running says which server is to be accounted for that someone else started.
type Running struct {
	Name    string // for messages: "server of shop"
	Address string // where it is called: host:port
	PID     int    // of its first process
	// CPUs are cores that it is to run on until it is let go; nil: it stays where it is.
	CPUs []int
}

// Attached is a server that someone else started. Its methods may be called by several
// goroutines. It is measured like a [Process], and neither started nor ended.
type Attached struct {
	of Running

	mu    sync.Mutex // guards group
	group *probe.Group
	// former are the cores that it was on; nil: they were not changed.
	former []int

	stop  sync.Once
	ended error // set by Stop
}

// Attach begins to account for a running server: the process, those that descend from it, and
// its process group if it is the first of one. The error is NotFound where there is no such
// process, and InvalidArgument for an id that cannot be.
func Attach(r Running) (*Attached, error) {
	if r.PID <= 1 {
		return nil, noServer(r)
	}
	group, err := probe.NewGroup(r.PID)
	if errors.Is(err, os.ErrProcessDone) {
		return nil, wirelab.Errorf(wirelab.NotFound, "%s: there is no process %d on this host", r.Name, r.PID)
	}
	if err != nil {
		return nil, err
	}
	a := &Attached{of: r, group: group}
	first, err := group.CPU()
	if err != nil { // what cannot be read is told now
		return nil, a.gone(err)
	}
	for _, one := range first.Living {
		if one.PID == os.Getpid() { // it is a shell, as a rule
			return nil, noServer(r)
		}
	}
	if r.CPUs == nil {
		return a, nil
	}
	if a.former, err = group.Cores(); err == nil {
		err = group.Pin(r.CPUs)
	}
	if err != nil {
		if a.former != nil {
			_ = group.Pin(a.former) // the error says more
		}
		return nil, wirelab.Errorf(wirelab.PermissionDenied,
			"%s: it cannot be put on cores %v: %v; run wirelab as the user who started it", r.Name, r.CPUs, err)
	}
	return a, nil
}

// noServer says that a process cannot be the server: it would hold the one that measures too.
func noServer(r Running) error {
	return wirelab.Errorf(wirelab.InvalidArgument,
		"%s: process %d is not a server's, wirelab itself descends from it; give the id of the server's first process",
		r.Name, r.PID)
}

// PID is the id of the first process.
func (a *Attached) PID() int { return a.of.PID }

// Ready tells where the server is.
func (a *Attached) Ready() control.Ready { return control.Ready{Address: a.of.Address} }

// Ask is [Process.Ask].
func (a *Attached) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	return answer(ctx, a.of.Name, order, a.Used)
}

// Used is what the server's processes have used since they were started.
func (a *Attached) Used() (probe.GroupUse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	used, err := a.group.Read()
	return used, a.gone(err)
}

// CPU is the CPU time that the server's processes have used since they were started.
func (a *Attached) CPU() (time.Duration, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	used, err := a.group.CPU()
	return used.CPU, a.gone(err)
}

// gone turns the error of a reading into what it means.
func (a *Attached) gone(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrProcessDone):
		return wirelab.Errorf(wirelab.Unavailable, "%s, process %d, ended while it was measured", a.of.Name, a.of.PID)
	}
	return fmt.Errorf("%s: %w", a.of.Name, err)
}

// Kill does nothing: the server is not ours to end.
func (*Attached) Kill() {}

// Stop lets the server go, back to the cores that its first process was on. The error is that
// it had ended. Further calls return the same.
func (a *Attached) Stop() error {
	a.stop.Do(func() {
		if _, a.ended = a.CPU(); a.ended != nil || a.former == nil {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if err := a.group.Pin(a.former); err != nil {
			a.ended = fmt.Errorf("%s: put it back on cores %v: %w", a.of.Name, a.former, err)
		}
	})
	return a.ended
}
