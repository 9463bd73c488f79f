package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"wirelab"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// attached has the processes of a target on this machine that wirelab did not start. Their use is read from the kernel.
// The arms that they serve share them.
type attached struct {
	address string
	trees   []*process.Tree // the first is that of the process that the plan names
	mu      sync.Mutex      // guards all below, and the trees, which are not safe for concurrent use
	users   int             // arms of the round that use it
	counted bool            // an arm has added its CPU time to the round's
	began   time.Duration   // CPU time that had been used before
	restore func() error    // restores the CPUs that it ran on; nil: it was not pinned
}

// attach finds the server of an arm that has a target: the process that the plan names, or the one that listens there.
// It returns nil if no such process is visible.
func (w *round) attach(ctx context.Context, a *armRun) (Child, error) {
	arm := &w.result.Arms[a.index]
	arm.Here = probe.Here(ctx, a.plan.Target)
	roots, named := []int{a.plan.PID}, a.plan.PID != 0
	if !named {
		if w.c.cluster() || !arm.Here {
			return nil, nil // the work of a broker is not that of one process
		}
		network := "tcp"
		if arm.Datagrams {
			network = "udp"
		}
		roots = slices.DeleteFunc(probe.Listeners(ctx, network, a.plan.Target), func(pid int) bool {
			return probe.Descends(os.Getpid(), pid)
		})
	}
	if len(roots) == 0 {
		return nil, nil
	}
	found, err := w.c.attachTo(a.plan, roots)
	if err != nil && !named {
		return nil, nil // it ended, or may not be read: treat it as not found
	}
	if err != nil {
		return nil, err
	}
	arm.Process = &result.Process{PIDs: roots, ByPort: !named}
	if cpus := w.result.Placement.ServerCPUs; named && len(cpus) > 0 {
		if err := found.pin(cpus); err != nil {
			arm.Process.Unpinned = strings.TrimSpace(err.Error())
		} else {
			arm.Process.CPUs = cpus
		}
	}
	return &attachedArm{shared: found}, nil
}

// attachTo returns the processes with these ids. Arms of a round share them.
func (c *Runner) attachTo(arm plan.Arm, roots []int) (*attached, error) {
	key := fmt.Sprint(roots)
	if one, ok := c.attached[key]; ok && one.users > 0 {
		one.users++
		return one, nil
	}
	one := &attached{address: arm.Target, users: 1}
	for _, pid := range roots {
		tree, err := process.NewTree(pid)
		if errors.Is(err, os.ErrProcessDone) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"arm %s: there is no process %d: give the id of the server at %s, as pgrep or ps show it",
				arm.Name, pid, arm.Target)
		}
		if err == nil && probe.Descends(os.Getpid(), pid) {
			return nil, wirelab.Errorf(wirelab.InvalidArgument,
				"arm %s: process %d has started this wirelab, so it is not the server alone: give the server's own id",
				arm.Name, pid)
		}
		if err != nil {
			return nil, fmt.Errorf("arm %s: process %d cannot be read: %w", arm.Name, pid, err)
		}
		one.trees = append(one.trees, tree)
	}
	used, err := one.used()
	if err != nil {
		return nil, fmt.Errorf("arm %s: %w", arm.Name, err)
	}
	one.began = used
	if c.attached == nil {
		c.attached = map[string]*attached{}
	}
	c.attached[key] = one
	return one, nil
}

// used returns the CPU time that the processes have used since they began.
func (p *attached) used() (sum time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tree := range p.trees {
		use, err := tree.Read()
		if err != nil {
			return 0, p.unread(tree, err)
		}
		sum += use.CPU
	}
	return sum, nil
}

// unread returns the error for a process that cannot be read.
func (p *attached) unread(tree *process.Tree, err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d, the server at %s, ended while it was measured: start it again, and check "+
			"its output",
			tree.Root(), p.address)
	}
	return fmt.Errorf("the CPU of process %d, the server at %s, cannot be read: %w", tree.Root(), p.address, err)
}

// pin runs the processes on these CPUs until the last arm is done with them.
func (p *attached) pin(cpus []int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.restore != nil {
		return nil
	}
	var undo []func() error
	p.restore = func() (all error) {
		for _, one := range undo {
			all = errors.Join(all, one())
		}
		return all
	}
	for _, tree := range p.trees {
		one, err := tree.PinUntil(cpus)
		if err != nil {
			back := p.restore()
			p.restore = nil
			return errors.Join(err, back)
		}
		undo = append(undo, one)
	}
	return nil
}

// attachedArm is the [Child] of one arm that the processes serve.
type attachedArm struct{ shared *attached }

var _ Child = (*attachedArm)(nil)

// Ready implements [Child].
func (a *attachedArm) Ready() control.Ready { return control.Ready{Address: a.shared.address} }

// Ask implements [Child]. It supports only the order usage, and reports only what the kernel knows: allocations are
// known to the server alone.
func (a *attachedArm) Ask(_ context.Context, order control.Order) (control.Reply, error) {
	if order.Usage == nil {
		return control.Reply{}, errors.New("a server that wirelab did not start knows the order usage only")
	}
	p := a.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	used := &result.Usage{}
	for _, tree := range p.trees {
		use, err := tree.Read()
		if err != nil {
			return control.Reply{}, p.unread(tree, err)
		}
		for _, one := range use.Living {
			used.ResidentBytes += probe.Resident(one.PID)
		}
	}
	return control.Reply{Usage: used}, nil
}

// CPU implements [Child].
func (a *attachedArm) CPU() (time.Duration, error) {
	used, err := a.shared.used()
	return used - a.shared.began, err
}

// counts reports whether the arm is the first to ask. The CPU time of processes that serve several arms is part of the
// experiment, but must be added only once.
func (a *attachedArm) counts() bool {
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	first := !a.shared.counted
	a.shared.counted = true
	return first
}

// Kill implements [Child]. The processes belong to the user, so it does nothing.
func (*attachedArm) Kill() {}

// Stop implements [Child]. The processes keep running, on the CPUs they had before.
func (a *attachedArm) Stop() error {
	p := a.shared
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users--
	if p.users > 0 || p.restore == nil {
		return nil
	}
	restore := p.restore
	p.restore = nil
	return restore()
}
