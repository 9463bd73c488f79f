package node

import (
	"context"

	"wirelab"
	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
)

// local is the node as itself: it does what only a leader can, or says Unavailable, and
// never hands on. It is what other nodes' requests get to.
type local struct{ *Node }

var _ broker.Broker = local{}

var errNoLeader = wirelab.Errorf(wirelab.Unavailable, "no node leads now: try again")

// leading is who does what only the leader can: this node itself, or the leader
// at the other end of the transport.
func (n *Node) leading(ctx context.Context) (broker.Broker, error) {
	if err := ctx.Err(); err != nil {
		return nil, wirelab.Public(err)
	}
	l := n.lead.Load()
	switch {
	case l.stopping:
		return nil, errStopping
	case l.leader == 0:
		return nil, errNoLeader
	case l.leader == n.options.Self.ID:
		return local{n}, nil
	}
	return n.net.Broker(l.leader), nil
}

// leads says whether this node may take what only a leader takes.
func (n local) leads(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return wirelab.Public(err)
	}
	l := n.lead.Load()
	switch {
	case l.stopping:
		return errStopping
	case l.leader == 0:
		return errNoLeader
	case l.leader != n.options.Self.ID:
		return wirelab.Errorf(wirelab.Unavailable, "node %d leads and this one does not: ask it", l.leader)
	}
	return nil
}

// commands joins commands to one proposal's items.
func commands(all ...[]byte) []byte {
	var items []byte
	for _, c := range all {
		items = record.AppendCommand(items, c)
	}
	return items
}

// answer is a verdict and what the loop made of it.
type answer[T any] struct {
	value T
	err   error
}

// propose puts items into the log and, once they are applied, calls read on the loop,
// with the outcomes and the machine that is after them, whether the caller still waits or not.
func propose[T any](ctx context.Context, n *Node, items []byte, count int, read func(*core.Machine, []core.Outcome) (T, error)) (T, error) {
	back := make(chan answer[T], 1)
	n.loop.propose(&proposal{items: items, count: count, ctx: context.WithoutCancel(ctx), answer: func(v replica.Verdict) {
		a := answer[T]{err: failure(v)}
		if a.err == nil {
			a.value, a.err = read(n.loop.replica.Machine(), v.Outcomes)
		}
		back <- a
	}})
	return await(ctx, back)
}

func await[T any](ctx context.Context, back <-chan answer[T]) (T, error) {
	select {
	case a := <-back: // the loop answers all before it ends
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, wirelab.Public(ctx.Err())
	}
}

// look reads the machine, as it is: on a follower behind the leader, perhaps.
func look[T any](ctx context.Context, n *Node, read func(*core.Machine) (T, error)) (T, error) {
	back := make(chan answer[T], 1)
	do := func(l *loop) {
		var a answer[T]
		if l == nil {
			a.err = errStopping
		} else {
			a.value, a.err = read(l.replica.Machine())
		}
		back <- a
	}
	if err := ctx.Err(); err != nil || !n.loop.call(do) {
		var none T
		if err != nil {
			return none, wirelab.Public(err)
		}
		return none, errStopping
	}
	return await(ctx, back)
}

// sure reads the machine when it has all that was acknowledged before the call.
func sure[T any](ctx context.Context, n *Node, read func(*core.Machine) (T, error)) (T, error) {
	back := make(chan answer[T], 1)
	do := func(l *loop) {
		if l == nil {
			back <- answer[T]{err: errStopping}
			return
		}
		if err := l.n.debut.waits(); err != nil { // the replica is not asked to do anything yet
			back <- answer[T]{err: err}
			return
		}
		l.pending[l.replica.ReadIndex()] = &proposal{ctx: ctx, answer: func(v replica.Verdict) {
			a := answer[T]{err: v.Err}
			if a.err == nil {
				a.value, a.err = read(l.replica.Machine())
			}
			back <- a
		}}
	}
	if err := ctx.Err(); err != nil || !n.loop.call(do) {
		var none T
		if err != nil {
			return none, wirelab.Public(err)
		}
		return none, errStopping
	}
	return await(ctx, back)
}

// caughtUp waits until this node has all that was acknowledged before the call.
func (n *Node) caughtUp(ctx context.Context) error {
	_, err := sure(ctx, n, func(*core.Machine) (struct{}, error) { return struct{}{}, nil })
	return err
}
