package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// Options are a node's. The zero value of each is its default, where one is given.
type Options struct {
	Cluster string // its name; nodes of another are refused. "": "hermes"
	// Self is this node: ID from 1, Name, and the addresses that others are notified. It is
	// written into the cluster's log when the node begins or joins it.
	Self broker.Member
	// Members begin a new cluster, this node among them; each must be started with the
	// same list. Where Dir holds a log, that says who they are, and the addresses here are dialled only where a
	// member is not at the log's, until the log says where it is now. None, and no Join: the
	// node is a cluster of one. A node that lost Dir must not begin again under its old
	// id, since it would forget what it voted for: the others refuse it then. Remove it, and let
	// a new one join under another.
	Members []broker.Member
	// Join are addresses of nodes' Peer listeners, one of which is asked to let this
	// node in while Dir holds no log.
	Join []string

	FS  vfs.FS // nil: the operating system's
	Dir string // of the log, this node's alone

	// Listener is where the others dial; nil: not reported, and the node stays alone.
	Listener net.Listener
	TLS      *tls.Config // see peer.Options
	PeerKey  []byte      // likewise, its Key
	Dial     func(ctx context.Context, peer uint64, address string) (net.Conn, error)

	// Tick is the unit of Raft's time: a heartbeat each, an election after 10 to 20 without
	// one. 50 ms
	Tick time.Duration
	Log  wal.Options
	// FilesLimit is how many files the process may have open, for the text that says so when
	// they are. 0: it is not known
	FilesLimit int
	// RecentLogBytes of the newest messages are held in memory. 16 MiB
	RecentLogBytes int
	// InHandBytes are what publishers may have handed over without an answer; who
	// publishes beyond waits. 64 MiB
	InHandBytes int
	// FreeBytes are left free on the disk: below, publishes are refused with
	// ResourceExhausted, while acknowledgements and retention still go on. At least two
	// of Log's segments: without room for one nothing is stored any more. 256 MiB
	FreeBytes uint64
	// ScrubBytes of the log are read in a second in search of damage; below 0: none are. 10 MiB
	ScrubBytes int64
	// SyncLimit is how long the disk may take for one sync before a leader hands
	// its leadership over. 1 s
	SyncLimit time.Duration
	// ClockSkew is how far this machine's clock may be off the median of a majority's. Beyond, the node does not lead
	// while another can, and stores with the median's time. 5 s
	ClockSkew time.Duration
	// Clock is the machine's clock; nil: time.Now. For tests.
	Clock func() time.Time
	// Moved says that Dir is the latest that this node had, though its files are copies: it was moved here. Else a
	// node on a copy votes for no node until it has caught up.
	Moved bool
	// Maintenance is how often retention, cleaning, promotions and free space are looked after. 1 s
	Maintenance time.Duration
	// StuckLimit is how long the loop may stand still, or the disk take for a write, before
	// [Node.Live] reports it. 30 s
	StuckLimit time.Duration
	// LeaderLimit is how long a call waits for a leader that can be reached, where its context
	// allows. 60 ticks
	LeaderLimit time.Duration
	// CloseLimit is how long Close waits for what hangs. 30 s
	CloseLimit time.Duration
	Observer   Observer     // nil: not reported how long things take
	Logger     *slog.Logger // nil: nothing is logged
}

// complete fills the defaults in and refuses what cannot be.
func (o Options) complete() (Options, error) {
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Cluster == "" {
		o.Cluster = "hermes"
	}
	duration := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	duration(&o.Tick, 50*time.Millisecond)
	duration(&o.LeaderLimit, 60*o.Tick)
	duration(&o.SyncLimit, time.Second)
	duration(&o.Maintenance, time.Second)
	duration(&o.ClockSkew, 5*time.Second)
	duration(&o.StuckLimit, 30*time.Second)
	duration(&o.CloseLimit, 30*time.Second)
	if o.InHandBytes == 0 {
		o.InHandBytes = 64 << 20
	}
	if o.FreeBytes == 0 {
		o.FreeBytes = 256 << 20
	}
	if o.ScrubBytes == 0 {
		o.ScrubBytes = 10 << 20
	}
	o.FreeBytes = max(o.FreeBytes, o.Log.Spare())
	if o.Self.Peer == "" && o.Listener != nil {
		o.Self.Peer = o.Listener.Addr().String()
	}
	if len(o.Members) == 0 && len(o.Join) == 0 {
		o.Members = []broker.Member{o.Self}
	}
	switch {
	case o.Self.ID == 0:
		return o, errors.New("node: Self.ID is missing: ids count from 1")
	case o.Dir == "":
		return o, errors.New("node: Dir is missing: it is where the log goes")
	case o.Tick < 0 || o.SyncLimit < 0 || o.ClockSkew < 0 || o.Maintenance < 0 || o.StuckLimit < 0 ||
		o.LeaderLimit < 0 ||
		o.CloseLimit < 0 || o.InHandBytes < 0 || o.RecentLogBytes < 0:
		return o, errors.New("node: a negative duration or size")
	case len(o.Join) > 0 && len(o.Members) > 0:
		return o, errors.New("node: Members begin a new cluster, Join goes into one that is there: give one of the two")
	case (len(o.Members) > 1 || len(o.Join) > 0) && o.Listener == nil:
		return o, errors.New("node: with other members a Listener is needed")
	}
	seen := map[uint64]bool{}
	for _, m := range o.Members {
		if m.ID == 0 || seen[m.ID] {
			return o, fmt.Errorf("node: member %q has no id, or one that another has: %d", m.Name, m.ID)
		}
		seen[m.ID] = true
	}
	if len(o.Members) > 0 && !seen[o.Self.ID] {
		return o, fmt.Errorf("node: this node, %d, is not among the members that begin the cluster", o.Self.ID)
	}
	return o, nil
}
