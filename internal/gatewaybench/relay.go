package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"wirelab"
	"wirelab/lab/agent"
	"wirelab/lab/control"

	"wirelab/workload/logging/bind"
)

// relay is a process that is one hop: what it is asked over a wire it asks the
// logger at an address over the same wire, by the usual server and client.
func relay(ctx context.Context, protocol, address string, in io.Reader, out io.Writer) (err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serve, closing, err := relaying(ctx, protocol, address, listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, closing.Close()) }()
	return agent.Part(ctx, relayCommand, serve, control.Ready{Address: listener.Addr().String()}, in, out)
}

// relayConnections is how many connections a wire opens that is not multiplexed:
// as many as the gateway may, so that no call waits for one.
const relayConnections = 256

// relaying is the relay's work at a listener, and what is to be closed after it.
func relaying(ctx context.Context, protocol, address string, listener net.Listener) (func(context.Context) error, io.Closer, error) {
	for _, b := range bind.Bindings() {
		if b.Protocol.Name != protocol || len(b.Servers) == 0 || len(b.Clients) == 0 {
			continue
		}
		onward, closing, err := b.Clients[0].Dial(ctx, wirelab.Dialing{Address: address, Connections: relayConnections})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) error {
			return b.Servers[0].Serve(ctx, wirelab.Endpoint{Listener: listener}, onward)
		}, closing, nil
	}
	return nil, nil, fmt.Errorf("nothing carries logging over %q", protocol)
}
