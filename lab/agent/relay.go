package agent

import (
	"context"
	"io"

	"wirelab/lab/control"
	"wirelab/lab/network/relay"
	"wirelab/lab/probe"
	"wirelab/lab/result"
)

// Relay runs a relay and carries out a runner's orders until in ends, ctx is done or the relay fails. It returns after
// everything that it started has ended.
func Relay(ctx context.Context, r *relay.Relay, in io.Reader, out io.Writer) error {
	self, before := probe.NewAccount(), r.Stats()
	return attend(ctx, "relay", r.Run, control.Ready{Address: r.Address()}, in, out,
		func(order control.Order) control.Reply {
			switch {
			case order.Usage != nil:
				return usage(self)
			case order.Relayed != nil:
				now := r.Stats()
				since := now.Since(before)
				before = now
				return control.Reply{Relayed: &result.Relayed{
					Forwarded: since.Forwarded, Dropped: since.Dropped,
					LateP50: since.Late.Quantile(0.5), LateP99: since.Late.Quantile(0.99),
				}}
			}
			return control.Reply{Error: "a relay knows the orders usage and relayed only"}
		})
}
