package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// roundTrips is how often a clock is read before and after a round, and sliceTrips before each slice.
const (
	roundTrips = 64
	sliceTrips = 8
)

// startMargin is how long before a slice begins its order is sent: it must have reached every driver by then.
const startMargin = 250 * time.Millisecond

// spreadMost is the part of a slice by which the starts of its drivers may lie apart.
const spreadMost = 0.01

// drivers are several drivers that are one to the runner.
type drivers struct {
	fleet  *Fleet
	all    []*child
	before []Clock // of the round
	warmed []*control.Reply
	within sync.Mutex // one order at a time
}

var _ experiment.Child = (*drivers)(nil)

// drive starts a driver on each host.
func (f *Fleet) drive(ctx context.Context, on []Info) (_ *drivers, err error) {
	d := &drivers{fleet: f, all: make([]*child, len(on))}
	failures := make([]error, len(on))
	var starting sync.WaitGroup
	for i, host := range on {
		starting.Go(func() { d.all[i], failures[i] = f.begin(ctx, host, Driver, nil) })
	}
	starting.Wait()
	if err = errors.Join(failures...); err == nil {
		d.before, err = f.clocks(ctx, d.hosts(), roundTrips)
	}
	if err != nil {
		d.all = slices.DeleteFunc(d.all, func(c *child) bool { return c == nil })
		d.Kill()
		return nil, err
	}
	return d, nil
}

func (d *drivers) hosts() (names []string) {
	for _, c := range d.all {
		names = append(names, c.host.Name)
	}
	return names
}

// Ready implements [experiment.Child].
func (d *drivers) Ready() control.Ready { return d.all[0].Ready() }

// each does something with every driver at once.
func (d *drivers) each(do func(i int, c *child) error) error {
	failures := make([]error, len(d.all))
	var doing sync.WaitGroup
	for i, c := range d.all {
		doing.Go(func() { failures[i] = do(i, c) })
	}
	doing.Wait()
	return errors.Join(failures...)
}

// Ask implements [experiment.Child].
func (d *drivers) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	d.within.Lock()
	defer d.within.Unlock()
	switch {
	case order.Warm != nil:
		return d.warm(ctx, order)
	case order.Slice != nil:
		return d.slice(ctx, *order.Slice)
	}
	replies := make([]control.Reply, len(d.all))
	err := d.each(func(i int, c *child) (err error) {
		own := order
		if order.Dial != nil {
			part, err := divide(*order.Dial, i, len(d.all))
			if err != nil {
				return err
			}
			own.Dial = &part
		}
		replies[i], err = c.Ask(ctx, own)
		return err
	})
	if err != nil {
		return control.Reply{}, err
	}
	return joinReplies(replies), nil
}

// joinReplies joins what drivers replied to an order that measures nothing.
func joinReplies(replies []control.Reply) (all control.Reply) {
	for i, r := range replies {
		all.Met = append(all.Met, r.Met...)
		if i == 0 {
			all.Usage, all.Dialled = r.Usage, r.Dialled
			continue
		}
		if all.Usage != nil && r.Usage != nil {
			probe.Add(all.Usage, *r.Usage)
		}
		if all.Dialled != nil && r.Dialled != nil {
			all.Dialled.Pace = max(all.Dialled.Pace, r.Dialled.Pace)
			all.Dialled.TLS = append(all.Dialled.TLS, r.Dialled.TLS...)
			all.Dialled.Learnt = append(all.Dialled.Learnt, r.Dialled.Learnt...)
		}
	}
	for _, list := range []*[]string{&all.Met} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if all.Dialled != nil {
		slices.Sort(all.Dialled.TLS)
		slices.Sort(all.Dialled.Learnt)
		all.Dialled.TLS, all.Dialled.Learnt = slices.Compact(all.Dialled.TLS), slices.Compact(all.Dialled.Learnt)
	}
	return all
}

// warm warms a load up on every driver. A driver that is steady before the others keeps its reply until they are too.
func (d *drivers) warm(ctx context.Context, order control.Order) (control.Reply, error) {
	if d.warmed == nil {
		d.warmed = make([]*control.Reply, len(d.all))
	}
	err := d.each(func(i int, c *child) error {
		if d.warmed[i] != nil {
			return nil
		}
		reply, err := c.Ask(ctx, order)
		if err == nil && reply.Window == nil {
			d.warmed[i] = &reply
		}
		return err
	})
	if err != nil {
		return control.Reply{}, err
	}
	if slices.Contains(d.warmed, nil) {
		return control.Reply{Window: &struct{}{}}, nil
	}
	all := control.Reply{Warm: &load.Warmth{Steady: true}}
	for _, r := range d.warmed {
		all.Met = append(all.Met, r.Met...)
		if r.Warm == nil {
			return control.Reply{}, errors.New("a driver was warmed up and does not tell how it went")
		}
		all.Warm.Steady = all.Warm.Steady && r.Warm.Steady
		all.Warm.Drifting = all.Warm.Drifting || r.Warm.Drifting
		if r.Warm.Took > all.Warm.Took {
			all.Warm.Took, all.Warm.Median = r.Warm.Took, r.Warm.Median
		}
	}
	d.warmed = nil
	return all, nil
}

