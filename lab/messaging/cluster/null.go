package cluster

import (
	"context"

	"wirelab"
	"wirelab/broker/drivers"
	"wirelab/hermes/local"
	"wirelab/lab/target"
	"wirelab/system/cluster"
)

// startNull starts a server that speaks a kind's protocol and does nothing: the APIs of Hermes with nothing behind
// them, or a child of this program that is given the kind.
func startNull(ctx context.Context, o Options, dir string) (*brokers, error) {
	b := &brokers{
		Cluster: cluster.New[cluster.Server](cluster.LastFirst), about: "null broker of " + o.Kind,
		leader: func(context.Context, string) (int, error) { return 0, nil },
	}
	if o.Kind == drivers.Hermes {
		n, err := local.StartNull(ctx, local.Options{Program: o.Hermes, Dir: dir})
		if err != nil {
			return nil, err
		}
		b.Add(nullHermes{hermesNode{n}})
		return b, nil
	}
	command := o.Null
	command.Name = "null broker"
	command.Args = append(append([]string(nil), command.Args...), o.Kind)
	p, err := target.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	b.Add(nullChild{p, dir})
	return b, nil
}

// errNull is why a null is not started again.
func errNull() error {
	return wirelab.Errorf(wirelab.Unimplemented, "a null broker is not started again: it keeps nothing")
}

// nullHermes and nullChild are the one node of a null.
type nullHermes struct{ hermesNode }

func (nullHermes) Restart(context.Context) error { return errNull() }
func (nullHermes) Heal(context.Context) error    { return errNull() }

type nullChild struct {
	*target.Process
	dir string
}

func (n nullChild) URL() string       { return n.Ready().Address }
func (n nullChild) Directory() string { return n.dir }

func (n nullChild) Kill(context.Context) error {
	n.Process.Kill()
	return nil
}

func (n nullChild) Stop(context.Context) error { return n.Process.Stop() }

func (nullChild) Restart(context.Context) error { return errNull() }
