// Package node is a node of Hermes: the shell around the components that know no clock, disk or network. It gives
// them goroutines, time, files and peers, and is a [broker.Broker] for the APIs, whether it leads or not: a
// follower forwards requests that it cannot handle to the leader, in one hop. It knows no API.
//
// # Goroutines
//
//	loop         owns the replica and the machine: takes what came in (publishes, Raft's messages,
//	             ticks, what the disk has done), sends, feeds the recent log, answers
//	disk         owns the log's end: appends and indexes all that waits, syncs once, reports
//	redelivery   takes groups' messages back that were not acknowledged in time
//	maintenance  owns the log's rest: seals, cleans; and retention, promotions, free space
//	scrubber     reads the log, and repairs damage with the copies of other nodes
//
// All others are the callers'. Between them are bounded queues: of publishes by the
// bytes in hand, of Raft's messages by bytes (what does not fit is dropped, as Raft
// allows), of the disk's work by what Raft lets be under way.
//
// # Failing
//
// A write or sync that fails, damage of the log that no other node repairs and an entry that cannot be applied
// end the node at once: [Node.Failed] is closed, all requests in progress fail with Unavailable, and nothing
// is retried, because only the next start can find out the state on disk. (hb-D11) A disk without room for the
// log's next segment is not such a failure, because nothing was written: the node stores and acknowledges nothing
// until there is room, transfers its leadership, and reports the state (Ready, Stats). If a write into a segment, whose
// room was allocated before, or a sync reports a full disk, the node ends.
//
// # What a node does not believe
//
// A directory may be an older copy of the node's data, and a machine's clock may be wrong. A node cannot notice
// either alone: see custody.go and skew.go for how the other nodes help.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/hermes/clocks"
	"wirelab/hermes/core"
	"wirelab/hermes/peer"
	"wirelab/hermes/recentlog"
	"wirelab/hermes/replica"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

// network is what carries to other nodes: a peer.Transport, or none for a node alone.
type network interface {
	Start(h peer.Handler, l local)
	SetPeer(id uint64, address string, others ...string)
	Send(messages []*raftpb.Message)
	Tell()
	Broker(id uint64) broker.Broker
	Abandon(id uint64, err error)
	Reached(id uint64) bool
	Addr() net.Addr
	Close() error
}

// Node is a running node. All methods are for any goroutine.
type Node struct {
	options    Options
	logger     *slog.Logger
	clock      clock
	log        *wal.Log
	recent     *recentlog.Log
	net        network
	membership *membership
	topics     *directory
	groups     *groups
	fanout     *fanout
	given      given
	rooms      rooms

	loop      *loop
	disk      *disk
	bootstrap *bootstrap
	skew      *skew
	custody   *custody
	level     level
	admission admission
	cuts      atomic.Int64 // open

	scrubber *scrubber

	standing atomic.Pointer[replica.Standing] // the state on disk; nil: nothing is known yet
	doubtful atomic.Bool                      // the directory is a copy, and the node has not caught up
	caught   atomic.Bool                      // the replica has
	apart    apart
	ageless  bool // the maintenance's: nothing goes by its age

	lead     atomic.Pointer[lead]
	news     news          // of lead
	waiters  atomic.Int64  // for a leader
	full     atomic.Bool   // the disk has less free space than it must
	cramped  atomic.Bool   // it has not much more than that: leadership is not to be handed to this node for its room
	declines atomic.Bool   // publishes, since it is and no other node takes them
	stopped  chan struct{} // closed: the goroutines are to end
	failed   chan struct{} // closed: the node ended by itself
	endOnce  sync.Once
	err      error // why; before failed is closed
	wg       sync.WaitGroup

	closeOnce sync.Once
	closing   chan struct{} // made with the first Close, closed when all is done
	closeErr  error         // before closing is closed

	reading sync.RWMutex // held by a goroutine that reads the log on a caller's goroutine
	closed  bool         // the log is; guarded by reading
}

var _ broker.Broker = (*Node)(nil)

// lead is who leads, as the loop last saw it.
type lead struct {
	leader, term uint64
	stopping     bool // this node takes nothing more on
}

var errStopping = status.Errorf(status.Unavailable, "this node is stopping: go on at another")

