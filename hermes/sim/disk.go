package sim

import (
	"errors"
	"slices"
	"syscall"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/replica"
)

// disk keeps a node's log.
type disk interface {
	// open reads the log after a start.
	open() (opened, error)
	// write writes without syncing; sync syncs all that was written.
	write(j job) error
	sync() error
	// crash ends the process; a power cut leaves what was synced and perhaps more.
	crash(powerCut bool)
	// storage is the log as the running process reads it.
	storage() raft.Storage
	// sealing reports whether a compaction is due.
	sealing() bool
	// messages are what the log has of a topic; ok is false if it keeps no messages apart from entries.
	messages(topic uint32, first, next uint64) (batches []broker.Batch, ok bool, err error)
	// spoil lets the next write or sync fail, as a bad or full disk does.
	spoil()
	// copy copies the disk; putBack replaces its content with it, while no process runs.
	copy() (putBack func())
	// durable reports whether an entry would survive a power cut, or did until the disk was put back.
	durable(index, term uint64) bool
}

// opened is what a disk holds.
type opened struct {
	storage raft.Storage
	machine *core.Machine
	conf    *raftpb.ConfState
}

// compaction is a snapshot to begin the log with; entries up to drop go.
type compaction struct {
	index uint64
	conf  *raftpb.ConfState
	data  []byte
	drop  uint64            // at most index
	live  map[uint32]uint64 // each topic's first offset
}

func newDisk(w *World, id uint64) disk {
	if w.options.Disk == WAL {
		return newWALDisk(w, id)
	}
	return &modelDisk{world: w, node: id}
}

// modelDisk is a list of writes. It is what package wal is held to.
type modelDisk struct {
	world  *World
	node   uint64
	writes []write
	synced int // how many of writes would survive
	cached *image
	safe   *image // what of writes[:synced] an Open would find
	safeAt int
	spoilt bool
	had    []*image // what was on the disk when it was put back to a copy
}

// write is one of: an entry, a hard state, a snapshot.
type write struct {
	entry   *raftpb.Entry
	state   *raftpb.HardState
	install *raftpb.Snapshot
	compact *compaction
}

// image is what writes add up to.
type image struct {
	*raft.MemoryStorage
	state *raftpb.HardState
}

func newImage() *image { return &image{MemoryStorage: raft.NewMemoryStorage()} }

func (i *image) apply(w write) error {
	switch {
	case w.entry != nil:
		return i.Append([]*raftpb.Entry{w.entry})
	case w.state != nil:
		i.state = w.state
		return i.SetHardState(w.state)
	case w.install != nil:
		err := i.ApplySnapshot(w.install)
		if errors.Is(err, raft.ErrSnapOutOfDate) {
			err = nil
		}
		return err
	}
	c := w.compact
	if _, err := i.CreateSnapshot(c.index, c.conf, c.data); err != nil && !errors.Is(err, raft.ErrSnapOutOfDate) {
		return err
	}
	if c.drop > 0 {
		if err := i.Compact(c.drop); err != nil && !errors.Is(err, raft.ErrCompacted) {
			return err
		}
	}
	return nil
}

func (d *modelDisk) open() (opened, error) {
	d.cached = newImage()
	for _, w := range d.writes {
		if err := d.cached.apply(w); err != nil {
			return opened{}, err
		}
	}
	// What was written by a process that was killed is read here although it was never
	// synced, and is counted as stored from now on: so it is synced first.
	d.synced = len(d.writes)
	d.safe, d.safeAt = newImage(), 0
	machine := core.New()
	conf := &raftpb.ConfState{}
	snapshot, err := d.cached.Snapshot()
	if err != nil {
		return opened{}, err
	}
	if !raft.IsEmptySnap(snapshot) {
		if machine, err = core.Restore(snapshot.GetData()); err != nil {
			return opened{}, err
		}
		conf = snapshot.GetMetadata().GetConfState()
	}
	last, err := d.cached.LastIndex()
	if err != nil {
		return opened{}, err
	}
	for index := machine.Applied() + 1; index <= min(last, d.cached.state.GetCommit()); index++ {
		entries, err := d.cached.Entries(index, index+1, 1)
		if err != nil {
			return opened{}, err
		}
		if _, err := replica.Apply(machine, entries[0]); err != nil {
			return opened{}, err
		}
		if conf, err = replica.Change(conf, entries[0]); err != nil {
			return opened{}, err
		}
	}
	return opened{d.cached, machine, conf}, nil
}

func (d *modelDisk) write(j job) error {
	add := func(w write) error {
		d.writes = append(d.writes, w)
		return d.cached.apply(w)
	}
	if d.spoilt {
		return syscall.ENOSPC
	}
	if j.compact != nil {
		return add(write{compact: j.compact})
	}
	if j.work.Snapshot != nil {
		if err := add(write{install: j.work.Snapshot}); err != nil {
			return err
		}
	}
	for _, e := range j.work.Append {
		if err := add(write{entry: e}); err != nil {
			return err
		}
	}
	if j.work.State != nil {
		return add(write{state: j.work.State})
	}
	return nil
}

func (d *modelDisk) sync() error {
	if d.world.options.Sabotage != NoSync {
		d.synced = len(d.writes)
	}
	return nil
}

func (d *modelDisk) storage() raft.Storage { return d.cached }

func (d *modelDisk) crash(powerCut bool) {
	if powerCut {
		if lost := len(d.writes) - d.synced; lost > 0 {
			d.writes = d.writes[:d.synced+d.world.random.IntN(lost+1)]
		}
	}
	d.cached, d.spoilt = nil, false
}

func (d *modelDisk) sealing() bool { return false }
func (d *modelDisk) spoil()        { d.spoilt = true }

func (d *modelDisk) messages(uint32, uint64, uint64) ([]broker.Batch, bool, error) {
	return nil, false, nil
}

func (d *modelDisk) copy() (putBack func()) {
	writes := slices.Clone(d.writes)
	return func() {
		if d.catchUp() == nil {
			d.had = append(d.had, d.safe)
		}
		d.writes, d.synced = slices.Clone(writes), len(writes)
		d.safe, d.safeAt = nil, 0
	}
}

func (d *modelDisk) durable(index, term uint64) bool {
	if err := d.catchUp(); err != nil {
		d.world.fail("node %d: %v", d.node, err)
		return false
	}
	return slices.ContainsFunc(append(d.had[:len(d.had):len(d.had)], d.safe), func(i *image) bool {
		return i.holds(index, term)
	})
}

func (i *image) holds(index, term uint64) bool {
	snapshot, err := i.Snapshot()
	if err != nil {
		return false
	}
	if index <= snapshot.GetMetadata().GetIndex() {
		return true
	}
	found, err := i.Term(index)
	return err == nil && found == term
}

// catchUp brings safe up to the synced part.
func (d *modelDisk) catchUp() error {
	if d.safe == nil {
		d.safe, d.safeAt = newImage(), 0
	}
	for ; d.safeAt < d.synced; d.safeAt++ {
		if err := d.safe.apply(d.writes[d.safeAt]); err != nil {
			return err
		}
	}
	return nil
}
