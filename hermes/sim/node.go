package sim

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3"

	"wirelab/hermes/replica"
)

// node is a machine with a disk, on which a process runs or does not.
type node struct {
	world   *World
	id      uint64
	life    int // counts the starts: what was planned in an earlier life does not happen
	replica *replica.Replica
	disk    disk
	joins   bool // it is started without knowing the members

	waiting []job // for the disk, oldest first
	busy    bool
	slow    time.Duration // added to each sync
	paused  time.Duration // until when nothing happens in the process
	stalled []func()      // what happens then

	// As of the last Work.
	leader, term uint64
	voters       []uint64
	asked        map[uint64]func(replica.Verdict) // by ticket
	compacting   bool
	spoilt       bool
	custody
	wallClock
}

// job is something for the disk, in order: a Work to store, or a snapshot to begin the log with.
type job struct {
	work    replica.Work
	compact *compaction
}

func newNode(w *World, id uint64) *node {
	n := &node{world: w, id: id, joins: id > uint64(w.options.Nodes)}
	n.disk = newDisk(w, id)
	return n
}

// start starts the process on what the disk holds.
func (n *node) start() {
	w := n.world
	if n.replica != nil || n.refused {
		return
	}
	n.life++
	opened, err := n.disk.open()
	if err != nil {
		w.fail("node %d cannot open its log: %v", n.id, err)
		return
	}
	w.judge.recovered(n, opened.machine)
	n.beginClock()
	o := replica.Options{
		ID: n.id, Seed: w.random.Uint64(), InFlight: 1 + w.random.IntN(3),
		EntryLimit: 1 << (6 + w.random.IntN(8)), Conf: opened.conf,
		Seen: n.memory, Doubtful: n.doubts,
	}
	if !n.joins {
		for id := uint64(1); id <= uint64(w.options.Nodes); id++ {
			o.Members = append(o.Members, raft.Peer{ID: id})
		}
	}
	n.replica, err = replica.New(o, opened.storage, opened.machine, opened.machine.Applied())
	if err != nil {
		w.fail("node %d cannot start: %v", n.id, err)
		return
	}
	n.asked, n.met = map[uint64]func(replica.Verdict){}, map[uint64]int{}
	n.waiting, n.busy, n.stalled, n.compacting, n.spoilt = nil, false, nil, false, false
	n.paused, n.leader, n.term, n.voters = 0, 0, 0, opened.conf.GetVoters()
	w.trace("node %d starts at entry %d", n.id, opened.machine.Applied())
	n.planTick()
}

// later plans something in the process. While the process is paused it waits, and when
// the process has ended it does not happen.
func (n *node) later(d time.Duration, do func()) {
	life := n.life
	n.world.after(d, func() {
		if n.life == life {
			n.happen(do)
		}
	})
}

// happen does something in the process now, or when it is no longer paused.
func (n *node) happen(do func()) {
	switch {
	case n.replica == nil:
	case n.paused > n.world.now:
		n.stalled = append(n.stalled, do)
	default:
		do()
		n.pump()
	}
}

func (n *node) planTick() {
	drift := time.Duration(n.id%3) * tick / 50 // no two clocks run alike
	n.later(tick+drift, func() {
		if n.world.noise.IntN(20) == 0 {
			n.keepMemory()
		}
		n.replica.Tick()
		n.judgeClocks()
		n.planTick()
	})
}

func (n *node) hears(broken uint64) {
	n.happen(func() {
		n.keepMemory()
		n.replica.Broken(broken)
	})
}

// pump does what the replica asks for.
func (n *node) pump() {
	for n.replica != nil && n.world.failure == nil && n.replica.HasWork() {
		n.work(n.replica.Ready())
		n.regain()
	}
}

func (n *node) work(work replica.Work) {
	w := n.world
	if other := new(replica.Diverged); errors.As(work.Err, &other) && n.tainted {
		w.trace("node %d: %v", n.id, work.Err)
		n.end()
		return
	}
	if work.Err != nil {
		w.fail("node %d must stop: %v", n.id, work.Err)
		return
	}
	if work.Changed && (work.Leader != n.leader || work.Term != n.term) {
		w.trace("node %d: term %d, leader %d", n.id, work.Term, work.Leader)
	}
	w.judge.leads(n, work)
	n.leader, n.term = work.Leader, work.Term
	if work.Snapshot != nil {
		w.judge.installed(n, n.replica.Machine())
	}
	for _, a := range work.Applied {
		w.judge.applied(n, a)
	}
	w.judge.state(n, n.replica.Machine())
	for _, v := range work.Verdicts {
		n.verdict(v)
	}
	n.voters = n.replica.Conf().GetVoters()
	for _, m := range work.Send {
		w.network.send(n.id, m.GetTo(), m)
	}
	if work.Stores() || len(work.Applied) > 0 {
		n.waiting = append(n.waiting, job{work: work})
		n.serve()
	}
}

