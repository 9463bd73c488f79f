package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"wirelab"
	"wirelab/authority"
	"wirelab/control"
	"wirelab/load"
	"wirelab/plan"
	"wirelab/probe"
	"wirelab/result"
)

// goldenCalls is how many calls each load makes and checks when it is dialled,
// before anything is warmed up: a cell that answers wrongly is not measured.
const goldenCalls = 16

// warmWindows is how many windows a warm-up has at least; see [load.Warming].
const warmWindows = 20

// Drive carries out a conductor's orders to drive cells until in ends or ctx
// does. When in ends while an order is carried out, that is given up: whoever
// gave it is gone, and a search's slice may last for minutes. find looks a
// cell up, as the order names it.
func Drive(ctx context.Context, find Finder, in io.Reader, out io.Writer) error {
	d := &driver{find: find, self: probe.NewAccount()}
	if err := control.Write(out, control.Reply{Ready: &control.Ready{}}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	orders, read := make(chan control.Order), make(chan error, 1)
	// The reader ends with in, as that of [Serve] does.
	go func() {
		err := readOrders(ctx, in, orders)
		stop()
		close(orders)
		read <- err
	}()
	for order := range orders {
		if err := control.Write(out, d.obey(ctx, order)); err != nil {
			return errors.Join(err, d.close())
		}
	}
	return errors.Join(<-read, d.close())
}

// readOrders hands on what it reads until in or ctx ends.
func readOrders(ctx context.Context, in io.Reader, orders chan<- control.Order) error {
	reader := control.NewReader[control.Order](in)
	for {
		order, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case orders <- order:
		case <-ctx.Done():
			return nil
		}
	}
}

// Finder finds a cell by workload, protocol and the libraries at its ends;
// empty libraries are the usual ones.
type Finder func(workload, protocol, server, client string) (wirelab.Cell, error)

// driver holds what dial orders made.
type driver struct {
	find  Finder
	self  *probe.Account
	loads []*prepared
	dials []int // how many loads there were before each dial
}

func (d *driver) obey(ctx context.Context, order control.Order) control.Reply {
	var reply control.Reply
	var err error
	switch {
	case order.Usage != nil:
		return usage(d.self)
	case order.Dial != nil:
		d.dials = append(d.dials, len(d.loads))
		err = d.dial(ctx, *order.Dial)
	case order.Leave != nil:
		err = d.leave()
	case order.Warm != nil:
		reply.Warm, err = d.warm(ctx, *order.Warm)
	case order.Slice != nil:
		reply.Slice, err = d.slice(ctx, *order.Slice)
	default:
		err = errors.New("an order that says nothing")
	}
	if err != nil {
		return control.Reply{Error: err.Error()}
	}
	return reply
}

// dial connects every load and checks that the cell answers rightly.
func (d *driver) dial(ctx context.Context, order control.Dial) error {
	cell, err := d.find(order.Workload, order.Protocol, order.Server, order.Client)
	if err != nil {
		return err
	}
	if cell, err = cell.With(order.Data); err != nil {
		return err
	}
	to := wirelab.Dialing{Address: order.Address}
	if order.Authority != "" {
		if to.Roots, err = authority.Trust([]byte(order.Authority)); err != nil {
			return err
		}
	}
	f := newFollower(order)
	prepare := func(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, l control.Load, seeds *rand.Rand) (*prepared, error) {
		return prepareClients(ctx, cell, to, order, l, seeds, f)
	}
	if order.Raw {
		prepare = prepareRaw
	}
	seeds := rand.New(rand.NewPCG(order.Seed, 0x6472697665)) // the second word separates this use of the seed
	first := len(d.loads)
	for i, l := range order.Loads {
		if at := slices.IndexFunc(order.Loads[:i], func(other control.Load) bool { return alike(other, l) }); at >= 0 {
			d.loads = append(d.loads, d.loads[first+at].under(l.Schedule))
			continue
		}
		prepare := prepare
		if l.Streams > 0 {
			prepare = prepareFeeds
		}
		p, err := prepare(ctx, cell, to, order, l, seeds)
		if p != nil {
			p.plan = load.Plan{Schedule: l.Schedule, Deadline: time.Duration(order.Deadline), Classify: classify, Own: order.Own, Watch: p.watch}
			d.loads = append(d.loads, p)
		}
		if err == nil {
			err = p.golden(ctx)
		}
		if err != nil {
			return fmt.Errorf("load %d: %w", i, err)
		}
	}
	return nil
}

// alike reports whether two loads differ only in when calls are due. They are
// driven over the same connections and by the same callers, since they never
// run at once: sixteen rates would else hold sixteen times as many of both.
func alike(a, b control.Load) bool {
	a.Schedule, b.Schedule = nil, nil
	return a == b
}

