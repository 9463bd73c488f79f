package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// floorSlice limits how much of a floor is recorded: only its median is needed, and it must not use up the experiment's
// time.
const floorSlice = plan.Duration(500 * time.Millisecond)

// floors drives a server that does nothing with every arm's driver, once, in random order. Its figures are the cost of
// the client and the kernel, and no server can be below them (docs/concepts/checks.md).
func (w *round) floors(ctx context.Context) {
	if w.c.Plan.Floor != plan.FloorAuto {
		return
	}
	w.shuffle(w.arms)
	for _, a := range w.arms {
		if a.failed == nil && ctx.Err() == nil && w.result.Arms[a.index].Floorless == "" {
			w.tell(Grounding, a, -1)
			a.failed = w.floor(ctx, a)
		}
	}
}

// floor measures the floors of one arm. The null responder ends with it, so that only servers and drivers run during
// the slices.
func (w *round) floor(ctx context.Context, a *armRun) (err error) {
	patience := 2 * w.c.patience()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("floor not measured within %v", patience))
	defer cancel()
	null, err := w.c.Bench.Null(ctx, a.plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.end(null)) }()
	reach := null.Ready()
	relay, err := w.between(ctx, a, &reach) // the floor includes the network
	if err != nil {
		return err
	}
	if relay != nil {
		defer func() { err = errors.Join(err, a.end(relay)) }()
	}
	loads, of := floorLoads(w.c.Plan)
	if _, err := w.connect(ctx, a, reach, loads, false); err != nil {
		return fmt.Errorf("before the null responder: %w", err)
	}
	var floors []*result.Floor
	for i, l := range loads {
		reply, err := a.driver.Ask(ctx, control.Order{Slice: floorOrder(w.c.Plan, l, len(w.c.Plan.Loads)+i, w.seed)})
		if err != nil {
			return fmt.Errorf("before the null responder: %w", err)
		}
		m := reply.Slice
		floors = append(floors, &result.Floor{
			Window: plan.Duration(m.Recording.Window), Completed: m.Recording.CompletedInWindow,
			Service: m.Recording.Service, DriverCPU: m.Usage.CPU, Calls: m.Calls,
		})
	}
	for i := range a.trials {
		a.trials[i].Floor = floors[of[i]]
	}
	_, err = a.driver.Ask(ctx, control.Order{Leave: &struct{}{}})
	return err
}

// floorLoads returns the loads for a null responder, and for each load of the plan the index of its floor among them.
// Loads that look the same to such a server share a floor: messages at one pace, whatever the scenario.
func floorLoads(p plan.Plan) (asked []plan.Load, of []int) {
	for i, l := range p.Loads {
		at := i
		if floor := kinds.Of(l).Run.Floor; floor != nil {
			l = floor(l)
			at = slices.IndexFunc(asked, func(other plan.Load) bool {
				return p.OperationOf(other) == p.OperationOf(l) && other.Pace() == l.Pace() &&
					other.InFlight == l.InFlight && other.Size == l.Size
			})
		}
		if at < 0 || at == len(asked) {
			at, asked = len(asked), append(asked, l)
		}
		of = append(of, at)
	}
	return asked, of
}

// end stops a child that an arm had for a time, and counts its CPU time.
func (a *armRun) end(child Child) error {
	if used, err := child.CPU(); err == nil {
		a.cpu += used
	}
	return child.Stop()
}

// floorOrder returns the slice of a floor. In the closed loop it is twice as long as a slice, with the first half for
// warming up. In the open loop it is at most floorSlice long.
func floorOrder(p plan.Plan, l plan.Load, number int, seed uint64) *control.Slice {
	order := &control.Slice{Load: number, Seed: seed}
	if l.Open() {
		order.For = min(p.SliceOf(l), floorSlice)
		order.Head = order.For / headShare
		return order
	}
	length := min(p.SliceOf(l), floorSlice)
	order.For, order.Head = 2*length, length
	return order
}

// Floorless says why an arm of a protocol has no floor; "" if it has one. null says whether a null responder speaks its
// protocol.
func Floorless(arm plan.Arm, null bool) string {
	if !null {
		return "no null responder speaks " + arm.Protocol
	}
	return ""
}
