// Package target starts a server or a driver of the lab as a child process, waits until it is ready, and gives it
// orders. It knows the lines of package control; how a process is held is package process, and what runs inside is
// package agent.
package target

import (
	"context"
	"fmt"

	"wirelab/internal/process"
	"wirelab/lab/control"
)

// Process is a running child. Its methods may be called by one goroutine at a time, but for Kill.
type Process struct {
	*process.Lines[control.Order, control.Reply]
	ready control.Ready
}

// Start starts a child and waits until it says that it is ready. If it does
// not before ctx ends, it is stopped.
func Start(ctx context.Context, c process.Command) (*Process, error) {
	lines, first, err := process.StartLines[control.Order](ctx, c,
		func(first control.Reply) bool { return first.Ready != nil })
	if err != nil {
		return nil, err
	}
	return &Process{lines, *first.Ready}, nil
}

// Ready returns what the child said first.
func (p *Process) Ready() control.Ready { return p.ready }

// Ask gives an order and returns the reply. An order that the child refuses
// is an error, as is a child that dies over it; the error then has its last words.
func (p *Process) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	r, err := p.Lines.Ask(ctx, order)
	if err == nil && r.Error != "" {
		err = fmt.Errorf("%s: %s", p.Name(), r.Error)
	}
	return r, err
}
