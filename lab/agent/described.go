package agent

import (
	"context"
	"math/rand/v2"

	"wirelab"
	"wirelab/lab/control"
)

// describedRequests is how many requests of a client are recorded: as many as a series of wirelab's own requests has.
const describedRequests = 256

// describe turns a cell whose client sends plain HTTP into a cell of an external service. The new cell sends the
// recorded requests, and checks replies only against the first replies.
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
