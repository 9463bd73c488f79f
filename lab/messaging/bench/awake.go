package bench

import (
	"context"
	"errors"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
)

// awake is a driver with an idle spinner on its cores: a process that runs only when no other process would. An idle
// virtual processor wakes some hundred microseconds late. That would count as the broker's time, or make the generator
// late.
type awake struct {
	experiment.Child
	spinner experiment.Child
}

// keepAwake starts an idle spinner next to a driver that has separate cores. Without separate cores the spinner would
// only take time from the brokers.
func (b *Bench) keepAwake(ctx context.Context, driver experiment.Child) (experiment.Child, error) {
	on := b.Placement().DriverCPUs
	if on == nil || b.programs.Spinner == nil {
		return driver, nil
	}
	spinner, err := b.Start(ctx, "idle spinner of the driver", b.programs.Spinner, on)
	if err != nil {
		return nil, errors.Join(err, driver.Stop())
	}
	return &awake{driver, spinner}, nil
}

// Ask implements [experiment.Child]. The spinner's CPU time on the driver's cores is not that of other programs.
func (a *awake) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	if order.Slice == nil {
		return a.Child.Ask(ctx, order)
	}
	before, err := a.spinner.CPU()
	if err != nil {
		return control.Reply{}, err
	}
	reply, err := a.Child.Ask(ctx, order)
	if err != nil || reply.Slice == nil {
		return reply, err
	}
	after, err := a.spinner.CPU()
	reply.Slice.Usage.Others = max(0, reply.Slice.Usage.Others-plan.Duration(after-before))
	return reply, err
}

// CPU implements [experiment.Child].
func (a *awake) CPU() (time.Duration, error) {
	used, err := a.Child.CPU()
	kept, errKept := a.spinner.CPU()
	return used + kept, errors.Join(err, errKept)
}

// Kill implements [experiment.Child].
func (a *awake) Kill() {
	a.Child.Kill()
	a.spinner.Kill()
}

// Stop implements [experiment.Child].
func (a *awake) Stop() error { return errors.Join(a.Child.Stop(), a.spinner.Stop()) }
