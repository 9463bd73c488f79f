package agent

import (
	"context"
	"errors"
	"iter"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/load"
)

// warmUp is a warm-up that is suspended until the next order says what the server has used. It runs only during such an
// order, on the goroutine that carries the order out.
type warmUp struct {
	load   int
	served time.Duration // as the last order said
	next   func() (struct{}, bool)
	stop   func()
	warmth *load.Warmth // after the warm-up ended
	err    error
}

var errGivenUp = errors.New("the warm-up was given up")

// warmed runs the warm-up of a load until it ends, or until it needs to know again what the server has used. In that
// case d.warm holds the suspended warm-up and both results are nil.
func (d *driver) warmed(ctx context.Context, l Load, order control.Warm) (*load.Warmth, error) {
	if order.Served == nil {
		d.giveUp()
		return l.Warm(ctx, order, nil)
	}
	if d.warm != nil && d.warm.load != order.Load {
		d.giveUp()
	}
	if d.warm == nil {
		d.warm = beginWarm(ctx, l, order)
	}
	w := d.warm
	w.served = time.Duration(*order.Served)
	if _, waits := w.next(); waits {
		return nil, nil
	}
	d.warm = nil
	return w.warmth, w.err
}

func beginWarm(ctx context.Context, l Load, order control.Warm) *warmUp {
	w := &warmUp{load: order.Load}
	w.next, w.stop = iter.Pull(func(wait func(struct{}) bool) {
		told := true // the order brought the first value
		w.warmth, w.err = l.Warm(ctx, order, func(context.Context) (time.Duration, error) {
			if !told && !wait(struct{}{}) {
				return 0, errGivenUp
			}
			told = false
			return w.served, nil
		})
	})
	return w
}

// giveUp ends a suspended warm-up that no order will continue.
func (d *driver) giveUp() {
	if d.warm != nil {
		d.warm.stop()
		d.warm = nil
	}
}
