package experiment_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wirelab/lab/control"
	"wirelab/lab/experiment"
	"wirelab/lab/load"
	"wirelab/lab/plan"
	"wirelab/lab/result"
)

// paced is a bench whose servers take a fixed time for a call: orders last as long as their calls, in virtual time.
type paced struct {
	*simulated
	call  time.Duration
	stuck string // "dial" or "warm": an order that never ends
	asked []control.Slice
}

func (b *paced) Driver(ctx context.Context, arm plan.Arm) (experiment.Child, error) {
	c, err := b.simulated.Driver(ctx, arm)
	return &pacedChild{Child: c, bench: b}, err
}

type pacedChild struct {
	experiment.Child
	bench *paced
}

func (c *pacedChild) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	b, lasts, reply := c.bench, time.Duration(0), control.Reply{}
	switch {
	case order.Dial != nil:
		lasts, reply.Dialled = 5*time.Second+b.call, &control.Dialled{Pace: plan.Duration(b.call)}
		if b.stuck == "dial" {
			lasts = 24 * time.Hour
		}
	case order.Warm != nil:
		lasts = 40 * (b.call + 10*time.Millisecond)
		if b.stuck == "warm" {
			lasts = 24 * time.Hour
		}
		if limit := time.Duration(order.Warm.Limit); lasts > limit && b.stuck == "" {
			return reply, errors.New("warm-up not over within " + limit.String())
		}
		reply.Warm = &load.Warmth{Steady: true, Median: []float64{float64(b.call)}}
	case order.Slice != nil:
		b.asked = append(b.asked, *order.Slice)
		lasts = time.Duration(order.Slice.For) + b.call
		rec := busy(1, time.Duration(order.Slice.For))
		if order.Slice.Whole {
			rec = busy(1/b.call.Seconds(), b.call)
		}
		reply.Slice = &control.Measured{Recording: rec}
	}
	select {
	case <-time.After(lasts):
		return reply, nil
	case <-ctx.Done():
		return control.Reply{}, context.Cause(ctx)
	}
}

// pacedRun runs a round of a plan with these loads against such servers.
func pacedRun(t *testing.T, b *paced, loads ...plan.Load) (r *result.Result, err error) {
	t.Helper()
	b.simulated = &simulated{rates: map[string]float64{"a": 1}}
	synctest.Test(t, func(t *testing.T) {
		c := searcher(t, b.simulated, 1, "a")
		c.Plan.Loads, c.Plan.Slice, c.Bench = loads, plan.Duration(time.Second), b
		c.Plan.Rounds = plan.Rounds{Min: 1, Max: 1}
		r, err = c.Run(t.Context())
	})
	return r, err
}

// A service of any pace gets the time that its calls take, and slices in which they fit.
func TestBudgetsFollowTheService(t *testing.T) {
	t.Parallel()
	for _, call := range []time.Duration{time.Millisecond, 150 * time.Millisecond, 2 * time.Second, 8 * time.Second} {
		b := &paced{call: call}
		r, err := pacedRun(t, b, plan.Load{InFlight: 300}, plan.Load{InFlight: 256, Rate: 50, Arrivals: plan.Poisson})
		if err != nil {
			t.Errorf("%v a call: %v", call, err)
			continue
		}
		for _, f := range r.Rounds[0].Failures {
			t.Errorf("%v a call: %s", call, f.Why)
		}
		for _, s := range b.asked {
			if s.Load == 0 && s.Whole != (call > 100*time.Millisecond) {
				t.Errorf("%v a call: whole %v in a slice of %v", call, s.Whole, s.For)
			}
			if s.Load == 1 && (time.Duration(s.Head) < call || s.For-s.Head != plan.Duration(900*time.Millisecond)) {
				t.Errorf("%v a call: a head of %v in %v", call, s.Head, s.For)
			}
		}
	}
}

// A step that is not over in time is named in the error.
func TestWhatWasWaitedFor(t *testing.T) {
	t.Parallel()
	for stuck, want := range map[string]string{
		"dial": "connections not open and first calls not answered within",
		"warm": "warm-up not over within",
	} {
		r, err := pacedRun(t, &paced{call: time.Second, stuck: stuck}, plan.Load{InFlight: 1})
		if err == nil && len(r.Rounds) > 0 && len(r.Rounds[0].Failures) > 0 {
			err = errors.New(r.Rounds[0].Failures[0].Why)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", stuck, err, want)
		}
	}
}