// Open opens a node's log, or begins one, and starts it. It returns before there is
// a leader. With Join, ctx bounds the asking. The Listener is the node's from then on,
// and closed where Open fails.
func Open(ctx context.Context, o Options) (*Node, error) {
	n, err := open(ctx, o)
	if err != nil && o.Listener != nil {
		_ = o.Listener.Close() // err is the one to tell; it may be closed already
	}
	return n, err
}

func open(ctx context.Context, o Options) (*Node, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	n := &Node{
		options: o, logger: o.Logger, clock: newClock(o.Clock),
		stopped: make(chan struct{}), failed: make(chan struct{}),
		topics: newDirectory(), level: level{known: map[uint64]uint32{}}, admission: admission{limit: o.InHandBytes},
	}
	n.lead.Store(&lead{})
	n.groups, n.fanout = newGroups(n), newFanout(n)
	n.loop = newLoop(n)
	n.disk = newDisk(n)
	n.skew = &skew{n: n, c: clocks.New(o.Self.ID, o.ClockSkew)}
	n.scrubber = newScrubber(n)
	n.bootstrap = &bootstrap{n: n, noted: map[uint64]bool{}}
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	state, err := n.open()
	if err != nil {
		return nil, fmt.Errorf("node: %w", err)
	}
	if err := n.begin(ctx, state); err != nil {
		n.fanout.cancel()
		n.scrubber.cancel()
		return nil, errors.Join(fmt.Errorf("node: %w", err), n.log.Close())
	}
	return n, nil
}

// opened is what the log held.
type opened struct {
	machine *core.Machine
	changes []*raftpb.Entry
	time    int64
}

// open reads the log into a machine.
func (n *Node) open() (*opened, error) {
	if err := resume(n.options.FS, n.options.Dir); err != nil {
		return nil, err
	}
	s := &opened{machine: core.New()}
	o := n.options.Log
	o.Room, o.Files, o.Machine = n.disk.room, n.disk.files, newScratch
	kept, err := wal.Open(n.options.FS, n.options.Dir, o, s.restore, s.apply)
	if err != nil {
		return nil, err
	}
	n.log = kept
	n.scrubber.note(wal.Scrubbed{Found: kept.Mended(), Repaired: len(kept.Mended())})
	if n.membership, err = openMembership(n.options.FS, n.options.Dir, n.options.Cluster,
		n.options.Self.ID); err == nil {
		err = n.membership.learn(s.changes...)
	}
	if err != nil {
		return nil, errors.Join(err, n.log.Close())
	}
	return s, nil
}

// begin starts what runs.
func (n *Node) begin(ctx context.Context, s *opened) error {
	ro := replica.Options{
		ID: n.options.Self.ID, Seed: rand.Uint64(), Logger: replica.Logger(n.logger),
	}
	var err error
	if n.custody, ro.Doubtful, err = openCustody(n.options.FS, n.options.Dir, n.options.Moved); err != nil {
		n.logger.Warn("whether this directory is a copy is not known", "why", err)
	}
	ro.Seen, _ = n.custody.known()
	if ro.Members, err = peers(n.options.Members); err != nil {
		return err
	}
	n.recent = recentlog.New(recentlog.Options{Bytes: n.options.RecentLogBytes, Read: n.readLog})
	if n.net, err = n.connect(); err != nil {
		return err
	}
	if err := n.enter(ctx); err != nil {
		return errors.Join(err, n.net.Close())
	}
	n.loop.time = s.time
	n.loop.fed.Store(s.machine.Applied())
	n.disk.indexed.reach(s.machine.Applied())
	n.disk.synced.reach(n.disk.last)
	n.topics.reset(s.machine)
	if n.loop.replica, err = replica.New(ro, storage{n.log, n}, s.machine, s.machine.Applied()); err != nil {
		return errors.Join(err, n.net.Close())
	}
	n.doubted(ro.Doubtful)
	n.checkStart(s.time)
	n.standing.Store(new(n.loop.replica.Standing()))
	for _, m := range n.options.Members {
		n.given.add(m.ID, m.Peer)
	}
	n.setPeers(n.loop.replica.Conf())
	n.net.Start(handler{n}, local{n})
	n.wg.Go(n.loop.run)
	n.wg.Go(n.disk.run)
	n.wg.Go(n.groups.run)
	n.wg.Go(n.maintain)
	n.wg.Go(n.scrubber.run)
	return nil
}

