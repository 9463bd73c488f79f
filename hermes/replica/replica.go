// Package replica is the consensus of one node, without a clock, goroutine, network or disk.
// Ticks, messages and finished writes go in; messages to send, entries to store and committed
// entries come out. Both the node and the simulator drive it, so that what holds in the simulator
// holds in the node. It knows Raft and the state machine.
//
// Its owner runs a loop: it passes inputs (Tick, Step, Propose, Stored, …), and while
// HasWork is true, it takes a Work from Ready and does it.
package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
)

// Bounds of what goes over the network and to the machine at once, in bytes. One
// entry is always let through, whatever its size.
const (
	messageBytes  = 1 << 20  // of the entries in a message
	pipelineBytes = 16 << 20 // sent to a follower and not answered
	pipelineDepth = 256      // messages likewise
	applyBytes    = 4 << 20  // of the entries applied in one Work
)

// Options are a replica's. Its owner ticks it; an election timeout is ElectionTicks to twice that.
type Options struct {
	ID             uint64 // not 0
	ElectionTicks  int    // 0: 10. At least 3 times HeartbeatTicks
	HeartbeatTicks int    // 0: 1
	InFlight       int    // entries of this node's making in the log and not committed; 0: 2
	EntryLimit     int    // bytes that one entry takes of what waits; 0: 1 MiB
	// Seed fixes the election timeouts. It must be another at each start: it also tells
	// the answers to reads of this start from those that still travel from the one before.
	Seed   uint64
	Logger raft.Logger // nil: nothing is logged
	// Members begin a new cluster: each of them must be started with the same list,
	// and it counts only while the log is empty. One that joins is given none: the
	// members are the log's first entries, and it learns them from there.
	Members []raft.Peer
	// Conf is who takes part after entry applied, for a storage that does not keep it up
	// to date (see Change). nil: as storage's InitialState says.
	Conf *raftpb.ConfState
	// Seen is what this node saw that the others have, in earlier lives: see Replica.Seen.
	Seen map[uint64]Seen
	// Doubtful tells that the storage may be an older copy of what this node had: it neither stands nor votes
	// until it has caught up with a leader that others elected. A node that is the only voter has no other node to
	// ask.
	Doubtful bool
}

// Work is what Ready asks of the owner. Append is to be stored (entries before State,
// so that no State is read back without the entries that it counts as committed) and,
// with MustSync, synced, then Stored called with it, in the order of the Works. Send may go at
// once, in order. What Stored returns goes then.
//
// Committed entries have been applied to the machine: Outcomes are theirs. An entry is
// applied when a quorum has it, which may be before this node's own disk does: what
// depends on it being stored here (the log's index, a snapshot that goes to disk)
// must be queued behind the Append of this Work and the earlier ones.
type Work struct {
	Append    []*raftpb.Entry
	State     *raftpb.HardState // nil: unchanged
	MustSync  bool
	Snapshot  *raftpb.Snapshot  // install: the machine has been restored from it; the log begins anew behind it
	Responses []*raftpb.Message // to be given back by Stored
	Send      []*raftpb.Message
	Applied   []Applied
	Verdicts  []Verdict
	Leader    uint64
	Term      uint64
	Changed   bool // Leader or Term did, or the members
	// Err says that the log or a snapshot cannot be applied: the node must stop, and
	// nothing of this Work is to be done.
	Err error
}

// Stores reports whether the Work is to be given back by Stored.
func (w Work) Stores() bool {
	return len(w.Append) > 0 || w.State != nil || w.Snapshot != nil || len(w.Responses) > 0
}

// Applied is a committed entry with what became of its items. One that is not data
// (a new leader's, or a change of members) has none.
type Applied struct {
	Entry    *raftpb.Entry
	Outcomes []core.Outcome
}

// Verdict answers a proposal, by the ticket that Propose gave. One with Err
// Unavailable may yet be stored, unless it was never in the log.
type Verdict struct {
	Ticket      uint64
	Outcomes    []core.Outcome // of the proposal's own items; nil with Err
	Time        int64          // the entry's, Unix nanoseconds
	Term, Index uint64
	Provisional bool // on this node's disk only; a final verdict follows
	Err         error
}

