package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"wirelab/brokers"
	"wirelab/control"
	"wirelab/load"
	"wirelab/plan"
	"wirelab/probe"
	"wirelab/result"
)

// Opener connects to a broker by a protocol's name.
type Opener func(ctx context.Context, protocol string, r brokers.Reach) (brokers.Broker, error)

// Options says how a driver works.
type Options struct {
	Open Opener
	// Outside are the arguments that make this program a reader of its own: [Read].
	Outside []string
	// Patience is how long messages that have not arrived are waited for while none
	// arrives. 0: [patienceUsual], or a longer one where something is done to the broker.
	Patience time.Duration
}

const (
	patienceUsual  = 5 * time.Second
	patienceFailed = 20 * time.Second // brokers take their time over a lost node, or reader
	goldenSends    = 16               // that a load makes and checks before anything is warmed up
	warmWindows    = 20
)

// Obey carries out a conductor's orders to drive brokers until in ends or ctx does.
func Obey(ctx context.Context, o Options, in io.Reader, out io.Writer) (err error) {
	d := &driver{options: o, self: probe.NewAccount()}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := control.Write(out, control.Reply{Ready: &control.Ready{}}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	orders, read := make(chan control.Order), make(chan error, 1)
	// The reader ends with in: whoever gave an order that is being carried out is
	// gone then, and it is given up.
	go func() {
		err := readOrders(ctx, in, orders)
		stop()
		close(orders)
		read <- err
	}()
	for order := range orders {
		if err := control.Write(out, d.obey(ctx, order)); err != nil {
			return err
		}
	}
	return <-read
}

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

// driver holds what dial orders made.
type driver struct {
	options Options
	self    *probe.Account
	loads   []*prepared
	dials   []int // how many loads there were before each dial
	reading Reading
	made    uint64 // runs
	seeds   *rand.Rand
}

// prepared is a load with its connections.
type prepared struct {
	what       control.Messages
	plan       load.Plan
	broker     brokers.Broker
	publishers []brokers.Publisher
	lines      *lines
	runner     *load.Runner
	sockets    *probe.Sockets
	stage      *stage
}

func (d *driver) obey(ctx context.Context, order control.Order) control.Reply {
	var reply control.Reply
	var err error
	switch {
	case order.Usage != nil:
		var used result.Usage
		used, err = d.self.Read()
		reply.Usage = &used
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

// dial connects every load and sees a few messages through.
func (d *driver) dial(ctx context.Context, order control.Dial) error {
	if order.Broker == nil {
		return errors.New("told to drive what is no message broker")
	}
	d.seeds = rand.New(rand.NewPCG(order.Seed, 0x6d657373)) // the second word separates this use of the seed
	reach := brokers.Reach{
		Addresses: strings.Split(order.Address, ","), Copies: order.Broker.Copies,
		Durability: brokers.Durability(order.Broker.Durability), Variant: order.Broker.Variant,
	}
	d.reading = Reading{
		Protocol: order.Protocol, Addresses: reach.Addresses, Durability: reach.Durability, Variant: reach.Variant, Copies: reach.Copies,
	}
	for i, l := range order.Loads {
		p, err := d.prepare(ctx, order, reach, l)
		if p != nil {
			d.loads = append(d.loads, p)
		}
		if err == nil {
			err = d.golden(ctx, p)
		}
		if err != nil {
			return fmt.Errorf("load %d: %w", i, err)
		}
	}
	return nil
}

// prepare opens the publishers of a load.
func (d *driver) prepare(ctx context.Context, order control.Dial, reach brokers.Reach, l control.Load) (p *prepared, err error) {
	p = &prepared{what: l.Messages, sockets: &probe.Sockets{}, stage: newStage(order.Broker.Stage)}
	p.plan = load.Plan{Schedule: l.Schedule, Deadline: time.Duration(order.Deadline), Classify: classify, Own: order.Own}
	reach.Connect = p.sockets.Connect
	if p.broker, err = d.options.Open(ctx, order.Protocol, reach); err != nil {
		return p, err
	}
	connections := min(max(l.Connections, 1), l.InFlight)
	for i := range connections {
		publisher, err := p.broker.Publisher(ctx, width(l.InFlight, connections, i))
		if err != nil {
			return p, err
		}
		p.publishers = append(p.publishers, publisher)
	}
	p.lines = newLines(p.publishers, l.InFlight, p.plan.Deadline)
	p.runner = load.NewLinesRunner(p.lines)
	return p, nil
}

// seed is one that no other run of this driver has.
func (d *driver) seed() uint64 {
	d.made++
	return d.seeds.Uint64() + d.made
}

// golden sees a few messages through, one after the other.
func (d *driver) golden(ctx context.Context, p *prepared) error {
	what := p.what
	what.Scenario, what.Delay = plan.Live, 0
	r, err := begin(ctx, p.broker, p.lines, what, d.seed())
	if err != nil {
		return err
	}
	err = r.readAll(ctx)
	r.opens(r.clock.Now(), r.clock.Now()+int64(time.Hour))
	for i := 0; i < goldenSends && err == nil; i++ {
		sending, cancel := context.WithTimeout(ctx, max(p.plan.Deadline, time.Second))
		if err = p.lines.one(sending); err != nil {
			err = fmt.Errorf("send %d before the warm-up: %w", i, err)
		}
		cancel()
	}
	if err == nil {
		r.drain(ctx, d.patience(what))
		if a := r.ledger.Account(); a.Faults() > 0 {
			err = fmt.Errorf("%d messages went wrong of %d before the warm-up: %+v", a.Faults(), a.Sent, a)
		}
	}
	return errors.Join(err, r.over(ctx, p.lines))
}

func (d *driver) patience(what control.Messages) time.Duration {
	switch {
	case d.options.Patience > 0:
		return d.options.Patience
	case plan.Load{Scenario: what.Scenario}.Fails(), what.Scenario == plan.Crash:
		return patienceFailed
	}
	return patienceUsual + time.Duration(what.Delay)
}

func (d *driver) load(i int) (*prepared, error) {
	if i < 0 || i >= len(d.loads) {
		return nil, fmt.Errorf("no load %d; there are %d", i, len(d.loads))
	}
	return d.loads[i], nil
}

// warm warms a load up, with readers from the beginning whatever the scenario.
func (d *driver) warm(ctx context.Context, order control.Warm) (*load.Warmth, error) {
	p, err := d.load(order.Load)
	if err != nil {
		return nil, err
	}
	what := p.what
	what.Scenario, what.Delay = plan.Live, 0
	r, err := begin(ctx, p.broker, p.lines, what, d.seed())
	if err != nil {
		return nil, err
	}
	var warmth *load.Warmth
	if err = r.readAll(ctx); err == nil {
		window := p.plan
		window.Duration = time.Duration(order.Least) / warmWindows
		if window.Schedule != nil {
			window.Duration = max(window.Duration, fewSends(window.Schedule.Stages[0].From))
		}
		warmth, err = p.runner.Warm(ctx, load.Warming{Plan: window, Windows: warmWindows})
		r.drain(ctx, d.patience(what))
	}
	return warmth, errors.Join(err, r.over(ctx, p.lines))
}

// fewSends is how long a window of a warm-up must be at a rate for sends to fall
// into nearly each of them, as far as that does not take too long.
func fewSends(rate float64) time.Duration {
	const sends, most = 3, time.Second
	if rate <= 0 {
		return 0
	}
	return min(most, time.Duration(sends/rate*float64(time.Second)))
}

// slice measures one.
func (d *driver) slice(ctx context.Context, order control.Slice) (*control.Measured, error) {
	p, err := d.load(order.Load)
	if err != nil {
		return nil, err
	}
	r, err := begin(ctx, p.broker, p.lines, p.what, d.seed())
	if err != nil {
		return nil, err
	}
	measured, err := d.measure(ctx, p, r, order)
	if err = errors.Join(err, r.over(ctx, p.lines)); err != nil {
		return nil, err
	}
	return measured, nil
}

func (d *driver) measure(ctx context.Context, p *prepared, r *run, order control.Slice) (*control.Measured, error) {
	if err := d.attend(ctx, r); err != nil {
		return nil, err
	}
	watching, err := watch(ctx, r, p.stage)
	if err != nil {
		return nil, err
	}
	type played struct {
		done []result.Disturbance
		err  error
	}
	playing, stop := context.WithCancel(ctx)
	over := make(chan played, 1)
	go func() { // waited for below, whatever happens
		done, err := d.play(playing, r, p.stage)
		r.fail(err)
		over <- played{done, err}
	}()
	measured, err := d.send(ctx, p, order)
	if err != nil {
		stop()
	}
	scene := <-over
	stop()
	if err == nil && scene.err == nil {
		err = d.readOut(ctx, r)
	}
	use, useErr := watching.over(ctx)
	if err = errors.Join(err, scene.err, useErr, r.err()); err != nil {
		return nil, err
	}
	m := r.measured(p.lines, watching.backlog)
	m.Broker, m.Done = use, scene.done
	measured.Messages = m
	measured.Calls = m.Sent // what the broker used is shared among messages, not sends
	return measured, nil
}

// send runs the engine.
func (d *driver) send(ctx context.Context, p *prepared, order control.Slice) (*control.Measured, error) {
	slice := p.plan
	slice.Duration, slice.Head, slice.Parts = time.Duration(order.For), time.Duration(order.Head), order.Parts
	if order.Schedule != nil {
		slice.Schedule = order.Schedule
	}
	if slice.Schedule != nil {
		seeded := *slice.Schedule
		seeded.Seed = order.Seed
		slice.Schedule = &seeded
	}
	measured := &control.Measured{}
	var probed error
	slice.Around = func(run func()) { probed = d.around(p, measured, run) }
	var err error
	measured.Recording, err = p.runner.Run(ctx, slice)
	if err != nil {
		return nil, err
	}
	measured.Usage.Spun = plan.Duration(measured.Recording.Spun)
	measured.Usage.CPU -= measured.Usage.Spun
	return measured, probed
}

// readOut reads what is left once nothing is sent any more.
func (d *driver) readOut(ctx context.Context, r *run) error {
	if err := r.readAll(ctx); err != nil {
		return err
	}
	r.drain(ctx, d.patience(r.load))
	return ctx.Err()
}

// around runs a slice, and takes down what the driver used and moved meanwhile.
func (d *driver) around(p *prepared, into *control.Measured, run func()) (err error) {
	sockets := p.sockets.Count()
	into.Usage, err = d.self.Over(run)
	now := p.sockets.Count()
	into.WireSent, into.WireReceived = now.Sent-sockets.Sent, now.Received-sockets.Received
	into.Connections, into.Open = now.Opened-sockets.Opened, now.Open
	return err
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

func (d *driver) close() error {
	err := closeAll(d.loads)
	d.loads, d.dials = nil, nil
	return err
}

func closeAll(loads []*prepared) (all error) {
	for _, p := range loads {
		for _, publisher := range p.publishers {
			all = errors.Join(all, publisher.Close())
		}
		if p.lines != nil {
			p.lines.close()
		}
		if p.broker != nil {
			all = errors.Join(all, p.broker.Close())
		}
		p.stage.close()
	}
	return all
}
