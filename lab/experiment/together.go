package experiment

import (
	"context"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/result"
)

// Several is processes that work together, and that are one server of an arm: a pipeline, a cluster of brokers.
type Several interface {
	// CPU is what each has used so far, by name.
	CPU() (map[string]time.Duration, error)
	// Usage is what all have used so far, as far as they tell.
	Usage(ctx context.Context) (result.Usage, error)
	// Kill ends all at once; one that has ended already is no error. Stop ends all well and waits.
	Kill(ctx context.Context)
	Stop(ctx context.Context) error
}

// Together returns several processes as a child. ready is what the child says of itself, and limit how long it may
// take to end.
func Together(all Several, ready func() control.Ready, limit time.Duration) Parted {
	return &together{all, ready, limit}
}

type together struct {
	all   Several
	ready func() control.Ready
	limit time.Duration
}

func (t *together) Ready() control.Ready { return t.ready() }

// Ask implements [Child]. The processes have no common driver, so usage is all that they can be asked for.
func (t *together) Ask(ctx context.Context, order control.Order) (control.Reply, error) {
	if order.Usage == nil {
		return control.Reply{}, wirelab.Errorf(wirelab.Unimplemented,
			"a server of several processes knows the order usage only")
	}
	used, err := t.all.Usage(ctx)
	return control.Reply{Usage: &used}, err
}

func (t *together) CPU() (time.Duration, error) {
	parts, err := t.all.CPU()
	sum := time.Duration(0)
	for _, used := range parts {
		sum += used
	}
	return sum, err
}

func (t *together) Parts() (map[string]time.Duration, error) { return t.all.CPU() }

func (t *together) Kill() {
	ctx, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	t.all.Kill(ctx)
}

func (t *together) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), t.limit)
	defer cancel()
	return t.all.Stop(ctx)
}