func (n *node) verdict(v replica.Verdict) {
	n.world.judge.verdict(n, v)
	done := n.asked[v.Ticket]
	if done == nil {
		return
	}
	if !v.Provisional {
		delete(n.asked, v.Ticket)
	}
	done(v)
}

// serve lets the disk take all that waits: one sync for all of it.
func (n *node) serve() {
	if n.busy || len(n.waiting) == 0 {
		return
	}
	taken, sync, takes := n.waiting, false, 20*time.Microsecond
	n.waiting, n.busy = nil, true
	for _, j := range taken {
		sync = sync || j.work.MustSync || j.compact != nil
		if err := n.disk.write(j); err != nil {
			n.diskFails(err)
			return
		}
	}
	if sync {
		takes = n.slow + n.world.between(200*time.Microsecond, 3*time.Millisecond)
	}
	// The disk works on while the process is paused, but not when it is cut from power.
	life := n.life
	n.world.after(takes, func() {
		if n.life != life || n.replica == nil {
			return
		}
		if sync {
			if err := n.disk.sync(); err != nil {
				n.diskFails(err)
				return
			}
		}
		n.happen(func() { n.stored(taken) })
	})
}

// diskFails stops the node: the state on disk is known only to the next start, and no failed write or sync is
// tried again.
func (n *node) diskFails(err error) {
	if !n.spoilt {
		n.world.fail("node %d: its disk failed: %v", n.id, err)
		return
	}
	n.world.trace("node %d: %v", n.id, err)
	n.world.stop(n, false)
}

// spoil lets the disk fail soon.
func (n *node) spoil() {
	if n.replica != nil {
		n.spoilt = true
		n.disk.spoil()
	}
}

func (n *node) stored(taken []job) {
	n.busy = false
	for _, j := range taken {
		if j.compact != nil {
			n.compacting = false
			continue
		}
		if !j.work.Stores() {
			continue
		}
		for _, m := range n.replica.Stored(j.work) {
			n.world.network.send(n.id, m.GetTo(), m)
		}
	}
	n.pump()
	if n.replica != nil && n.disk.sealing() {
		n.compact()
	}
	n.serve()
}

// compact begins the log with a snapshot of the machine's current state, less the last few entries.
func (n *node) compact() {
	n.happen(func() {
		if n.compacting || n.replica.Machine().Applied() == 0 {
			return
		}
		n.compacting = true
		live := map[uint32]uint64{}
		for _, t := range n.replica.Machine().Topics("", "", 100) {
			live[t.ID] = t.First
		}
		n.waiting = append(n.waiting, job{compact: &compaction{
			index: n.replica.Machine().Applied(), conf: n.replica.Conf(),
			data: n.replica.Machine().Snapshot(), drop: n.replica.Droppable() - min(n.replica.Droppable(),
				n.world.random.Uint64N(20)),
			live: live,
		}})
		n.serve()
	})
}

// stop ends the process. With power the disk keeps what was written; without, only
// what was synced, and perhaps a part of the rest.
func (n *node) stop(power bool) {
	if n.replica == nil {
		return
	}
	n.world.trace("node %d stops, power %v", n.id, power)
	n.world.judge.stopped(n)
	n.replica, n.asked, n.stalled, n.waiting = nil, nil, nil, nil
	n.life++
	n.disk.crash(!power)
	n.world.network.gone(n.id)
}

// pause stops the process for a while, as SIGSTOP does: no one is notified.
func (n *node) pause(d time.Duration) {
	if n.replica == nil || n.paused > n.world.now {
		return
	}
	n.world.trace("node %d pauses for %v", n.id, d)
	n.paused = n.world.now + d
	life := n.life
	n.world.after(d, func() {
		if n.life != life {
			return
		}
		n.paused = 0
		stalled := n.stalled
		n.stalled = nil
		for _, do := range stalled {
			n.happen(do)
		}
	})
}

func (n *node) describe() string {
	if n.replica == nil {
		return fmt.Sprintf("node %d: down", n.id)
	}
	s := n.replica.Status()
	return fmt.Sprintf("node %d: %s of term %d, leader %d, commit %d, applied %d, voters %v learners %v, disk "+
		"waits %d "+
		"busy %v, paused %v\n\t%v",
		n.id, s.RaftState, s.GetTerm(), s.Lead, s.GetCommit(), n.replica.Machine().Applied(),
		n.replica.Conf().GetVoters(), n.replica.Conf().GetLearners(), len(n.waiting), n.busy, n.paused > n.world.now,
		s.Progress)
}
