package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"wirelab/broker"
	"wirelab/internal/fault"
	"wirelab/lab/agent"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/messaging/account"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Opener connects to a broker. protocol is the name of its protocol.
type Opener func(ctx context.Context, protocol string, c broker.Config) (broker.Broker, error)

// Options configures a driver.
type Options struct {
	Open Opener
	// Outside are the arguments that make this program run as a reader process: see [Read].
	Outside []string
	// Patience is how long the driver waits for missing messages while none arrives. 0 means [patienceUsual], or
	// longer if the scenario injects a fault.
	Patience time.Duration
}

const (
	patienceUsual  = 5 * time.Second
	patienceFailed = 20 * time.Second // brokers need time to notice a lost node or reader
	goldenSends    = 16               // sends that a load makes and checks before its warm-up
)

// Obey serves a runner's orders to drive brokers until in or ctx ends: see [agent.Obey].
func Obey(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	self := probe.NewAccount()
	return agent.Obey(ctx, self, func(ctx context.Context, order control.Dial) ([]agent.Load, error) {
		return dial(ctx, o, self, order)
	}, in, out)
}

// dialled is shared by the loads of one order.
type dialled struct {
	options Options
	// made counts runs: see seed.
	reading Reading
	seeds   *rand.Rand
	made    uint64
}

// prepared is a load with its open connections.
type prepared struct {
	agent.Meter
	*dialled
	what       control.Messages
	broker     broker.Broker
	publishers []broker.Publisher
	lines      *lines
	stage      *stage
}

// dial connects every load, and checks a few messages of each.
func dial(ctx context.Context, o Options, self *probe.Account, order control.Dial) (loads []agent.Load, err error) {
	if order.Broker == nil {
		return nil, errors.New("the order to connect has no message broker")
	}
	config := broker.Config{
		Addresses: strings.Split(order.Address, ","),
		Durability: broker.Durability(
			order.Broker.Durability,
		),
		Variant:   order.Broker.Variant,
		Ephemeral: order.Broker.Ephemeral,
	}
	d := &dialled{
		options: o,
		seeds:   rand.New(rand.NewPCG(order.Seed, 0x6d657373)), // the second word separates this use of the seed
		reading: Reading{Protocol: order.Protocol, Config: config},
	}
	for i, l := range order.Loads {
		p := &prepared{
			dialled: d, Meter: agent.Meter{Self: self}, what: l.Messages,
			stage: newStage(order.Broker.Stage),
		}
		loads = append(loads, p)
		if err = p.connect(ctx, order, config, l); err == nil {
			err = p.golden(ctx)
		}
		if err != nil {
			return loads, underLoad(i, len(order.Loads), err)
		}
	}
	return loads, nil
}

// connect opens the publishers of a load.
func (p *prepared) connect(ctx context.Context, order control.Dial, config broker.Config, l control.Load) (err error) {
	sockets := &probe.Sockets{}
	p.Traffic = sockets.Count
	p.Plan = load.Plan{
		Schedule: l.Schedule,
		Deadline: time.Duration(order.Deadline),
		Classify: classify,
		Cause:    agent.Cause,
		Tell:     fault.Text,
		Own:      order.Own,
	}
	config.Connect = sockets.Connect
	if p.broker, err = p.options.Open(ctx, order.Protocol, config); err != nil {
		return err
	}
	connections := min(max(l.Connections, 1), l.InFlight)
	for i := range connections {
		publisher, err := p.broker.Publisher(ctx,
			broker.PublisherConfig{MaxInFlight: width(l.InFlight, connections, i)})
		if err != nil {
			return err
		}
		p.publishers = append(p.publishers, publisher)
	}
	p.lines = newLines(p.publishers, l.InFlight, p.Plan.Deadline)
	p.Runner = load.NewLinesRunner(p.lines)
	return nil
}

// seed returns a seed that no other run of the order has.
func (d *dialled) seed() uint64 {
	d.made++
	return d.seeds.Uint64() + d.made
}

// patience is how long drain waits for missing messages while none arrives.
func (d *dialled) patience(what control.Messages) time.Duration {
	switch {
	case d.options.Patience > 0:
		return d.options.Patience
	case plan.Load{Scenario: what.Scenario}.Fails(), what.Scenario == plan.Crash:
		return patienceFailed
	}
	return patienceUsual + time.Duration(what.Delay)
}

