package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"wirelab/internal/fault"
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
)

// Load is a load that a driver has connected.
type Load interface {
	// Warm warms it up. served returns what the server has used so far; nil: it is unknown.
	Warm(ctx context.Context, order control.Warm, served Served) (*load.Warmth, error)
	// Slice measures one slice of it.
	Slice(ctx context.Context, order control.Slice) (*control.Measured, error)
	io.Closer
}

// Served returns the CPU time that a server has used so far.
type Served = func(context.Context) (time.Duration, error)

// Pacer is a load that has made calls and knows how long one takes.
type Pacer interface{ Pace() time.Duration }

// Secured is a load that knows which TLS versions its connections negotiated.
type Secured interface{ TLS() []string }

// Meeter is a load that knows which addresses of a target its connections reached.
type Meeter interface{ Met() []string }

// Learner is a load that knows the replies to its first calls; see [control.Dialled].
type Learner interface{ Learnt() []string }

// Dial connects the loads of an order and checks that their calls are answered correctly. Loads that it returns
// together with an error are closed like all others.
type Dial func(ctx context.Context, order control.Dial) ([]Load, error)

// Obey is the driver's side of the control protocol. It carries out a runner's orders, with loads that dial connects,
// until in ends or ctx is done. If in ends while an order is carried out, the order is cancelled: the runner is gone,
// and a slice of a capacity search may last minutes. self is the driver's account.
func Obey(ctx context.Context, self *probe.Account, dial Dial, in io.Reader, out io.Writer) (err error) {
	d := &driver{self: self, dial: dial}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := process.WriteLine(out, control.Reply{Ready: &control.Ready{}}); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	orders, read := make(chan control.Order), make(chan error, 1)
	// The reader ends when in ends, like that of [Serve].
	go func() {
		err := readOrders(ctx, in, orders)
		stop()
		close(orders)
		read <- err
	}()
	for order := range orders {
		if err := process.WriteLine(out, d.obey(ctx, order)); err != nil {
			return err
		}
	}
	return <-read
}

// readOrders sends the orders that it reads to a channel until in ends or ctx is done.
func readOrders(ctx context.Context, in io.Reader, orders chan<- control.Order) error {
	reader := process.NewReader[control.Order](in)
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

// driver holds what the dial orders opened.
type driver struct {
	self  *probe.Account
	dial  Dial
	loads []Load
	dials []int // how many loads there were before each dial
	warm  *warmUp
}

func (d *driver) obey(ctx context.Context, order control.Order) control.Reply {
	var reply control.Reply
	var err error
	if order.Warm == nil {
		d.giveUp()
	}
	switch {
	case order.Usage != nil:
		return usage(d.self)
	case order.Dial != nil:
		var loads []Load
		loads, err = d.dial(ctx, *order.Dial)
		d.dials, d.loads = append(d.dials, len(d.loads)), append(d.loads, loads...)
		reply.Dialled = &control.Dialled{
			Pace: plan.Duration(pace(loads)), TLS: told(loads, Secured.TLS),
			Learnt: told(loads, Learner.Learnt),
		}
	case order.Leave != nil:
		err = d.leave()
	case order.Warm != nil:
		var l Load
		if l, err = d.load(order.Warm.Load); err == nil {
			reply.Warm, err = d.warmed(ctx, l, *order.Warm)
		}
		if d.warm != nil {
			reply.Window = &struct{}{}
		}
	case order.Slice != nil:
		var l Load
		if l, err = d.load(order.Slice.Load); err == nil {
			if err = await(ctx, order.Slice.At); err == nil {
				reply.Slice, err = l.Slice(ctx, *order.Slice)
			}
		}
	default:
		err = errors.New("an empty order")
	}
	if err != nil {
		return control.Reply{Error: fault.Text(err)} // the type of an error does not cross the pipe
	}
	reply.Met = told(d.loads, Meeter.Met) // connections may be opened by any of the orders
	return reply
}

// aheadMost is how far ahead a slice may be ordered: more is a clock that is wrong.
const aheadMost = 10 * time.Second

// await waits for a moment by this machine's clock, in ns since 1970; 0: there is none. One that has passed is not
// waited for: the slice then begins late, which the runner sees.
func await(ctx context.Context, at int64) error {
	if at == 0 {
		return nil
	}
	left := time.Until(time.Unix(0, at))
	if left > aheadMost {
		return fmt.Errorf("a slice is to begin in %v: the clocks of runner and driver do not agree", left)
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// told returns what the loads of one kind report, sorted, each value once.
func told[L any](loads []Load, tell func(L) []string) (all []string) {
	for _, l := range loads {
		if one, ok := l.(L); ok {
			all = append(all, tell(one)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// pace returns how long a call of the slowest load takes.
func pace(loads []Load) (most time.Duration) {
	for _, l := range loads {
		if p, ok := l.(Pacer); ok {
			most = max(most, p.Pace())
		}
	}
	return most
}

func (d *driver) load(i int) (Load, error) {
	if i < 0 || i >= len(d.loads) {
		return nil, fmt.Errorf("no load %d; there are %d", i, len(d.loads))
	}
	return d.loads[i], nil
}

// leave closes what the last dial order opened.
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
	d.giveUp()
	err := closeAll(d.loads)
	d.loads, d.dials = nil, nil
	return err
}

func closeAll[C io.Closer](open []C) (all error) {
	for _, c := range open {
		all = errors.Join(all, c.Close())
	}
	return all
}