// Replica is the node's part. For one goroutine.
type Replica struct {
	options Options
	node    *raft.RawNode
	opening *opening
	machine *core.Machine
	conf    *raftpb.ConfState
	random  *rand.Rand
	broken  error // nothing more is done after it

	// As of the last Ready.
	role   raft.StateType
	leader uint64
	term   uint64
	vote   uint64
	commit uint64
	// lastTerm is the term of the last entry applied. Invariant: lastTerm <= term.
	lastTerm uint64
	// tail is the log behind the last entry applied, as far as it was handed out to be stored.
	tail []*raftpb.Entry

	ticket   uint64 // the last one given
	verdicts []Verdict
	proposals
	election
	reads
	forgotten
	snapshots map[uint64]uint64 // leader: the snapshot each peer was waiting for when last looked
}

// New begins with what the log holds and the machine that was restored from it,
// applied being the index of the last entry the machine has. It refuses a log that
// lost entries which were committed.
func New(o Options, storage raft.Storage, machine *core.Machine, applied uint64) (*Replica, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if machine.Applied() != applied {
		return nil, fmt.Errorf("replica: the machine is after entry %d, not %d", machine.Applied(), applied)
	}
	opened, err := open(o, storage, applied)
	if err != nil {
		return nil, err
	}
	node, err := raft.NewRawNode(&raft.Config{
		ID: o.ID, ElectionTick: o.ElectionTicks, HeartbeatTick: o.HeartbeatTicks,
		Storage: opened, Applied: applied, AsyncStorageWrites: true,
		MaxSizePerMsg: messageBytes, MaxCommittedSizePerReady: applyBytes,
		MaxInflightMsgs: pipelineDepth, MaxInflightBytes: pipelineBytes,
		CheckQuorum: true, PreVote: true, StepDownOnRemoval: true,
		// No lease: a leader that was paused still believes in its own.
		ReadOnlyOption:            raft.ReadOnlySafe,
		DisableProposalForwarding: true,
		Logger:                    o.Logger,
	})
	if err != nil {
		return nil, err
	}
	r := &Replica{
		options: o, node: node, opening: opened, machine: machine, conf: opened.conf,
		term: opened.state.GetTerm(), vote: opened.state.GetVote(), commit: opened.state.GetCommit(),
		lastTerm: opened.appliedTerm,
		random:   rand.New(rand.NewPCG(o.Seed, o.ID)), snapshots: map[uint64]uint64{},
	}
	r.start = r.random.Uint64()
	if opened.blank && len(o.Members) > 0 {
		if err := node.Bootstrap(o.Members); err != nil {
			return nil, err
		}
		r.conf = beginning(o.Members)
	}
	if err := r.remember(o, opened); err != nil {
		return nil, err
	}
	r.resetTimeout()
	return r, nil
}

func (o Options) complete() (Options, error) {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&o.ElectionTicks, 10)
	set(&o.HeartbeatTicks, 1)
	set(&o.InFlight, 2)
	set(&o.EntryLimit, 1<<20)
	if o.Logger == nil {
		o.Logger = silent{}
	}
	switch {
	case o.ID == 0 || raft.IsLocalMsgTarget(o.ID):
		return o, fmt.Errorf("replica: %d cannot be a node's id", o.ID)
	case o.HeartbeatTicks < 1 || o.ElectionTicks < 3*o.HeartbeatTicks:
		return o, fmt.Errorf("replica: an election after %d ticks needs a heartbeat every %d at most", o.ElectionTicks,
			o.ElectionTicks/3)
	case o.InFlight < 1 || o.EntryLimit < 1:
		return o, errors.New("replica: InFlight and EntryLimit must be positive")
	}
	return o, nil
}

// Machine is the state after the last entry applied. It is the replica's: read it
// between calls only, from the same goroutine. A Work with a Snapshot replaces it.
func (r *Replica) Machine() *core.Machine { return r.machine }

// Conf is who takes part after the last entry applied; not to be changed.
func (r *Replica) Conf() *raftpb.ConfState { return r.conf }

// Leader is who leads, as of the last Ready; 0: no node that this one knows of.
func (r *Replica) Leader() uint64 { return r.leader }

// Status is Raft's own account, with the followers' progress on the leader. It allocates.
func (r *Replica) Status() raft.Status { return r.node.Status() }

// Committed is the greatest index known to be on a quorum of disks, as of the last Ready.
func (r *Replica) Committed() uint64 { return r.commit }

// Droppable is the last entry that may be dropped from the beginning of the log. The machine may be further,
// but Raft will still ask for the rest.
func (r *Replica) Droppable() uint64 { return r.node.BasicStatus().Applied }

func (r *Replica) nextTicket() uint64 {
	r.ticket++
	return r.ticket
}

func (r *Replica) answer(v Verdict) { r.verdicts = append(r.verdicts, v) }
