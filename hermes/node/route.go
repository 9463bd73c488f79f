package node

import (
	"context"
	"sync"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/wire/status"
)

// local is the node as itself: it does what only a leader can, or says Unavailable, and
// never hands on. It is what other nodes' requests get to.
type local struct{ *Node }

var _ broker.Broker = local{}

var errNoLeader = status.Errorf(status.Unavailable, "no node leads now: try again")

// leading is who does what only the leader can: this node itself, or the leader
// at the other end of the transport.
func (n *Node) leading(ctx context.Context) (broker.Broker, error) {
	if err := ctx.Err(); err != nil {
		return nil, status.Public(err)
	}
	l := n.lead.Load()
	if !l.stopping && !n.within(l) {
		var err error
		if l, err = n.await(ctx); err != nil {
			return nil, err
		}
	}
	switch {
	case l.stopping:
		return nil, errStopping
	case l.leader == n.options.Self.ID:
		return local{n}, nil
	}
	return n.net.Broker(l.leader), nil
}

// within reports whether there is a leader that can be asked.
func (n *Node) within(l *lead) bool {
	return l.leader == n.options.Self.ID || l.leader != 0 && n.net.Reached(l.leader)
}

// waitersLimit is how many callers may wait for a leader at one node; more are notified at once.
const waitersLimit = 4096

// await waits for a leader, as long as ctx and Options.LeaderLimit allow: an election takes tens of
// milliseconds, and a caller would rather have an answer late than an error that he must answer with a try of
// his own. What was handed on before, and lost its answer with the leader, is another matter: this node does
// not know whether it was stored, so its caller is notified at once. He may repeat it with the same producer
// and sequence, as the Go client does.
func (n *Node) await(ctx context.Context) (*lead, error) {
	if err := n.bootstrap.waits(); err != nil {
		return nil, err // other nodes are waited for, and perhaps for minutes
	}
	defer n.waiters.Add(-1)
	if n.waiters.Add(1) > waitersLimit {
		return nil, errNoLeader
	}
	late := time.NewTimer(n.options.LeaderLimit)
	defer late.Stop()
	look := time.NewTicker(n.options.Tick) // for connections: of leaders there is news
	defer look.Stop()
	for {
		news := n.news.next()
		l := n.lead.Load()
		if l.stopping || n.within(l) {
			return l, nil
		}
		select {
		case <-news:
		case <-look.C:
		case <-n.stopped:
			return nil, errStopping
		case <-ctx.Done():
			return nil, status.Public(ctx.Err())
		case <-late.C:
			if l.leader != 0 {
				return nil, status.Errorf(status.Unavailable,
					"node %d leads and cannot be reached from here: go on at another",
					l.leader)
			}
			return nil, errNoLeader
		}
	}
}

// news wakes those who wait for a change.
type news struct {
	mu    sync.Mutex
	moved chan struct{} // guarded by mu; closed by tell; nil: there is no waiter
}

func (w *news) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved == nil {
		w.moved = make(chan struct{})
	}
	return w.moved
}

func (w *news) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.moved != nil {
		close(w.moved)
		w.moved = nil
	}
}

// leads says whether this node may take what only a leader takes.
func (n local) leads(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return status.Public(err)
	}
	l := n.lead.Load()
	switch {
	case l.stopping:
		return errStopping
	case l.leader == 0:
		return errNoLeader
	case l.leader != n.options.Self.ID:
		return status.Errorf(status.Unavailable, "node %d leads and this one does not: ask it", l.leader)
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
func propose[T any](ctx context.Context, n *Node, items []byte, count int,
	read func(*core.Machine, []core.Outcome) (T, error),
) (T, error) {
	back := make(chan answer[T], 1)
	n.loop.propose(&proposal{
		items: items, count: count, ctx: context.WithoutCancel(ctx),
		answer: func(v replica.Verdict) {
			a := answer[T]{err: failure(v)}
			if a.err == nil {
				a.value, a.err = read(n.loop.replica.Machine(), v.Outcomes)
			}
			back <- a
		},
	})
	return await(ctx, back)
}

func await[T any](ctx context.Context, back <-chan answer[T]) (T, error) {
	select {
	case a := <-back: // the loop answers all before it ends
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, status.Public(ctx.Err())
	}
}

// inLoop has the loop do something that answers exactly once, and waits for the answer.
func inLoop[T any](ctx context.Context, n *Node, do func(l *loop, back chan<- answer[T])) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, status.Public(err)
	}
	back := make(chan answer[T], 1) // the answering goroutine does not wait, though the receiver may be gone any more
	ends := func(l *loop) {
		if l == nil {
			back <- answer[T]{err: errStopping}
			return
		}
		do(l, back)
	}
	if !n.loop.call(ends) {
		return none, errStopping
	}
	return await(ctx, back)
}

// look reads the machine, in its current state: on a follower behind the leader, perhaps.
func look[T any](ctx context.Context, n *Node, read func(*core.Machine) (T, error)) (T, error) {
	return inLoop(ctx, n, func(l *loop, back chan<- answer[T]) {
		var a answer[T]
		a.value, a.err = read(l.replica.Machine())
		back <- a
	})
}

// sure reads the machine when it has all that was acknowledged before the call.
func sure[T any](ctx context.Context, n *Node, read func(*core.Machine) (T, error)) (T, error) {
	return inLoop(ctx, n, func(l *loop, back chan<- answer[T]) {
		if err := l.n.bootstrap.waits(); err != nil { // the replica is not asked to do anything yet
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
	})
}

// caughtUp waits until this node has all that was acknowledged before the call.
func (n *Node) caughtUp(ctx context.Context) error {
	_, err := sure(ctx, n, func(*core.Machine) (struct{}, error) { return struct{}{}, nil })
	return err
}
