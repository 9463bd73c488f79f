package agent

import (
	"context"
	"math/rand/v2"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/plan"
)

// drives is what a driver does under a load of one kind.
type drives interface {
	// check does the first of it, and looks whether it is done rightly, before anything is warmed up.
	check(ctx context.Context, p *prepared) error
	warm(ctx context.Context, p *prepared, order control.Warm, served Served) (*load.Warmth, error)
	slice(ctx context.Context, p *prepared, order control.Slice) (*control.Measured, error)
}

// preparer opens what a load needs, and says what is done under it.
type preparer func(ctx context.Context, cell wirelab.Cell, to wirelab.Dialing, order control.Dial, l control.Load,
	seeds *rand.Rand) (*prepared, error)

// preparers are those of the kinds of load that make no calls.
func preparers() map[plan.Kind]preparer {
	return map[plan.Kind]preparer{plan.Held: prepareFeeds}
}
