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

// Meter runs the plan of a load as orders say, and records what the driver used and transferred during each run.
type Meter struct {
	Runner  *load.Runner
	Plan    load.Plan              // without the settings that each order brings
	Self    *probe.Account         // the driver's
	Traffic func() wirelab.Traffic // the traffic since the load was prepared
}

// warmWindows is the least number of windows of a warm-up; see [load.Warming].
const warmWindows = 20

// Warm warms the load up in windows, as an order says; see [Load].
func (m *Meter) Warm(ctx context.Context, order control.Warm, served Served) (*load.Warmth, error) {
	window := m.Plan
	window.Duration = time.Duration(order.Least) / warmWindows
	if s := window.Schedule; s != nil && firstRate(s) < rareRate {
		// Windows that have calls in them would take minutes, and two or three calls would decide about each. Make one
		// call after another instead.
		window.Schedule, window.Workers = nil, 1
	}
	if window.Schedule != nil {
		window.Duration = max(window.Duration, fewCalls(firstRate(window.Schedule)))
	}
	if window.Schedule != nil && len(window.Schedule.Stages) > 1 {
		// A profile of stages is not meant to be steady. Warm up at the rate at which it begins.
		first := *window.Schedule
		first.Stages = []load.Stage{{From: first.Stages[0].From, To: first.Stages[0].From}}
		window.Schedule = &first
	}
	if s := window.Schedule; s != nil && s.Law != "" && s.Law != load.Even && s.Law != load.Poisson {
		// Bursts are not steady either. Warm up at the same rate without them.
		even := *s
		even.Law, even.Gaps = load.Poisson, nil
		window.Schedule = &even
	}
	return m.Runner.Warm(ctx, load.Warming{
		Plan: window, Windows: warmWindows, Limit: time.Duration(order.Limit),
		Served: served,
	})
}

// firstRate is the rate, per second, that this driver's share of a schedule begins with.
func firstRate(s *load.Schedule) float64 { return s.Stages[0].From / float64(max(1, s.Share.Of)) }

// rareRate is the rate, in calls per second, below which a window would have to be longer than fewCalls allows.
const rareRate = 3

// fewCalls returns how long a window of a warm-up must be at a rate (calls per second) for nearly every window to have
// calls in it. It is at most one second.
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
	// CPU time that was spent waiting in a loop for the next arrival is not a cost of the client.
	measured.Usage.Spun = spent(measured.Recording.Spun, measured.Usage)
	measured.Usage.CPU -= measured.Usage.Spun
	return measured, probed
}

// spent returns the CPU time of a driver that polled the clock for the duration looking. That duration is measured by
// the same clock, so it includes time in which other processes ran on the driver's CPU. They took their share of all
// the time in which the driver was ready to run, whatever it was doing. Subtracting all of looking would leave less
// than nothing to a driver that others hold up.
func spent(looking time.Duration, u result.Usage) plan.Duration {
	ready := u.CPU + u.Waited
	if ready <= 0 {
		return 0
	}
	return min(u.CPU, plan.Duration(float64(looking)*float64(u.CPU)/float64(ready)))
}

// around runs a slice, and records what the driver used and transferred during it.
func (m *Meter) around(into *control.Measured, run func()) (err error) {
	sockets := m.Traffic()
	into.Usage, err = m.Self.Over(run)
	now := m.Traffic()
	into.WireSent, into.WireReceived = now.Sent-sockets.Sent, now.Received-sockets.Received
	into.Payload = now.Payload - sockets.Payload
	into.Connections, into.Open = now.Opened-sockets.Opened, now.Open
	return err
}
