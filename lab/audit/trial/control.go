package trial

import (
	"context"
	"math"
	"sync"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/internal/process"
	"wirelab/lab/audit"
	"wirelab/lab/control"
	"wirelab/lab/inject"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/target"
)

// controlRate is the control client's rate in calls per second: few enough not to disturb the tool, and enough for a
// 95th percentile within some seconds.
const controlRate = 20

// controlClient is the control client: a driver of wirelab that calls the audited service at the same time as the tool.
// Its result distinguishes a slow machine from a slow tool.
type controlClient struct {
	driver *target.Process
	slice  time.Duration
	stop   context.CancelFunc
	watch  sync.WaitGroup

	recording *load.Recording // the goroutine's, until it has ended
	err       error           // the goroutine's too
}

// beginControl starts a control client. A slice lasts a whole period of the service, so that the distribution holds in
// it.
func beginControl(ctx context.Context, program string, cell wirelab.Cell, ready control.Ready,
	truth inject.Truth,
) (*controlClient, error) {
	driver, err := target.Start(ctx, process.Command{Name: "witness", Path: program, Args: []string{"drive"}})
	if err != nil {
		return nil, err
	}
	longest := truth.Quantile(0.999).Seconds()
	inFlight := int(math.Ceil(controlRate*longest)) + 4
	connections := inFlight
	if cell.Protocol.Multiplexed {
		connections = 1
	}
	_, err = driver.Ask(ctx, control.Order{Dial: &control.Dial{
		Workload: cell.Workload, Protocol: cell.Protocol.Name,
		Address: ready.Address, Authority: ready.Authority, Seed: 1,
		Deadline: plan.Duration(time.Minute),
		Loads: []control.Load{{
			Operation: "GetFeature", InFlight: inFlight, Connections: connections,
			Schedule: load.ConstantRate(controlRate),
		}},
	}})
	if err != nil {
		driver.Kill()
		return nil, fault.Both(err, driver.Stop())
	}
	w := &controlClient{driver: driver, slice: max(truth.Period(), time.Second), recording: load.NewRecording()}
	ctx, w.stop = context.WithCancel(ctx)
	w.watch.Go(func() { w.err = w.call(ctx) })
	return w, nil
}

// call measures slice after slice until ctx is done.
func (w *controlClient) call(ctx context.Context) error {
	for {
		reply, err := w.driver.Ask(ctx, control.Order{Slice: &control.Slice{For: plan.Duration(w.slice)}})
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was cancelled
		}
		if err != nil {
			return err
		}
		w.recording.Append(reply.Slice.Recording)
	}
}

// end stops the control client and returns what it measured in whole slices, nil if there were none. It cancels the
// slice in progress rather than wait for it.
func (w *controlClient) end() (*audit.Report, error) {
	w.stop()
	w.watch.Wait()
	w.driver.Kill()     // an error here only says that it was killed
	_ = w.driver.Stop() // it was killed
	r := w.recording
	if w.err != nil || r.OK == 0 {
		return nil, w.err
	}
	failed := r.Sent - r.OK
	mean := time.Duration(r.Response.Mean())
	report := &audit.Report{
		Count: &r.Sent, Errors: &failed, Elapsed: &r.Window, Mean: &mean,
		Quantiles: map[audit.Level]time.Duration{},
	}
	for _, l := range audit.Levels() {
		// A single sample above a level is not enough to determine it.
		if above := float64(r.OK) * (1 - l.Share()); above >= 2 {
			report.Quantiles[l] = time.Duration(r.Response.Quantile(l.Share()))
		}
	}
	return report, nil
}