// enter sees to it that the node may take part: with what it has, by joining, or later. See bootstrap.
func (n *Node) enter(ctx context.Context) (err error) {
	if n.disk.last, err = n.log.LastIndex(); err != nil {
		return err
	}
	blank, joins := n.disk.last == 0, len(n.options.Join) > 0
	if err := n.bootstrap.begin(blank, joins); err != nil || !blank || !joins {
		return err
	}
	return n.join(ctx)
}

// Failed is closed when the node has ended by itself; Err says why.
func (n *Node) Failed() <-chan struct{} { return n.failed }

// Err is why the node ended by itself; nil: it did not.
func (n *Node) Err() error {
	select {
	case <-n.failed:
		return n.err
	default:
		return nil
	}
}

// Addr is where other nodes dial; nil: nowhere.
func (n *Node) Addr() net.Addr { return n.net.Addr() }

// fail ends the node.
func (n *Node) fail(err error) {
	n.endOnce.Do(func() {
		n.logger.Error("the node ends", "why", err)
		n.err = err
		close(n.failed)
		n.stop()
	})
}

// stop has the goroutines end.
func (n *Node) stop() {
	close(n.stopped)
	n.scrubber.cancel()
}

// ending reports whether the goroutines are to end.
func (n *Node) ending() bool {
	select {
	case <-n.stopped:
		return true
	default:
		return false
	}
}

// Close hands leadership over, as long as ctx lets it, ends all subscriptions and
// everything in hand with Unavailable, and waits for the node's goroutines. What was
// acknowledged is on disk before, so ctx bounds no more than courtesy. Further calls wait
// for the first. (hb-D31) Whatever hangs is waited for no longer than Options.CloseLimit: then
// the error, DeadlineExceeded, says what does, and the directory stays locked until it ends,
// with the process at the latest. A further call waits again.
func (n *Node) Close(ctx context.Context) error {
	n.closeOnce.Do(func() {
		n.closing = make(chan struct{})
		n.retire(ctx)
		n.endOnce.Do(n.stop)
		go func() { // its owner is who waits below, for as long as it can be waited for
			defer close(n.closing)
			n.end()
		}()
	})
	late := time.NewTimer(n.options.CloseLimit)
	defer late.Stop()
	select {
	case <-n.closing:
		return n.closeErr
	case <-late.C:
		return status.Errorf(status.DeadlineExceeded, "the node in %s has not ended within %s: %s", n.options.Dir,
			n.options.CloseLimit, n.hanging())
	}
}

// end waits for the goroutines and lets go of what the node has.
func (n *Node) end() {
	n.wg.Wait() // the loop ends the subscriptions
	n.fanout.cancel()
	n.closeErr = n.net.Close()
	n.reading.Lock()
	defer n.reading.Unlock()
	n.closed = true
	n.disk.busy.Store(n.clock.now()) // closing the log writes its last frame
	defer n.disk.busy.Store(0)
	n.closeErr = errors.Join(n.closeErr, n.log.Close())
}

// hanging says what keeps the node from ending.
func (n *Node) hanging() string {
	now := n.clock.now()
	since := func(at int64) time.Duration { return time.Duration(now - at).Round(time.Millisecond) }
	if at := n.disk.syncing.Load(); at != 0 {
		return fmt.Sprintf("a sync of the disk hangs, for %s now", since(at))
	}
	if at := n.disk.busy.Load(); at != 0 {
		return fmt.Sprintf("a write to the disk hangs, for %s now", since(at))
	}
	return "neither a write nor a sync of the log hangs: it is the making, sealing or cleaning of a segment, or " +
		"a reader"
}

// retire stops taking things on and hands leadership over.
func (n *Node) retire(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*n.options.Tick)
	defer cancel()
	left := make(chan struct{})
	ok := n.loop.call(func(l *loop) {
		if l == nil {
			close(left)
			return
		}
		l.retire(left)
	})
	if !ok {
		return
	}
	select {
	case <-left:
	case <-ctx.Done():
	case <-n.stopped:
	}
}

// every does something at even intervals until the node ends.
func (n *Node) every(interval time.Duration, do func()) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			do()
		case <-n.stopped:
			return
		}
	}
}
