package sim

import (
	"fmt"
	"strings"
	"syscall"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/record"
	"wirelab/hermes/replica"
	"wirelab/hermes/vfs"
	"wirelab/hermes/wal"
)

// walDisk is package wal on a file system in memory. Next to it the model keeps the same writes: after each
// crash the log must be what some number of them make, and no fewer than were synced.
type walDisk struct {
	world *World
	node  uint64
	fs    *vfs.Memory
	log   *wal.Log
	model modelDisk
	time  int64 // of the last entry applied
}

func newWALDisk(w *World, id uint64) *walDisk {
	return &walDisk{world: w, node: id, fs: vfs.NewMemory(), model: modelDisk{world: w, node: id}}
}

func (d *walDisk) open() (opened, error) {
	var machine *core.Machine
	restore := func(snapshot []byte, index uint64) (err error) {
		if machine = core.New(); snapshot != nil {
			machine, err = core.Restore(snapshot)
		}
		if err == nil && machine.Applied() != index {
			err = fmt.Errorf("a snapshot after entry %d is one after %d", index, machine.Applied())
		}
		d.time = machine.Time()
		return err
	}
	apply := func(e *raftpb.Entry) ([]wal.Placed, error) {
		outcomes, err := replica.Apply(machine, e)
		if err != nil {
			return nil, err
		}
		return d.placed(e, outcomes)
	}
	// Small, so that segments are sealed and cleaned in a short run.
	o := wal.Options{SegmentBytes: 4096 << d.world.random.IntN(3), CacheBytes: 1 << (8 + d.world.random.IntN(8))}
	var err error
	if d.log, err = wal.Open(d.fs, "log", o, restore, apply); err != nil {
		return opened{}, err
	}
	state, conf, err := d.log.InitialState()
	if err != nil {
		return opened{}, err
	}
	if err := d.recovered(state); err != nil {
		return opened{}, err
	}
	return opened{d.log, machine, conf}, nil
}

// recovered finds how many of the writes have survived.
func (d *walDisk) recovered(state *raftpb.HardState) error {
	last, err := d.log.LastIndex()
	if err != nil {
		return err
	}
	term, err := d.log.Term(last)
	if err != nil {
		return err
	}
	if err := d.model.catchUp(); err != nil {
		return err
	}
	seen := ""
	for kept := d.model.synced; ; kept++ {
		image := d.model.safe
		has, err := image.LastIndex()
		if err != nil {
			return err
		}
		of, err := image.Term(has)
		if err != nil {
			return err
		}
		if has == last && of == term && image.state.GetTerm() == state.GetTerm() &&
			image.state.GetVote() == state.GetVote() {
			d.model.writes = d.model.writes[:kept]
			d.model.synced, d.model.safeAt = kept, kept
			return nil
		}
		seen += fmt.Sprintf("\n\t%d writes make entry %d of term %d, %v", kept, has, of, image.state)
		if kept == len(d.model.writes) {
			return fmt.Errorf("the log ends with entry %d of term %d, %v, which no number of writes makes; %d were "+
				"synced:%s",
				last, term, state, d.model.synced, seen)
		}
		if err := image.apply(d.model.writes[kept]); err != nil {
			return err
		}
	}
}

func (d *walDisk) placed(e *raftpb.Entry, outcomes []core.Outcome) (placed []wal.Placed, err error) {
	if e.GetType() != raftpb.EntryNormal || len(e.GetData()) == 0 {
		return nil, nil
	}
	at, items, err := record.Parse(e.GetData())
	if err != nil {
		return nil, err
	}
	d.time = max(d.time, at)
	i := 0
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		o, r := outcomes[i], item.Run
		i++
		if item.Command == nil && o.Err == nil && !o.Duplicate {
			when := d.time
			if r.Old {
				when = r.Time
			}
			placed = append(placed, wal.Placed{
				Topic: r.Topic, Offset: o.Offset, Count: r.Count, Time: when, At: r.At,
				Bytes: len(r.Messages),
			})
		}
	}
	return placed, nil
}

