// Package peer connects the nodes of a cluster: it carries Raft's messages and the
// requests that a follower forwards to its leader. It knows frames, connections
// and the interface of a broker; it knows no log, no state, and not which node leads.
//
// # Connections
//
// Each node dials each other node once. On the connection that A dialled travel A's Raft messages to B, A's
// requests to B and B's replies to those; what B has to say itself travels on the one that B dialled. Frames of
// three queues (Raft messages, requests, snapshots) are cut into fragments that take turns, so that neither a
// snapshot nor a batch holds a heartbeat up. Every frame has a CRC32C: TCP's sum lets one damaged segment in
// some millions pass, and this one would go into the log.
//
// # Who gets in
//
// A node with a key asks for it on each connection, and proves that it has it: each end draws a nonce, and the
// proof is an HMAC over both, so that neither the key travels nor a proof counts twice. Connections that have
// proven nothing yet give way to new ones, so that strangers keep no node out.
//
// # Losses
//
// Raft messages wait in a queue bounded in bytes; what does not fit is dropped, as
// Raft allows, and told by [Handler.Unreachable]. Requests are never dropped in silence: each
// is answered, or ends with Unavailable when the connection breaks, at once, or with its
// context. Whether a publish that ended so was stored is then unknown.
package peer

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// Options are one node's end. Zero values are the defaults, where one is given.
type Options struct {
	Cluster  string       // its name; a node of another is refused
	ID       uint64       // this node, from 1
	Listener net.Listener // where the others dial, best an accept.Limited with Vouched; the transport closes it
	// TLS is both for dialling and for being dialled: it wants Certificates, RootCAs and
	// ClientCAs. Both ends are always verified. nil: in the clear. Where it has
	// GetConfigForClient, that is asked for dialling too, with an empty ClientHelloInfo, so
	// that certificates and authorities can be replaced while the node runs.
	TLS *tls.Config
	// Key is a secret of the cluster's nodes, from KeyLeast bytes, which both ends then prove to each other before
	// anything else is said. It keeps strangers out, and encrypts nothing. nil: none is asked for.
	Key []byte
	// Dial is what connects; nil: TCP. For tests that cut the network.
	Dial func(ctx context.Context, peer uint64, address string) (net.Conn, error)

	// IdentityCheck is how nodes tell whose directory is at the other end. The zero value: they do not.
	IdentityCheck IdentityCheck

	// Clock is how nodes compare their clocks. The zero value: they do not.
	Clock Clock

	QueueBytes int           // of Raft messages waiting for a peer: 64 MiB
	CallBytes  int           // of requests to a peer that are not answered; who publishes beyond waits: 16 MiB
	FeedBytes  int           // of a feed's messages sent ahead of Next: 256 KiB
	Silence    time.Duration // after which a connection without a sign of life is closed: 3 s
	Logger     *slog.Logger  // nil: none
}

// Handler is what the node does with what the others say. Its methods are called
// by the transport's goroutines and must not block.
type Handler interface {
	// Step takes a Raft message, which is the handler's from then on. Messages of one
	// peer come in the order sent. What there is no room for is to be dropped.
	Step(m *raftpb.Message)
	// Broken tells that no one listens at a peer's address any more: dialling was refused, or was reset twice in a
	// row. A connection that broke and could be made again at once is not told. It is reported again with each
	// attempt.
	Broken(peer uint64)
	// Unreachable tells that Raft messages to a peer were lost (RawNode.ReportUnreachable),
	// at most once until one goes out again.
	Unreachable(peer uint64)
	// SnapshotSent tells what became of a MsgSnap: whether the kernel took all of it
	// (RawNode.ReportSnapshot).
	SnapshotSent(peer uint64, ok bool)
}

// Transport is a node's end of all connections. Its methods are for any goroutine.
//
//	t, err := peer.New(options)
//	t.Start(handler, local)
//	t.SetPeer(2, "10.0.0.2:7000")     // it moved: t.SetPeer(2, "")
//	t.Send(messages)                  // never blocks
//	t.Broker(leader).Publish(…)       // what a follower hands on
//	t.Abandon(leader, err)            // raft named another leader
//	err = t.Close()
//
// local answers what other nodes hand on. It must answer from this node alone and never hand
// on again: who does not lead says Unavailable, so that a request goes one hop at most.
// Its Publish is called by one goroutine for each peer, in the order of that peer's
// publishes; where it waits, that peer's further publishes wait, and nothing else.
//
// Broker(id) is a broker.Broker whose every method is done by that peer's local, but for
// Leader, which knows nothing. It needs no closing; without a connection
// to the peer its calls wait for the attempt to connect that is under way, and are
// Unavailable when it fails. done of a Publish is called with the code of ctx's end as soon
// as ctx ends. Its feeds hold up to FeedBytes ahead of Next; those
// of a group hold nothing, but for the batch of a Next whose context ended.
//
// Abandon ends all requests to a peer that wait for an answer, feeds too, with err;
// the connection stays.
type Transport struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	all    sync.WaitGroup // of goroutines
	news   reports

	handler Handler       // assigned once in Start, before any goroutine
	local   broker.Broker // likewise

	mu       sync.Mutex // guards all below
	started  bool
	links    map[uint64]*link
	sessions map[*session]struct{}
}

