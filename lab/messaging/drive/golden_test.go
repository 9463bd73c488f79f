package drive_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"wirelab/broker"
	"wirelab/broker/memory"
	"wirelab/lab/control"
	"wirelab/lab/plan"
)

// repeats is a broker that delivers every eighth message twice.
type repeats struct {
	broker.Broker
	count atomic.Uint64
}

func (r *repeats) Subscribe(
	ctx context.Context,
	s broker.Subscription,
	handle broker.Handler,
) (broker.Subscriber, error) {
	return r.Broker.Subscribe(ctx, s, func(ctx context.Context, d broker.Delivery) broker.Disposition {
		if r.count.Add(1)%8 == 0 {
			handle(ctx, d)
		}
		return handle(ctx, d)
	})
}

// The error names the faults that occurred, and no others.
func TestFaultsBeforeTheWarmUpAreNamed(t *testing.T) {
	t.Parallel()
	c := drives(t, opens(&repeats{Broker: memory.New()}))
	r := c.ask(control.Order{Dial: dialled(control.Messages{Scenario: plan.Live, Size: 64, Batch: 1, Groups: 1}, 0)})
	if want := "of the first 16 messages 2 went wrong: 2 duplicated"; !strings.HasSuffix(r.Error, want) {
		t.Errorf("%q, want %q", r.Error, want)
	}
}
