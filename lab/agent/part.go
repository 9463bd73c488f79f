package agent

import (
	"context"
	"io"

	"wirelab/lab/control"
	"wirelab/lab/probe"
)

// Part does the work of a part of a pipeline and carries out the orders of who
// started it until in ends, ctx ends or the work does, which must not end by
// itself. Everything it started has ended when it returns.
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