// New checks the options. Nothing runs before Start.
func New(o Options) (*Transport, error) {
	switch {
	case o.ID == 0:
		return nil, status.Errorf(status.InvalidArgument, "a node's id counts from 1")
	case o.Listener == nil:
		return nil, status.Errorf(status.InvalidArgument, "a node needs a listener that other nodes can dial")
	case o.Key != nil && len(o.Key) < KeyLeast:
		return nil, status.Errorf(status.InvalidArgument, "the key of the cluster has %d bytes; want at least %d",
			len(o.Key), KeyLeast)
	case o.CallBytes < 0 || o.QueueBytes < 0 || o.FeedBytes < 0 || o.CallBytes > servedPublishes/2 || o.Silence < 0:
		return nil, status.Errorf(status.InvalidArgument,
			"of a transport no bound may be below 0, and calls to a peer may take at most %d bytes", servedPublishes/2)
	}
	o.fill()
	o.Listener = limited(o.Listener)
	if o.TLS != nil {
		o.Listener = tls.NewListener(o.Listener, o.served())
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Transport{
		o: o, ctx: ctx, cancel: cancel, news: reports{wake: make(chan struct{}, 1)},
		links: map[uint64]*link{}, sessions: map[*session]struct{}{},
	}, nil
}

// fill puts the defaults in.
func (o *Options) fill() {
	o.QueueBytes = cmp.Or(o.QueueBytes, 64<<20)
	o.CallBytes = cmp.Or(o.CallBytes, 16<<20)
	o.FeedBytes = cmp.Or(o.FeedBytes, 256<<10)
	o.Silence = cmp.Or(o.Silence, 3*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		var d net.Dialer
		o.Dial = func(ctx context.Context, _ uint64, address string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", address)
		}
	}
}

// served is the TLS of a node that was dialled: who has no certificate of the
// cluster's authority is no node.
func (o *Options) served() *tls.Config {
	c := strict(o.TLS)
	if now := c.GetConfigForClient; now != nil {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			c, err := now(hello)
			if c == nil || err != nil {
				return nil, err
			}
			return strict(c), nil
		}
	}
	return c
}

// strict is a configuration with what holds for both ends whatever it says.
func strict(c *tls.Config) *tls.Config {
	c = c.Clone()
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.MinVersion = tls.VersionTLS13
	return c
}

// dialling is the TLS of a node that dials.
func (o *Options) dialling() (*tls.Config, error) {
	now := o.TLS
	if now.GetConfigForClient != nil {
		c, err := now.GetConfigForClient(new(tls.ClientHelloInfo))
		if err != nil {
			return nil, err
		}
		if c != nil {
			now = c
		}
	}
	return strict(now), nil
}

// Start begins to listen and to dial. It is called once.
func (t *Transport) Start(h Handler, local broker.Broker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.handler, t.local, t.started = h, local, true
	t.all.Go(func() { t.news.run(t.ctx, h) })
	t.all.Go(t.accept)
	for _, l := range t.links {
		t.all.Go(l.run)
	}
}

// SetPeer tells where a node is; no address: that it is none of ours. The node itself is passed over. Where it
// is not at the address, it is looked for at the others in turn: the node that answers there proves by its
// hello that it is the node. A connection that stands at one of them continues.
func (t *Transport) SetPeer(id uint64, address string, others ...string) {
	addresses := slices.Compact(append([]string{address}, others...))
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.links[id]
	switch {
	case id == t.o.ID || t.ctx.Err() != nil:
	case l != nil && l.moves(addresses):
	default:
		if l != nil {
			l.cancel()
			delete(t.links, id)
		}
		if address == "" {
			return
		}
		l = newLink(t, id, addresses)
		t.links[id] = l
		if t.started {
			t.all.Go(l.run)
		}
	}
}

func (t *Transport) link(id uint64) *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.links[id]
}

// Send queues Raft messages, each for whom it names. It never blocks.
func (t *Transport) Send(messages []*raftpb.Message) {
	for _, m := range messages {
		if l := t.link(m.GetTo()); l != nil {
			l.send(m)
		}
	}
}

// Broker is a peer as a broker.
func (t *Transport) Broker(id uint64) broker.Broker {
	return remote{via: func(ctx context.Context) (*caller, error) {
		if l := t.link(id); l != nil {
			return l.caller(ctx)
		}
		return nil, status.Errorf(status.Unavailable, "node %d is not a member that node %d knows; ask again", id,
			t.o.ID)
	}}
}

// Abandon ends all requests to a peer that wait for an answer.
func (t *Transport) Abandon(id uint64, err error) {
	if l := t.link(id); l != nil {
		l.abandon(err)
	}
}

// Reached tells whether a connection dialled by this node stands.
func (t *Transport) Reached(id uint64) bool {
	l := t.link(id)
	return l != nil && l.reached()
}

// Tell gives all nodes a sign of life at once, with what it says: see [IdentityCheck].Full.
func (t *Transport) Tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.links {
		l.mu.Lock()
		if l.current != nil {
			l.current.c.tell(0)
		}
		l.mu.Unlock()
	}
	for s := range t.sessions {
		s.c.tell(0)
	}
}

// Addr is where the others dial.
func (t *Transport) Addr() net.Addr { return t.o.Listener.Addr() }

// Close ends all that waits, with Unavailable, and waits for all it started.
func (t *Transport) Close() error {
	t.mu.Lock()
	t.cancel()
	t.mu.Unlock()
	err := t.o.Listener.Close()
	t.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
