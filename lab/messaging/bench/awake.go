package bench

import (
	"context"
	"errors"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/plan"
)

// awake is a driver whose cores a process beside it keeps from idling: one that runs
// only where nobody else would. An idle virtual processor comes back some hundred
// microseconds late, which would be taken for the broker's time, or make the
// generator late.
type awake struct {
	experiment.Child
	spinner experiment.Child
}

// keepAwake starts a keeper beside a driver that has cores of its own; else the keeper
// would only wear out the brokers'.
func (b *Bench) keepAwake(ctx context.Context, driver experiment.Child) (experiment.Child, error) {
	on := b.Placement().DriverCPUs
	if on == nil || b.programs.Spinner == nil {
		return driver, nil
	}
	spinner, err := b.Start(ctx, "keeper beside the driver", b.programs.Spinner, on)
	if err != nil {
		return nil, errors.Join(err, driver.Stop())
	}
	return &awake{driver, spinner}, nil
}

// Ask implements [experiment.Child]: what the keeper used of the driver's cores is not
// others'.
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
