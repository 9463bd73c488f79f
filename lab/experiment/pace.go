package experiment

import (
	"context"
	"fmt"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// startTime is how long a child may take to start.
const startTime = 30 * time.Second

// readTime is how long the messages of a slice may be read after it: longer than their
// driver reads them (drainLimit of lab/messaging/drive), which then says what lacks.
const readTime = 25 * time.Minute

// clusterTime is how long a cluster of brokers may take to start, and a topic to be
// made, of which a warm-up has several: RabbitMQ takes some ten seconds a node.
const clusterTime = 3 * time.Minute

// cluster reports whether the servers are clusters of brokers.
func (c *Runner) cluster() bool { return kinds.OfPlan(c.Plan).Run.Cluster }

// patience is how long starting an arm, or a warm-up beside what it warms up,
// may take: on a network the first calls, one after another, do.
func (c *Runner) patience() time.Duration {
	if c.cluster() {
		return clusterTime
	}
	path, given, err := c.Plan.Path()
	if err != nil || !given {
		return startTime
	}
	calls := 0
	for _, l := range c.Plan.Loads {
		calls += max(16, l.Width())
	}
	return startTime + path.Patience(calls)
}

// dialTime is how long a driver may take to dial: for each load it makes calls, one after
// another, until golden calls have taken so long, of which the last may take its deadline.
func (c *Runner) dialTime(loads int) time.Duration {
	return c.patience() + time.Duration(loads)*(goldenTime+max(time.Duration(c.Plan.Deadline), time.Second))
}

// goldenTime is that of package agent, with room.
const goldenTime = 10 * time.Second

// within runs one step of a round, which may take so long. what says what is waited for,
// such as "server not ready".
func within(ctx context.Context, limit time.Duration, what string, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s within %v", what, limit.Round(time.Millisecond)))
	defer cancel()
	return step(ctx)
}

// The windows of a warm-up: how many there may be, how many there are at least, and how
// long one may be beside its calls.
const (
	windowsMost  = 160
	windowsLeast = 20
	windowLong   = time.Second
)

// warmTime is how long a driver may take to warm up a load of an arm: the least time with
// its extensions, with room for each window's calls to end at the arm's pace; and for those
// of the least windows to reach their deadlines, since more calls at once take longer.
func (c *Runner) warmTime(a *armRun) time.Duration {
	deadline := time.Duration(c.Plan.Deadline)
	return 8*time.Duration(c.Plan.WarmUp) + c.patience() +
		windowsMost*2*min(a.pace, deadline) + windowsLeast*(windowLong+deadline)
}

func (w *round) warmOne(ctx context.Context, a *armRun, l int) error {
	p := w.c.Plan
	order := control.Warm{Load: l, Least: p.WarmUp, Limit: plan.Duration(w.c.warmTime(a))}
	limit := time.Duration(order.Limit) + 2*time.Duration(p.Deadline) + startTime // the last window's
	if w.c.cluster() {
		order.Limit = 0 // windows are bounded, and what has been sent must be read too
	}
	return within(ctx, limit, "warm-up not over", func(ctx context.Context) error {
		reply, err := w.windows(ctx, a, order)
		if err != nil {
			return err
		}
		w.met(a, reply)
		t := a.trials[l]
		t.Steady, t.Drifting, t.Warmed = reply.Warm.Steady, reply.Warm.Drifting, plan.Duration(reply.Warm.Took)
		if !kinds.Of(p.Loads[l]).Run.Held {
			a.paces[l] = paceOf(reply.Warm)
		}
		return nil
	})
}

// windows has the driver warm a load up. Between its windows it is told what the server has
// used, so that what a call costs there is steady too. That of a broker is not looked at: it
// works behind its acknowledgements, so that a window's is not of the window's messages.
func (w *round) windows(ctx context.Context, a *armRun, order control.Warm) (control.Reply, error) {
	if a.server == nil || w.c.cluster() {
		return a.driver.Ask(ctx, control.Order{Warm: &order})
	}
	for {
		used, _, err := clocks(a.server)
		if err != nil {
			return control.Reply{}, err
		}
		order.Served = (*plan.Duration)(&used)
		reply, err := a.driver.Ask(ctx, control.Order{Warm: &order})
		if err != nil || reply.Window == nil {
			return reply, err
		}
	}
}

// paceOf is how long a call takes at the end of a warm-up.
func paceOf(w *load.Warmth) time.Duration {
	if len(w.Median) == 0 {
		return 0
	}
	return time.Duration(w.Median[len(w.Median)-1])
}

// headShare is the part of an open-loop slice that is not recorded: the queue
// starts empty in each slice, and needs some time to be as long as it is.
const headShare = 10 // one tenth

// wholeCalls is how many calls of a caller a slice of a closed loop must have room for, so
// that those cut off at its end do not matter. Else all calls count that were begun.
const wholeCalls = 10

// sliceOf is the order for a slice of a load of an arm. It follows the pace of the slowest
// arm, so that no arm's slices are made otherwise than another's.
func (w *round) sliceOf(l int, seed uint64) control.Slice {
	p := w.c.Plan
	at := p.Loads[l]
	order := control.Slice{Load: l, For: p.SliceOf(at), Seed: seed}
	pace, run := w.pace(l), kinds.Of(at).Run
	switch {
	case at.Open():
		order.Head = order.For / headShare
		if len(at.Stages) == 0 && !at.Replays() && !run.Held {
			order.Head, order.For = headed(order.Head, order.For-order.Head, pace, time.Duration(p.Deadline))
		}
	case !run.Held && !run.Cluster:
		order.Whole = pace*wholeCalls > time.Duration(order.For)
	}
	return order
}

// headed is a slice's head, and its length, for a service whose calls take so long: until
// the first have ended, none that a window is to count can end.
func headed(head, window plan.Duration, pace, deadline time.Duration) (plan.Duration, plan.Duration) {
	head = max(head, plan.Duration(min(pace+pace/4, deadline)))
	return head, head + window
}

// pace is how long a call takes of the slowest arm under a load; 0: it is not known.
func (w *round) pace(l int) (most time.Duration) {
	for _, a := range w.arms {
		if a.failed == nil && l < len(a.paces) {
			most = max(most, a.paces[l])
		}
	}
	return most
}

func (w *round) slice(ctx context.Context, a *armRun, l int, seed uint64) error {
	p := w.c.Plan
	order := w.sliceOf(l, seed)
	limit := time.Duration(order.For) + 2*time.Duration(p.Deadline) + startTime
	if w.c.cluster() {
		limit += readTime
	}
	return within(ctx, limit, "slice not over", func(ctx context.Context) error {
		t := a.trials[l]
		before := serverCPU(t)
		m, err := w.carry(ctx, a, &order, t)
		if err == nil && a.server != nil && !w.c.cluster() {
			t.Halves = t.Halves.Add(len(t.Order), p.Slices, serverCPU(t)-before, m.Calls)
		}
		return err
	})
}

// serverCPU is what the slices of a trial used so far.
func serverCPU(t *result.Trial) plan.Duration {
	if t.Server == nil {
		return 0
	}
	return t.Server.CPU
}

// start starts an arm's server and driver and connects them.
func (w *round) start(ctx context.Context, a *armRun) error {
	reach := control.Ready{Address: a.plan.Target, Authority: w.c.trusted(a.plan)}
	switch {
	case a.plan.Direct(): // it has no server
	case a.plan.Target != "":
		server, err := w.attach(ctx, a)
		if err != nil {
			return err
		}
		a.server = server
	default:
		err := within(ctx, w.c.patience(), "server not ready", func(ctx context.Context) (err error) {
			a.server, err = w.c.Bench.Server(ctx, a.plan)
			return err
		})
		if err != nil {
			return err
		}
		reach = a.server.Ready()
		arm := &w.result.Arms[a.index]
		arm.Database, arm.Broker, arm.Guarantee = reach.Database, reach.Broker, reach.Guarantee
	}
	err := within(ctx, w.c.patience(), "load generator not ready", func(ctx context.Context) (err error) {
		if a.relay, err = w.between(ctx, a, &reach); err == nil {
			a.driver, err = w.c.Bench.Driver(ctx, a.plan)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range w.c.Plan.Loads {
		a.trials = append(a.trials, &result.Trial{Arm: a.index, Load: i, Errors: map[string]uint64{}})
	}
	a.paces = make([]time.Duration, len(a.trials))
	return within(ctx, w.c.dialTime(len(w.c.Plan.Loads)), "connections not open and first calls not answered",
		func(ctx context.Context) (err error) {
			a.pace, err = w.dial(ctx, a, reach, w.c.Plan.Loads)
			return err
		})
}
