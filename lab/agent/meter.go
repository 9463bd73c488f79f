package agent

import (
	"context"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Meter runs a load's plan as orders say, and takes down what the driver used and
// moved meanwhile.
type Meter struct {
	Runner  *load.Runner
	Plan    load.Plan              // but for what an order says
	Self    *probe.Account         // of the driver
	Traffic func() wirelab.Traffic // that has passed since the load was prepared
}

// warmWindows is how many windows a warm-up has at least; see [load.Warming].
const warmWindows = 20

// Warm warms the load up in windows, as an order says; see [Load].
func (m *Meter) Warm(ctx context.Context, order control.Warm, served Served) (*load.Warmth, error) {
	window := m.Plan
	window.Duration = time.Duration(order.Least) / warmWindows
	if s := window.Schedule; s != nil && s.Stages[0].From < rareRate {
		// Windows with calls in them would take minutes, and be judged by two or
		// three calls each. It is warmed up by one call after another.
		window.Schedule, window.Workers = nil, 1
	}
	if window.Schedule != nil {
		window.Duration = max(window.Duration, fewCalls(window.Schedule.Stages[0].From))
	}
	if window.Schedule != nil && len(window.Schedule.Stages) > 1 {
		// A profile of stages is not steady and is not meant to be. It is
		// warmed up at the rate it begins with.
		first := *window.Schedule
		first.Stages = []load.Stage{{From: first.Stages[0].From, To: first.Stages[0].From}}
		window.Schedule = &first
	}
	if s := window.Schedule; s != nil && s.Law != "" && s.Law != load.Even && s.Law != load.Poisson {
		// Bursts are not steady either: they are warmed up at their rate.
		even := *s
		even.Law, even.Gaps = load.Poisson, nil
		window.Schedule = &even
	}
	return m.Runner.Warm(ctx, load.Warming{
		Plan: window, Windows: warmWindows, Limit: time.Duration(order.Limit),
		Served: served,
	})
}

// rareRate is the rate, per second, below which a window would have to last longer than
// fewCalls lets it.
const rareRate = 3

// fewCalls is how long a window of a warm-up must be at a rate for calls to
// fall into nearly each of them, as far as that does not take too long.
func fewCalls(rate float64) time.Duration {
	const calls, most = 3, time.Second
	if rate <= 0 {
		return 0
	}
	return min(most, time.Duration(calls/rate*float64(time.Second)))
}

// Slice runs one slice.
func (m *Meter) Slice(ctx context.Context, order control.Slice) (*control.Measured, error) {
	run := m.Plan
	run.Duration, run.Head, run.Parts, run.Whole = time.Duration(order.For), time.Duration(order.Head), order.Parts,
		order.Whole
	if order.Schedule != nil {
		run.Schedule = order.Schedule
	}
	if run.Schedule != nil {
		seeded := *run.Schedule
		seeded.Seed = order.Seed
		run.Schedule = &seeded
	}
	measured := &control.Measured{}
	var probed, err error
	run.Around = func(run func()) { probed = m.around(measured, run) }
	if measured.Recording, err = m.Runner.Run(ctx, run); err != nil {
		return nil, err
	}
	// What the clock burnt waiting for the next arrival is no cost of the client.
	measured.Usage.Spun = spent(measured.Recording.Spun, measured.Usage)
	measured.Usage.CPU -= measured.Usage.Spun
	return measured, probed
}

// spent is the processor time of a driver that kept looking at the clock for so long. Looking is timed by that
// clock, so that what others used of the driver's CPU in that time is in it. They took their part of all the time in
// which the driver was ready to run, whatever it was doing: taking all of it off would leave a driver that others
// hold up with less than nothing.
func spent(looking time.Duration, u result.Usage) plan.Duration {
	ready := u.CPU + u.Waited
	if ready <= 0 {
		return 0
	}
	return min(u.CPU, plan.Duration(float64(looking)*float64(u.CPU)/float64(ready)))
}

// around runs a slice, and takes down what the driver used and moved meanwhile.
func (m *Meter) around(into *control.Measured, run func()) (err error) {
	sockets := m.Traffic()
	into.Usage, err = m.Self.Over(run)
	now := m.Traffic()
	into.WireSent, into.WireReceived = now.Sent-sockets.Sent, now.Received-sockets.Received
	into.Payload = now.Payload - sockets.Payload
	into.Connections, into.Open = now.Opened-sockets.Opened, now.Open
	return err
}
