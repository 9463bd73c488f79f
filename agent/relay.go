package agent

import (
	"context"
	"errors"
	"io"

	"wirelab/control"
	"wirelab/network/relay"
	"wirelab/probe"
	"wirelab/result"
)

// Relay relays and carries out a conductor's orders until in ends, ctx ends or
// the relay fails. Everything it started has ended when it returns.
func Relay(ctx context.Context, r *relay.Relay, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ran := make(chan error, 1)
	go func() {
		ran <- r.Run(ctx)
		close(ran)
	}()
	// The orders' reader ends with in, as that of [Serve] does.
	told := make(chan error, 1)
	go func() { told <- relayOrders(r, in, out) }()
	select {
	case err := <-ran:
		if err == nil && ctx.Err() == nil {
			err = errors.New("relay stopped by itself")
		}
		return err
	case err := <-told:
		stop()
		return errors.Join(err, <-ran)
	case <-ctx.Done():
		return <-ran
	}
}

func relayOrders(r *relay.Relay, in io.Reader, out io.Writer) error {
	if err := control.Write(out, control.Reply{Ready: &control.Ready{Address: r.Address()}}); err != nil {
		return err
	}
	orders, self := control.NewReader[control.Order](in), probe.NewAccount()
	before := r.Stats()
	for {
		order, err := orders.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		reply := control.Reply{Error: "a relay knows the orders usage and relayed only"}
		switch {
		case order.Usage != nil:
			reply = usage(self)
		case order.Relayed != nil:
			now := r.Stats()
			since := now.Since(before)
			before = now
			reply = control.Reply{Relayed: &result.Relayed{
				Forwarded: since.Forwarded, Dropped: since.Dropped,
				LateP50: since.Late.Quantile(0.5), LateP99: since.Late.Quantile(0.99),
			}}
		}
		if err := control.Write(out, reply); err != nil {
			return err
		}
	}
}
