package agent

import (
	"context"
	"io"

	"wirelab/lab/control"
	"wirelab/lab/probe"
)

// Part runs a component of a pipeline and carries out the orders of its parent process until in ends, ctx is done or
// the work ends. The work must not end by itself. Part returns after everything that it started has ended.
func Part(
	ctx context.Context, name string, work func(context.Context) error, ready control.Ready, in io.Reader,
	out io.Writer,
) error {
	self := probe.NewAccount()
	return attend(ctx, name, work, ready, in, out, func(order control.Order) control.Reply {
		if order.Usage != nil {
			return usage(self)
		}
		return control.Reply{Error: "a part of a pipeline knows the order usage only"}
	})
}
