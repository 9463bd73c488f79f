package agent

import (
	"context"
	"math/rand/v2"

	"wirelab"
	"wirelab/lab/control"
)

// describedRequests are how many requests of a client are remembered: as many as a series of our own has.
const describedRequests = 256

// describe makes of a cell, whose client shows what it sends, one of a service that is not ours: it sends the same, and
// knows of the replies only what the first ones were.
func describe(
	ctx context.Context, find Finder, cell wirelab.Cell, to wirelab.Dialing, order control.Dial,
) (wirelab.Cell, error) {
	seeds := rand.New(rand.NewPCG(order.Seed, 0x6465736372696265)) // the second word separates this use of the seed
	order.Seen = map[string][]control.Seen{}
	for i, l := range order.Loads {
		if _, known := order.Seen[l.Operation]; known {
			continue
		}
		seen, _, err := watch(ctx, cell, to, order, l, seeds, describedRequests)
		if err != nil {
			return cell, underLoad(i, len(order.Loads), err)
		}
		all := make([]control.Seen, 0, len(seen))
		for _, r := range seen {
			all = append(all, control.Seen{
				Method: r.Method, URL: r.URL, Header: r.Header, Body: r.Body, HTTP2: r.HTTP2, Schema: r.Schema,
			})
		}
		order.Seen[l.Operation] = all
	}
	return find(order)
}
