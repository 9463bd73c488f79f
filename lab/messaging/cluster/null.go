package cluster

import (
	"context"

	"wirelab"
	"wirelab/broker/drivers"
	"wirelab/hermes/local"
	"wirelab/lab/target"
)

// nullCluster is a server that speaks a kind's protocol and does nothing.
type nullCluster struct {
	node    node
	address string
	kind    string
	end     func(context.Context) error
}

// startNull starts one: the doors of Hermes with nothing behind them, or a child of
// this program that is told whose protocol it speaks.
func startNull(ctx context.Context, o Options, dir string) (cluster, error) {
	if o.Kind == drivers.Hermes {
		n, err := local.StartNull(ctx, local.Options{Program: o.Hermes, Dir: dir})
		if err != nil {
			return nil, err
		}
		return nullCluster{nullHermes{hermesNode{n}}, n.GRPC, o.Kind, n.Stop}, nil
	}
	command := o.Null
	command.Name = "null broker"
	command.Args = append(append([]string(nil), command.Args...), o.Kind)
	p, err := target.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	return nullCluster{
		nullChild{p, dir},
		p.Ready().Address, o.Kind,
		func(context.Context) error { return p.Stop() },
	}, nil
}

func (c nullCluster) nodes() []node                  { return []node{c.node} }
func (c nullCluster) addresses() []string            { return []string{c.address} }
func (c nullCluster) about() string                  { return "null broker of " + c.kind }
func (c nullCluster) stop(ctx context.Context) error { return c.end(ctx) }

func (nullCluster) leader(context.Context, string) (int, error) { return 0, nil }

// errNull is why a null is not started again.
func errNull() error {
	return wirelab.Errorf(wirelab.Unimplemented, "a null broker is not started again: it keeps nothing")
}

// nullHermes and nullChild are the one node of a null.
type nullHermes struct{ hermesNode }

func (nullHermes) start(context.Context) error   { return errNull() }
func (nullHermes) restart(context.Context) error { return errNull() }
func (nullHermes) heal(context.Context) error    { return errNull() }

type nullChild struct {
	*target.Process
	dir string
}

func (n nullChild) directory() string { return n.dir }

func (n nullChild) kill(context.Context) error {
	n.Kill()
	return nil
}

func (nullChild) start(context.Context) error   { return errNull() }
func (nullChild) restart(context.Context) error { return errNull() }
func (nullChild) heal(context.Context) error    { return errNull() }
