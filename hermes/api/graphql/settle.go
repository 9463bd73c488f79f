package graphql

import (
	"context"

	"wirelab/hermes/api/graphql/gen"
	"wirelab/hermes/api/register"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/wire/graphql"
	"wirelab/wire/status"
)

// rangesLimit is how many ranges one acknowledgement may have, as at every API.
const rangesLimit = 4096

// settling finds the feed of an acknowledgement. Only the node that delivers has it.
func (d *api) settling(ctx context.Context, id string, in []*gen.RangeInput) (broker.Feed, []broker.Range, error) {
	switch {
	case len(in) == 0:
		return nil, nil, status.Errorf(status.InvalidArgument, "there are no ranges")
	case len(in) > rangesLimit:
		return nil, nil, status.Errorf(status.InvalidArgument, "%d ranges at once; at most %d are allowed", len(in),
			rangesLimit)
	}
	var ranges []broker.Range
	for _, r := range in {
		if r.First > r.Last {
			return nil, nil, status.Errorf(status.InvalidArgument, "a range from %d to %d is none: both are inclusive",
				r.First, r.Last)
		}
		ranges = append(ranges, broker.Range{First: r.First, Last: r.Last})
	}
	feed, group, ok := d.open.Find(id)
	switch {
	case !ok:
		return nil, nil, d.elsewhere(ctx, id)
	case !group:
		return nil, nil, status.Errorf(status.InvalidArgument,
			"the subscription has no group: there is nothing to acknowledge")
	}
	return feed, ranges, nil
}

// lateKey is the key in an error's extensions of what of an acknowledgement came too late.
const lateKey = "late"

// nodeKey is the key in an error's extensions of the HTTP address at which the requested part can be had.
const nodeKey = "node"

// elsewhere is why a subscription is not here: another node delivers it, and is named; or it is over. It is not
// handed on, since nodes do not speak to each other's APIs.
func (d *api) elsewhere(ctx context.Context, id string) error {
	at, err := register.Elsewhere(ctx, d.broker, id)
	if err != nil {
		return graphql.Told(err)
	}
	return graphql.Noted(register.ErrElsewhere(at), map[string]string{nodeKey: at.HTTP})
}

func (r mutation) Ack(ctx context.Context, subscription string, in []*gen.RangeInput) (bool, error) {
	feed, ranges, err := r.settling(ctx, subscription, in)
	if err != nil {
		return false, err
	}
	var late []broker.Range // done keeps only the part of an error that callers may see
	acked, err := done(ctx, func(ctx context.Context) error {
		err := feed.Ack(ctx, ranges)
		late, _ = broker.Late(err)
		return register.Gone(ctx, err)
	})
	if len(late) > 0 {
		err = graphql.Noted(err, map[string]string{lateKey: spelling.Ranges(late)})
	}
	return acked, err
}

func (r mutation) Nack(ctx context.Context, subscription string, in []*gen.RangeInput, reason,
	delay string,
) (bool, error) {
	feed, ranges, err := r.settling(ctx, subscription, in)
	if err != nil {
		return false, err
	}
	after, err := spelling.Duration("delay", delay)
	if err != nil {
		return false, err
	}
	return done(ctx, func(ctx context.Context) error {
		return register.Gone(ctx, feed.Nack(ctx, ranges, reason, after))
	})
}
