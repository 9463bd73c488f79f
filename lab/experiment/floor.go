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

// floorSlice is the most of a floor that is recorded: its median is all that
// is wanted of it, and it must not cost an experiment its time.
const floorSlice = plan.Duration(500 * time.Millisecond)

// floors puts every arm's driver once before a server that does nothing, in
// random order: what it shows there is the client's and the kernel's, and no
// server can show less (docs/concepts/checks.md).
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

// floor measures the floors of one arm. The null responder lives no longer
// than that, so that nothing but servers and drivers is there for the slices.
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
	relay, err := w.between(ctx, a, &reach) // the floor is that of the network too
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

// floorLoads are what is asked of a null responder, and which of them each load's is.
// Loads that differ in nothing such a server sees share their floor: messages of one pace, whatever the scenario.
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

// end ends a child that an arm had for a time.
func (a *armRun) end(child Child) error {
	if used, err := child.CPU(); err == nil {
		a.cpu += used
	}
	return child.Stop()
}

// floorOrder is a slice of a floor: in the closed loop as long again as a
// slice, the first half to warm up; in the open loop no longer than floorSlice.
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

// Floorless tells why an arm of a protocol has no floor; "" if it has one.
// null is whether a null responder speaks its protocol.
func Floorless(arm plan.Arm, null bool) string {
	if !null {
		return "no null responder speaks " + arm.Protocol
	}
	return ""
}