func (d *walDisk) write(j job) error {
	if j.compact != nil {
		return d.maintain(j.compact)
	}
	w := j.work
	if w.Snapshot != nil {
		d.model.writes = append(d.model.writes, write{install: w.Snapshot})
		if err := d.log.Install(w.Snapshot); err != nil {
			return err
		}
		d.model.synced = len(d.model.writes) // Install does that
	}
	for _, e := range w.Append {
		d.model.writes = append(d.model.writes, write{entry: e})
	}
	if w.State != nil {
		d.model.writes = append(d.model.writes, write{state: w.State})
	}
	if len(w.Append) > 0 || w.State != nil {
		if err := d.log.Append(w.State, w.Append); err != nil {
			return err
		}
	}
	for _, a := range w.Applied {
		placed, err := d.placed(a.Entry, a.Outcomes)
		if err != nil {
			return err
		}
		if err := d.log.Applied(a.Entry.GetIndex(), placed); err != nil {
			return err
		}
	}
	return nil
}

// maintain seals full segments and cleans or drops dead ones.
func (d *walDisk) maintain(c *compaction) error {
	if err := d.sync(); err != nil {
		return err
	}
	for {
		last, ok := d.log.Sealing()
		if !ok || last > c.index {
			break
		}
		if err := d.log.Seal(c.index, c.data, c.conf); err != nil {
			return err
		}
		d.world.judge.report.Sealed++
	}
	live := func(topic uint32) (uint64, bool) {
		first, ok := c.live[topic]
		if topic == 1 && d.node%2 == 0 {
			first = 0 // more than is kept: what follows is hollowed and joined, and not dropped
		}
		return first, ok
	}
	for range 6 {
		before := d.log.Usage()
		if done, err := d.log.Clean(live); err != nil || !done {
			return err
		}
		d.world.judge.report.Cleaned++
		switch after := d.log.Usage(); {
		case after.First > before.First:
			d.world.judge.report.Dropped++
		case after.Segments < before.Segments:
			d.world.judge.report.Joined++
		}
	}
	return nil
}

func (d *walDisk) sync() error {
	if d.world.options.Sabotage == NoSync {
		return nil
	}
	if err := d.log.Sync(); err != nil {
		return err
	}
	d.model.synced = len(d.model.writes)
	if d.world.chance(0.5) { // else Append makes the next segment itself
		return d.log.Prepare()
	}
	return nil
}

// crash ends the process. Files that were open are dead; the log that had them is left unchanged, as a process
// leaves it that was killed.
func (d *walDisk) crash(powerCut bool) {
	d.fs.Fail(nil)
	cut := vfs.Everything
	if powerCut {
		cut = vfs.Draw(d.world.random)
	}
	d.fs.Cut(cut)
	d.log = nil
}

func (d *walDisk) storage() raft.Storage { return d.log }

func (d *walDisk) sealing() bool {
	_, ok := d.log.Sealing()
	return ok
}

// spoil draws how the disk fails.
func (d *walDisk) spoil() {
	ops := [...]vfs.Op{vfs.Sync, vfs.Write, vfs.Create}
	op, err := ops[d.world.random.IntN(len(ops))], error(syscall.EIO)
	if op != vfs.Sync && d.world.chance(0.5) {
		err = syscall.ENOSPC
	}
	done := d.world.random.IntN(100)
	d.fs.Fail(func(c vfs.Call) (int, error) {
		if c.Op != op || strings.HasSuffix(c.Name, ".lock") {
			return 0, nil
		}
		return min(done, c.Bytes), err
	})
}

func (d *walDisk) copy() (putBack func()) {
	files, model := d.fs.Copy(), d.model.copy()
	return func() {
		d.fs = files.Copy()
		model()
	}
}

func (d *walDisk) durable(index, term uint64) bool { return d.model.durable(index, term) }

func (d *walDisk) messages(topic uint32, first, next uint64) ([]broker.Batch, bool, error) {
	batches, err := d.log.Read(topic, first, next, 1<<(4+d.world.random.IntN(10)))
	return batches, true, err
}
