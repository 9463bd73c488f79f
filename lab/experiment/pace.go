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

// startTime limits how long a child may take to start.
const startTime = 30 * time.Second

// readTime limits how long the messages of a slice may be read after it. It is longer than their driver reads
// (drainLimit of lab/messaging/drive), so that the driver can report which messages are missing.
const readTime = 25 * time.Minute

// clusterTime limits how long a cluster of brokers may take to start, or a topic to be created, of which a warm-up has
// several. RabbitMQ takes some ten seconds for each node.
const clusterTime = 3 * time.Minute

// cluster reports whether the servers are clusters of brokers.
func (c *Runner) cluster() bool { return kinds.OfPlan(c.Plan).Run.Cluster }

// patience returns how long it may take to start an arm, or how much longer than its least time a warm-up may take. On
// a network that includes the first calls, one after another.
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

// dialTime returns how long a driver may take to dial. For each load it makes calls, one after another, until
// goldenTime has passed; the last of them may take its whole deadline.
func (c *Runner) dialTime(loads int) time.Duration {
	return c.patience() + time.Duration(loads)*(goldenTime+max(time.Duration(c.Plan.Deadline), time.Second))
}

// goldenTime is the limit of the same name in package agent, with a margin.
const goldenTime = 10 * time.Second

// within runs one step of a round with a time limit. what names the step in the error, such as "server not ready".
func within(ctx context.Context, limit time.Duration, what string, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s within %v", what, limit.Round(time.Millisecond)))
	defer cancel()
	return step(ctx)
}

// The windows of a warm-up: the most and the least there can be, and how long one may be in addition to its calls.
const (
	windowsMost  = 160
	windowsLeast = 20
	windowLong   = time.Second
)

// warmTime returns how long a driver may take to warm up a load of an arm: the least time with its extensions, and time
// for the calls of each window to end at the arm's pace. Since more calls at once take longer, it also has time for the
// calls of the least number of windows to reach their deadlines.
func (c *Runner) warmTime(a *armRun) time.Duration {
	deadline := time.Duration(c.Plan.Deadline)
	return 8*time.Duration(c.Plan.WarmUp) + c.patience() +
		windowsMost*2*min(a.pace, deadline) + windowsLeast*(windowLong+deadline)
}

func (w *round) warmOne(ctx context.Context, a *armRun, l int) error {
	p := w.c.Plan
	order := control.Warm{Load: l, Least: p.WarmUp, Limit: plan.Duration(w.c.warmTime(a))}
	limit := time.Duration(order.Limit) + 2*time.Duration(p.Deadline) + startTime // for the last window
	if w.c.cluster() {
		order.Limit = 0 // windows are bounded, and all sent messages must be read too
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

// windows makes the driver warm a load up. Between windows it passes on what the server has used, so that the cost of a
// call on the server becomes steady too. For a broker it does not: a broker works on after it has acknowledged
// messages, so that the cost in a window is not that of the window's messages.
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

// paceOf returns how long a call takes at the end of a warm-up.
func paceOf(w *load.Warmth) time.Duration {
	if len(w.Median) == 0 {
		return 0
	}
	return time.Duration(w.Median[len(w.Median)-1])
}

// headShare determines the part of an open-loop slice that is not recorded: the queue is empty at the start of each
// slice, and takes some time to reach its usual length.
const headShare = 10 // one tenth

// wholeCalls is how many calls of one caller must fit into a slice of a closed loop, so that those cut off at its end
// do not matter. With fewer, all calls that began in it count.
const wholeCalls = 10

// sliceOf returns the order for a slice of a load. It follows the pace of the slowest arm, so that all arms get the
// same slices.
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

// headed returns the head of a slice, and its whole length, for a service with this pace. Until the first calls have
// ended, there are none that the window could count.
func headed(head, window plan.Duration, pace, deadline time.Duration) (plan.Duration, plan.Duration) {
	head = max(head, plan.Duration(min(pace+pace/4, deadline)))
	return head, head + window
}

// pace returns how long a call takes under a load, of the slowest arm; 0: it is unknown.
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

// serverCPU returns what the slices of a trial used so far.
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