// slice runs a slice on every driver, from one moment on, and joins what they measured.
func (d *drivers) slice(ctx context.Context, order control.Slice) (control.Reply, error) {
	clocks, err := d.fleet.clocks(ctx, d.hosts(), sliceTrips)
	if err != nil {
		return control.Reply{}, err
	}
	moment := time.Now().Add(startMargin)
	quiet := time.Duration(0)
	if length := time.Duration(order.For); length <= quietMost {
		quiet = startMargin + length
	}
	replies := make([]control.Reply, len(d.all))
	err = d.each(func(i int, c *child) (err error) {
		own := order
		own.Schedule = share(order.Schedule, i, len(d.all))
		own.At = moment.UnixNano() + int64(clocks[i].Offset)
		replies[i], err = c.ask(ctx, control.Order{Slice: &own}, quiet)
		if err == nil && replies[i].Slice == nil {
			err = fmt.Errorf("the driver on host %s measured nothing", c.host.Name)
		}
		return err
	})
	if err != nil {
		return control.Reply{}, err
	}
	return d.join(order, moment, clocks, replies)
}

// join joins the measurements of a slice. A driver that began too late or too early spoils it: the load was then not
// the one that was planned.
func (d *drivers) join(order control.Slice, moment time.Time, clocks []Clock, replies []control.Reply,
) (control.Reply, error) {
	joined := control.Reply{Slice: &control.Measured{Recording: load.NewRecording()}}
	to := joined.Slice
	most := time.Duration(spreadMost * float64(order.For))
	for i, r := range replies {
		m := r.Slice
		began := m.Recording.Began.Add(-clocks[i].Offset) // by our clock
		off := began.Sub(moment)
		if off.Abs()+clocks[i].Uncertainty > most && len(d.all) > 1 {
			return control.Reply{}, wirelab.Errorf(wirelab.Unavailable,
				"the driver on host %s began a slice %v off (its clock is known to ± %v), and may by %v, %s of the slice: "+
					"give longer slices (--slice), or quieter hosts", d.all[i].host.Name, off.Round(time.Microsecond),
				clocks[i].Uncertainty, most, percent(spreadMost))
		}
		joined.Met = append(joined.Met, r.Met...)
		to.Recording.Join(m.Recording)
		probe.Add(&to.Usage, m.Usage)
		to.Calls += m.Calls
		to.WireSent += m.WireSent
		to.Payload += m.Payload
		to.WireReceived += m.WireReceived
		to.Connections += m.Connections
		to.Open += m.Open
		to.Steps = result.AddSteps(to.Steps, m.Steps)
		to.Drivers = append(to.Drivers, result.DriverShare{
			Host: d.all[i].host.Name, Began: plan.Duration(off), Offset: plan.Duration(clocks[i].Offset),
			Uncertainty: plan.Duration(clocks[i].Uncertainty), RoundTrip: plan.Duration(clocks[i].RoundTrip),
			Planned: m.Recording.Planned, Sent: m.Recording.Sent, OK: m.Recording.OK, Late: m.Recording.Late,
			Unsent: m.Recording.Unsent, Usage: m.Usage, Response: m.Recording.Response, Service: m.Recording.Service,
			Lag: m.Recording.Lag, Wake: m.Recording.Wake,
		})
	}
	return joined, nil
}

// CPU implements [experiment.Child].
func (d *drivers) CPU() (sum time.Duration, err error) {
	for _, c := range d.all {
		used, err := c.CPU()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// Kill implements [experiment.Child].
func (d *drivers) Kill() {
	_ = d.each(func(_ int, c *child) error {
		c.Kill()
		return nil
	})
}

// Stop implements [experiment.Child]. The round fails where a clock was set in it: the drivers then did not begin as
// they seemed to.
func (d *drivers) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*Lease)
	defer cancel()
	after, err := d.fleet.clocks(ctx, d.hosts(), roundTrips)
	if err == nil {
		for i, c := range d.all {
			err = errors.Join(err, moved(c.host.Name, d.before[i], after[i]))
		}
	}
	return errors.Join(err, d.each(func(_ int, c *child) error { return c.Stop() }))
}
