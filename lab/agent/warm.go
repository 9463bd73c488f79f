package agent

import (
	"context"
	"errors"
	"iter"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/load"
)

// warmUp is a warm-up under way that waits to be told what the server has used. It goes on
// only while it is told, on the goroutine that does so.
type warmUp struct {
	load   int
	served time.Duration // what it was told last
	next   func() (struct{}, bool)
	stop   func()
	warmth *load.Warmth // once it is over
	err    error
}

var errGivenUp = errors.New("the warm-up was given up")

// warmed warms a load up, as far as that goes without another word of what the server
// has used: d.warm is then what is left of it.
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
		told := true // with the order
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

// giveUp ends a warm-up that nobody goes on with.
func (d *driver) giveUp() {
	if d.warm != nil {
		d.warm.stop()
		d.warm = nil
	}
}
