// Package agent is the child's end of an experiment: a server that serves a
// cell, or a driver that drives one, each doing what a conductor tells it (see
// room control). It knows any cell by what the vocabulary says of it, and not
// what an experiment is.
package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"wirelab"
	"wirelab/internal/certs"
	"wirelab/internal/fault"
	"wirelab/lab/control"
	"wirelab/lab/probe"
)

// Listen opens the endpoint of a cell at address, "127.0.0.1:0" for any free
// port, with a certificate of its own if the protocol is secure. It returns
// the address it got and the authority to trust, in PEM.
func Listen(cell wirelab.Cell, address string) (wirelab.Endpoint, control.Ready, error) {
	var at wirelab.Endpoint
	var ready control.Ready
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return at, ready, wirelab.Errorf(wirelab.InvalidArgument, "address %q: want host:port, such as 127.0.0.1:8080",
			address)
	}
	switch cell.Protocol.Network {
	case "tcp":
		at.Listener, err = net.Listen("tcp", address)
		if err == nil {
			ready.Address = at.Listener.Addr().String()
		}
	case "udp":
		at.Packets, err = net.ListenPacket("udp", address)
		if err == nil {
			ready.Address = at.Packets.LocalAddr().String()
		}
	default:
		return at, ready, fmt.Errorf("protocol %s is on unknown network %q", cell.Protocol.Name, cell.Protocol.Network)
	}
	if err != nil {
		return at, ready, fault.Listen(address, "--addr", err)
	}
	if cell.Protocol.Secure {
		var certificate tls.Certificate
		var trusted []byte
		if certificate, trusted, err = certs.Issue(host); err != nil {
			return at, ready, errors.Join(err, at.Close())
		}
		at.Certificate = &certificate
		ready.Authority = string(trusted)
	}
	return at, ready, nil
}

// Serve serves a cell at an open endpoint and carries out a conductor's
// orders until in ends, ctx ends or the server fails. Everything it started
// has ended when it returns. database is what the cell serves from; nil: memory.
func Serve(
	ctx context.Context, cell wirelab.Cell, database wirelab.OpenDatabase, at wirelab.Endpoint, ready control.Ready,
	in io.Reader, out io.Writer,
) error {
	self := probe.NewAccount()
	if database != nil {
		ready.Database = database.About()
	}
	return attend(ctx, "server", func(ctx context.Context) error { return cell.Serve(ctx, at) }, ready, in, out,
		func(order control.Order) control.Reply {
			if order.Usage != nil {
				return withPool(usage(self), database)
			}
			return control.Reply{Error: "a server knows the order usage only"}
		})
}

// attend runs what a child is for and answers a conductor's orders beside it,
// the first line of all being that it is ready. It ends with in, with ctx, or
// with work, which must not end by itself: what is named then.
func attend(
	ctx context.Context, name string, work func(context.Context) error, ready control.Ready,
	in io.Reader, out io.Writer, answer func(control.Order) control.Reply,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	go func() {
		worked <- work(ctx)
		close(worked)
	}()
	// The orders' reader ends with in, which the conductor closes; work that
	// fails by itself ends the process, and the reader with it.
	told := make(chan error, 1)
	go func() { told <- takeOrders(ready, in, out, answer) }()
	select {
	case err := <-worked:
		if err == nil && ctx.Err() == nil {
			err = errors.New(name + " stopped by itself")
		}
		return err
	case err := <-told:
		stop()
		return errors.Join(err, <-worked)
	case <-ctx.Done():
		return <-worked
	}
}

func takeOrders(ready control.Ready, in io.Reader, out io.Writer, answer func(control.Order) control.Reply) error {
	if err := control.Write(out, control.Reply{Ready: &ready}); err != nil {
		return err
	}
	orders := control.NewReader[control.Order](in)
	for {
		order, err := orders.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := control.Write(out, answer(order)); err != nil {
			return err
		}
	}
}

func usage(self *probe.Account) control.Reply {
	used, err := self.Read()
	if err != nil {
		return control.Reply{Error: fault.Text(err)}
	}
	return control.Reply{Usage: &used}
}

// withPool adds to a reply how the database's connections were used.
func withPool(reply control.Reply, database wirelab.OpenDatabase) control.Reply {
	if database == nil {
		return reply
	}
	if used, ok := database.Pool(); ok {
		reply.Pool = &used
	}
	return reply
}