// under is the same load on another schedule. What it shares is closed once.
func (p *prepared) under(s *load.Schedule) *prepared {
	other := *p
	other.open = nil
	other.plan.Schedule = s
	return &other
}

// leave closes what the last dial opened.
func (d *driver) leave() error {
	if len(d.dials) == 0 {
		return errors.New("told to leave before it dialled")
	}
	last := len(d.dials) - 1
	kept := d.dials[last]
	err := closeAll(d.loads[kept:])
	d.loads, d.dials = d.loads[:kept], d.dials[:last]
	return err
}

// classify names a failed call: by its code, or as a wrong reply.
func classify(err error) string {
	var wrong *wirelab.Mismatch
	if errors.As(err, &wrong) {
		return result.WrongReply
	}
	return wirelab.CodeOf(err).String()
}

// golden makes the first calls of a load one after the other.
func (p *prepared) golden(ctx context.Context) error {
	if p.feeds != nil {
		return p.feeds.check(ctx, p.plan.Deadline)
	}
	for i := range max(goldenCalls, p.width) {
		ctx, cancel := context.WithTimeout(ctx, max(p.plan.Deadline, time.Second))
		err := p.call(ctx, i%p.width)
		cancel()
		if err != nil {
			return fmt.Errorf("call %d before the warm-up: %w", i, err)
		}
	}
	return nil
}

func (d *driver) load(i int) (*prepared, error) {
	if i < 0 || i >= len(d.loads) {
		return nil, fmt.Errorf("no load %d; there are %d", i, len(d.loads))
	}
	return d.loads[i], nil
}

func (d *driver) warm(ctx context.Context, order control.Warm) (*load.Warmth, error) {
	p, err := d.load(order.Load)
	if err != nil {
		return nil, err
	}
	if p.feeds != nil {
		return p.feeds.warm(ctx, p.plan.Deadline, time.Duration(order.Least))
	}
	window := p.plan
	window.Duration = time.Duration(order.Least) / warmWindows
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
	warmth, err := p.runner.Warm(ctx, load.Warming{Plan: window, Windows: warmWindows})
	if err == nil && p.follow != nil {
		err = p.follow.settle(ctx) // now, so that no slice pays for it
	}
	return warmth, err
}

// fewCalls is how long a window of a warm-up must be at a rate for calls to
// fall into nearly each of them, as far as that does not take too long.
func fewCalls(rate float64) time.Duration {
	const calls, most = 3, time.Second
	if rate <= 0 {
		return 0
	}
	return min(most, time.Duration(calls/rate*float64(time.Second)))
}

func (d *driver) slice(ctx context.Context, order control.Slice) (*control.Measured, error) {
	p, err := d.load(order.Load)
	if err != nil {
		return nil, err
	}
	if p.feeds != nil {
		return d.streams(ctx, p, order)
	}
	run := p.plan
	run.Duration, run.Head, run.Parts = time.Duration(order.For), time.Duration(order.Head), order.Parts
	if order.Schedule != nil {
		run.Schedule = order.Schedule
	}
	if run.Schedule != nil {
		seeded := *run.Schedule
		seeded.Seed = order.Seed
		run.Schedule = &seeded
	}
	if p.follow != nil {
		if err := p.follow.settle(ctx); err != nil {
			return nil, err
		}
	}
	measured := &control.Measured{}
	var probed error
	run.Around = func(run func()) {
		made := p.made()
		probed = d.around(p, measured, run)
		measured.Calls = p.made() - made
	}
	measured.Recording, err = p.runner.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	// What the clock burnt waiting for the next arrival is no cost of the client.
	measured.Usage.Spun = plan.Duration(measured.Recording.Spun)
	measured.Usage.CPU -= measured.Usage.Spun
	if p.follow != nil {
		ended := measured.Recording.Began.Add(run.Duration)
		if measured.Followed, err = p.follow.account(ctx, ended); err != nil {
			return nil, err
		}
	}
	return measured, probed
}

// around runs a slice, and takes down what the driver used and moved meanwhile.
func (d *driver) around(p *prepared, into *control.Measured, run func()) (err error) {
	sockets := p.traffic()
	into.Usage, err = d.self.Over(run)
	now := p.traffic()
	into.WireSent, into.WireReceived = now.Sent-sockets.Sent, now.Received-sockets.Received
	into.Payload = now.Payload - sockets.Payload
	into.Connections, into.Open = now.Opened-sockets.Opened, now.Open
	return err
}

func (d *driver) close() error {
	err := closeAll(d.loads)
	d.loads, d.dials = nil, nil
	return err
}

func closeAll(loads []*prepared) error {
	var all error
	for _, p := range loads {
		for _, c := range p.open {
			all = errors.Join(all, c.Close())
		}
	}
	return all
}