// live begins a run whose readers read from the start, whatever the load's scenario. If it returns a run together
// with an error, the caller must still end the run.
func (p *prepared) live(ctx context.Context) (*run, error) {
	what := p.what
	what.Scenario, what.Delay = plan.Live, 0
	r, err := begin(ctx, p.broker, p.lines, what, p.seed())
	if err != nil {
		return nil, err
	}
	return r, r.readAll(ctx)
}

// golden sends and checks a few messages, one after the other.
func (p *prepared) golden(ctx context.Context) error {
	r, err := p.live(ctx)
	if r == nil {
		return err
	}
	r.opens(r.clock.Now(), r.clock.Now()+int64(time.Hour))
	for i := 0; i < goldenSends && err == nil; i++ {
		sending, cancel := context.WithTimeout(ctx, max(p.Plan.Deadline, time.Second))
		if err = p.lines.one(sending); err != nil {
			err = fmt.Errorf("one of the first messages was not accepted: %w", err)
		}
		cancel()
	}
	if err == nil {
		err = r.drain(ctx, p.patience(r.load))
	}
	if err == nil {
		if a := r.ledger.Account(); a.Faults() > 0 {
			err = fmt.Errorf("of the first %[2]d messages %[1]d went wrong: %[3]s", a.Faults(), a.Sent, wrong(a))
		}
	}
	return errors.Join(err, r.over(ctx, p.lines))
}

// wrong lists the faults that occurred: "2 missing, 1 reordered".
func wrong(a account.Account) string {
	return a.FaultWords(func(n uint64, of result.MessageCounter) string { return fmt.Sprintf("%d %s", n, of.Name) })
}

// Warm implements [agent.Load].
func (p *prepared) Warm(ctx context.Context, order control.Warm, served agent.Served) (warmth *load.Warmth, err error) {
	r, err := p.live(ctx)
	if r == nil {
		return nil, err
	}
	if err == nil {
		warmth, err = p.Meter.Warm(ctx, order, served)
		err = errors.Join(err, r.drain(ctx, p.patience(r.load)))
	}
	return warmth, errors.Join(err, r.over(ctx, p.lines))
}

// Slice implements [agent.Load].
func (p *prepared) Slice(ctx context.Context, order control.Slice) (*control.Measured, error) {
	r, err := begin(ctx, p.broker, p.lines, p.what, p.seed())
	if err != nil {
		return nil, err
	}
	measured, err := p.measure(ctx, r, order)
	if err = errors.Join(err, r.over(ctx, p.lines)); err != nil {
		return nil, err
	}
	return measured, nil
}

func (p *prepared) measure(ctx context.Context, r *run, order control.Slice) (*control.Measured, error) {
	if err := p.attend(ctx, r); err != nil {
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
	go func() { // received from over below in every case
		done, err := p.play(playing, r)
		r.fail(err)
		over <- played{done, err}
	}()
	measured, err := p.Meter.Slice(ctx, order)
	if err != nil {
		stop()
	}
	scene := <-over
	stop()
	// A run that failed is not drained: that could take as long as the patience.
	if err == nil && scene.err == nil {
		err = p.readOut(ctx, r)
	}
	use, useErr := watching.over(ctx)
	if err = errors.Join(err, scene.err, useErr, r.err()); err != nil {
		return nil, err
	}
	m := r.measured(p.lines, watching)
	m.Broker, m.Done = use, scene.done
	measured.Messages = m
	measured.Calls = m.Sent // the broker's costs are divided by messages, not by sends
	return measured, nil
}

// readOut reads the remaining messages after the last send.
func (p *prepared) readOut(ctx context.Context, r *run) error {
	if err := r.readAll(ctx); err != nil {
		return err
	}
	return r.drain(ctx, p.patience(r.load))
}

// Close implements [agent.Load]. It also closes a load that was connected only in part.
func (p *prepared) Close() (all error) {
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
	return all
}

// underLoad adds to an error which of several loads it concerns.
func underLoad(i, of int, err error) error {
	if of == 1 {
		return err
	}
	return fmt.Errorf("load %d of %d: %w", i+1, of, err)
}
