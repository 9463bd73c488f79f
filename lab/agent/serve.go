// Package agent is the child process's side of an experiment: a server that serves a cell, or a driver that drives one.
// Each carries out a runner's orders (see package control). The package knows a cell only through the vocabulary of
// package wirelab, and does not know what an experiment is.
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
	"wirelab/internal/process"
	"wirelab/lab/control"
	"wirelab/lab/probe"
)

// Listen opens the endpoint of a cell at an address; "127.0.0.1:0" means any free port. If the protocol is secure, it
// also issues a certificate. It returns the address in use and the CA certificate to trust, in PEM.
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

// Serve serves a cell at an open endpoint and carries out a runner's orders until in ends, ctx is done or the server
// fails. It returns after everything that it started has ended. database is the one that the cell uses; nil: it keeps
// its data in memory.
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

// attend runs the work of a child and answers a runner's orders at the same time. The first line that it writes says
// that the child is ready. It ends when in ends, when ctx is done, or when work returns. Work must not return by
// itself: the error then has its name.
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
	// The goroutine that reads orders ends when the runner closes in. If work fails by itself, the process ends, and
	// that goroutine with it.
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
	if err := process.WriteLine(out, control.Reply{Ready: &ready}); err != nil {
		return err
	}
	orders := process.NewReader[control.Order](in)
	for {
		order, err := orders.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := process.WriteLine(out, answer(order)); err != nil {
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

// withPool adds to a reply how the connections of the database were used.
func withPool(reply control.Reply, database wirelab.OpenDatabase) control.Reply {
	if database == nil {
		return reply
	}
	if used, ok := database.Pool(); ok {
		reply.Pool = &used
	}
	return reply
}
