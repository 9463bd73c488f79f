package node

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/hermes/peer"
	"wirelab/wire/status"
)

// handler takes what the transport brings.
type handler struct{ n *Node }

// Step passes over what comes before the node takes part: the sender repeats it.
func (h handler) Step(m *raftpb.Message) {
	if h.n.bootstrap.begun.Load() {
		h.n.loop.step(m)
	}
}

// Broken is reported to the replica, which may stand for election over it.
func (h handler) Broken(id uint64) {
	h.n.loop.call(func(l *loop) {
		if l != nil && l.n.bootstrap.begun.Load() {
			l.replica.Broken(id)
		}
	})
}

// Unreachable matters to a leader only: it then asks where the peer is, instead of
// sending on. A follower must not campaign because its own queue was full.
func (h handler) Unreachable(id uint64) {
	h.n.loop.call(func(l *loop) {
		if l != nil && l.replica.Leader() == l.n.options.Self.ID {
			l.replica.Broken(id)
		}
	})
}

// SnapshotSent is not needed: the replica looks itself who waits for one too long.
func (h handler) SnapshotSent(uint64, bool) {}

// alone is the network of a node without a listener.
type alone struct{}

func (alone) Start(peer.Handler, local)         {}
func (alone) SetPeer(uint64, string, ...string) {}
func (alone) Tell()                             {}
func (alone) Send([]*raftpb.Message)            {}
func (alone) Broker(uint64) broker.Broker       { return nil }
func (alone) Abandon(uint64, error)             {}
func (alone) Reached(uint64) bool               { return false }
func (alone) Addr() net.Addr                    { return nil }
func (alone) Close() error                      { return nil }

// connected is a transport; it differs from peer.Transport in what Start takes.
type connected struct{ *peer.Transport }

func (c connected) Start(h peer.Handler, l local) { c.Transport.Start(h, l) }

func (n *Node) peerOptions() peer.Options {
	o := n.options
	return peer.Options{
		Cluster: o.Cluster, ID: o.Self.ID, Listener: o.Listener, TLS: o.TLS, Key: o.PeerKey, Dial: o.Dial,
		Logger:        o.Logger,
		IdentityCheck: n.bootstrap.identityCheck(), Clock: peer.Clock{Now: n.clock.own, Compared: n.skew.compared},
	}
}

func (n *Node) connect() (network, error) {
	if n.options.Listener == nil {
		return alone{}, nil
	}
	t, err := peer.New(n.peerOptions())
	if err != nil {
		return nil, err
	}
	return connected{t}, nil
}

// joinEvery is how long to wait before the nodes are asked again.
const joinEvery = 200 * time.Millisecond

// join asks the given nodes, one after the other and again, to let this one in,
// until one does, one says no, or ctx ends.
func (n *Node) join(ctx context.Context) error {
	again := time.NewTicker(joinEvery)
	defer again.Stop()
	for {
		err := n.joinOnce(ctx)
		if err == nil || status.CodeOf(err) != status.Unavailable {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

func (n *Node) joinOnce(ctx context.Context) error {
	blank := n.options.Self
	blank.Learner = true // it has no log, see local.Join
	stranger := n.peerOptions()
	stranger.IdentityCheck = peer.IdentityCheck{} // of which cluster it is going to be it learns there
	var failed []error
	for _, address := range n.options.Join {
		s, err := n.joinAt(ctx, stranger, address, blank)
		if err == nil {
			return n.membership.take(s)
		}
		failed = append(failed, err)
	}
	return status.Errorf(status.CodeOf(failed[0]), "no node let this one in: %v", errors.Join(failed...))
}

// joinAt asks one node, or the leader that it knows of, to take a member.
func (n *Node) joinAt(ctx context.Context, o peer.Options, address string,
	m broker.Member,
) (s broker.Status, err error) {
	err = peer.Ask(ctx, o, address, func(b broker.Broker) error {
		s, err = b.Status(ctx)
		return err
	})
	if err != nil {
		return s, err
	}
	n.given.add(s.Node, address) // in the log it may be a former one
	for _, one := range s.Members {
		if one.ID == s.Leader && one.ID != s.Node {
			address = one.Peer
		}
	}
	err = peer.Ask(ctx, o, address, func(b broker.Broker) error {
		s, err = b.Join(ctx, m)
		return err
	})
	return s, err
}

// setPeers tells the transport whom there is to talk to.
func (n *Node) setPeers(conf *raftpb.ConfState) {
	n.membership.mu.Lock()
	members := make(map[uint64]string, len(n.membership.page.Members))
	for id, m := range n.membership.page.Members {
		members[id] = m.Peer
	}
	gone := make([]uint64, 0, len(n.membership.page.Removed))
	for id := range n.membership.page.Removed {
		gone = append(gone, id)
	}
	n.membership.mu.Unlock()
	for _, m := range n.options.Members { // before the log says so
		if members[m.ID] == "" && !n.bootstrap.begun.Load() {
			members[m.ID] = m.Peer
		}
	}
	n.fanout.others.Store(new(others(conf, n.options.Self.ID)))
	for id, address := range members {
		if id != n.options.Self.ID && address != "" {
			n.net.SetPeer(id, address, n.given.of(id, address)...)
		}
	}
	for _, id := range gone {
		n.net.SetPeer(id, "")
	}
}

// given are addresses of members that this node was told when it was started, or found them at, in addition to
// those in the log: they are for when all nodes are started again at once, each at another address. No node
// could then tell the others where it is. One counts until the log says anything else of its member than it did
// at first.
type given struct {
	mu  sync.Mutex // guards all below
	all map[uint64]*hint
}

type hint struct {
	address string
	logged  string // what the log said at first; "": it was not looked at
}

func (g *given) add(id uint64, address string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[uint64]*hint{}
	}
	g.all[id] = &hint{address: address}
}

// of is where to look for a member that is at an address by the log.
func (g *given) of(id uint64, logged string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.all[id]
	if h == nil {
		return nil
	}
	if h.logged == "" {
		h.logged = logged
	}
	if h.logged != logged || h.address == logged {
		delete(g.all, id)
		return nil
	}
	return []string{h.address}
}

// elsewhere is where members may be besides.
func (g *given) elsewhere(self uint64) (addresses []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, h := range g.all {
		if id != self {
			addresses = append(addresses, h.address)
		}
	}
	return addresses
}

// others are the members but one.
func others(conf *raftpb.ConfState, self uint64) []uint64 {
	all := slices.Concat(conf.GetVoters(), conf.GetLearners())
	return slices.DeleteFunc(all, func(id uint64) bool { return id == self })
}
