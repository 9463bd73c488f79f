package node

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"wirelab/hermes/broker"
	"wirelab/hermes/core"
	"wirelab/hermes/replica"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

// placedEntry is an applied entry as the log's index wants it.
type placedEntry struct {
	index  uint64
	placed []wal.Placed
}

// job is one Work of the replica's, as far as the disk is concerned.
type job struct {
	work   replica.Work
	placed []placedEntry
	bytes  int64
}

// disk is the goroutine that owns the end of the log. One sync serves all that waited
// while the one before it took place.
type disk struct {
	n       *Node
	wake    chan struct{}
	indexed mark          // the last entry that Read finds
	synced  mark          // the last entry that is on disk
	last    uint64        // the last entry appended; the goroutine's own
	syncing atomic.Int64  // when the sync under way began; 0: none
	backlog atomic.Int64  // bytes handed over and not stored
	busy    atomic.Int64  // when the work under way began; 0: none
	free    atomic.Uint64 // bytes of the disk, as the maintenance saw last
	starved atomic.Bool   // nothing is stored until there is room for a segment, or a file can be opened
	noFiles atomic.Bool   // it is files

	mu   sync.Mutex // guards jobs
	jobs []job
}

func newDisk(n *Node) *disk { return &disk{n: n, wake: make(chan struct{}, 1)} }

func (d *disk) put(j job) {
	for _, e := range j.work.Append {
		j.bytes += int64(len(e.GetData()))
	}
	d.backlog.Add(j.bytes)
	d.mu.Lock()
	d.jobs = append(d.jobs, j)
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

func (d *disk) run() {
	defer d.indexed.end()
	defer d.synced.end()
	for {
		select {
		case <-d.wake:
		case <-d.n.stopped:
			return
		}
		d.mu.Lock()
		jobs := d.jobs
		d.jobs = nil
		d.mu.Unlock()
		d.busy.Store(d.n.clock.now())
		err := d.store(jobs)
		d.busy.Store(0)
		if errors.Is(err, wal.ErrNoRoom) && d.n.ending() {
			return // it waited for room, and was stored by no one
		}
		if err != nil {
			d.n.fail(err)
			return
		}
		d.sated()
	}
}

// room waits, on the disk's goroutine, until it is worth trying again to make a segment; false: the node ends.
// Until then nothing is stored, so nothing is acknowledged and no vote is given: to the others this node is one
// whose disk hangs, and they go on. What was appended before stays unchanged. Ending the node instead was what
// it did once: it then had to be started by hand when there was room, and a cluster whose disks fill alike lost
// all its nodes.
func (d *disk) room(why error) bool {
	d.noFiles.Store(errors.Is(why, wal.ErrNoFiles))
	if !d.starved.Swap(true) {
		d.n.logger.Error(d.want(), "dir", d.n.options.Dir, "why", why)
	}
	d.n.full.Store(true)
	if !d.n.cramped.Swap(true) {
		d.n.net.Tell()
	}
	was := d.busy.Swap(0) // it waits, and does not hang: a start anew would not mend it
	defer d.busy.Store(was)
	return d.pause()
}

// files waits, on the loop's goroutine, until it is worth trying again to open a file; false: the node ends.
// Nothing is applied in the meantime.
func (d *disk) files(why error) bool {
	d.n.logger.Error("no more files can be opened: this node applies nothing until one can", "why", why)
	return d.pause()
}

// pause waits for a moment; false: the node ends.
func (d *disk) pause() bool {
	again := time.NewTimer(d.n.options.Maintenance)
	defer again.Stop()
	select {
	case <-again.C:
		return true
	case <-d.n.stopped:
		return false
	}
}

// want says what a node that is starved lacks.
func (d *disk) want() string {
	if d.noFiles.Load() {
		open, limit := d.n.log.Files()
		return fmt.Sprintf("no more files can be opened (the process may have %d open; the log has %d, and reads at "+
			"most %d): "+
			"this node stores and acknowledges nothing until one can; raise the limit, or end connections",
			d.n.options.FilesLimit, open, limit)
	}
	return "the disk is full: this node stores and acknowledges nothing until there is room for a segment of its log"
}

// sated tells that what was to be stored could be.
func (d *disk) sated() {
	if d.starved.Load() && d.starved.Swap(false) {
		if d.noFiles.Swap(false) {
			d.n.full.Store(false) // maintenance looks whether the disk is
		}
		d.n.logger.Warn("the disk stores again: this node continues")
	}
}

// store writes jobs in order and syncs once.
func (d *disk) store(jobs []job) error {
	sync, bytes := false, int64(0)
	var stored []replica.Work
	for _, j := range jobs {
		w := j.work
		if w.Snapshot != nil {
			if err := d.n.log.Install(w.Snapshot); err != nil {
				return err
			}
			d.last = w.Snapshot.GetMetadata().GetIndex()
			d.indexed.reach(d.last)
			d.synced.reach(d.last)
		}
		if len(w.Append) > 0 || w.State != nil {
			if err := d.n.log.Append(w.State, w.Append); err != nil {
				return err
			}
		}
		if len(w.Append) > 0 {
			d.synced.fall(w.Append[0].GetIndex() - 1)
			d.last = w.Append[len(w.Append)-1].GetIndex()
		}
		for _, p := range j.placed {
			if err := d.n.healed(func() error { return d.n.log.Applied(p.index, p.placed) }); err != nil {
				return err
			}
			d.indexed.reach(p.index)
		}
		sync = sync || w.MustSync
		bytes += j.bytes
		if w.Stores() {
			stored = append(stored, w)
		}
	}
	if sync {
		began := time.Now()
		d.syncing.Store(d.n.clock.now())
		err := d.n.log.Sync()
		d.syncing.Store(0)
		if o := d.n.options.Observer; o != nil {
			o.Synced(time.Since(began))
		}
		if err != nil {
			return err
		}
		d.synced.reach(d.last)
	}
	d.backlog.Add(-bytes)
	d.n.loop.put(func(in *inbox) { in.stored = append(in.stored, stored...) })
	return nil
}

// mark is an index that others wait for.
type mark struct {
	mu    sync.Mutex // guards all below
	at    uint64
	ended bool
	moved chan struct{} // closed when at rises; nil: there is no waiter
}

func (m *mark) reach(index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = max(m.at, index)
	m.tell()
}

// fall takes the mark back: entries from the next one on are replaced.
func (m *mark) fall(index uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = min(m.at, index)
}

func (m *mark) reached() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *mark) tell() {
	if m.moved != nil {
		close(m.moved)
		m.moved = nil
	}
}

func (m *mark) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = true
	m.tell()
}

// wait waits until the mark is at an index; false: it was not within a time (0: any), or
// the node ends.
func (m *mark) wait(index uint64, limit time.Duration) bool {
	var late <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		late = timer.C
	}
	for {
		m.mu.Lock()
		if m.at >= index {
			m.mu.Unlock()
			return true
		}
		if m.ended {
			m.mu.Unlock()
			return false
		}
		if m.moved == nil {
			m.moved = make(chan struct{})
		}
		moved := m.moved
		m.mu.Unlock()
		select {
		case <-moved: // with the disk's goroutine at the latest
		case <-late:
			return false
		}
	}
}

// errNoFiles answers what needs a file to be opened, when none can be.
var errNoFiles = status.Errorf(status.Unavailable, "this node can open no more files: go on at another, or try again")

var errBehind = status.Errorf(status.Unavailable, "this node's disk is behind, or it is stopping: go on at another")

// readLog reads messages for the recent log. An entry is applied when a quorum has it, which may be before this
// node's own disk does: missing entries are then waited for, or readers would take it for trimmed.
func (n *Node) readLog(topic uint32, offset, before uint64, limit int) ([]broker.Batch, error) {
	n.reading.RLock()
	defer n.reading.RUnlock()
	if n.closed {
		return nil, errStopping
	}
	next := uint64(0)
	if t := n.topics.id(topic); t != nil {
		next = t.next.Load()
	}
	fed := n.loop.fed.Load()
	var got []broker.Batch
	err := n.healed(func() (err error) {
		got, err = n.log.Read(topic, offset, before, limit)
		return err
	})
	if err == nil && (len(got) == 0 || got[0].Offset > offset) {
		if !n.disk.indexed.wait(fed, n.options.SyncLimit) {
			return nil, errBehind
		}
		err = n.healed(func() (err error) {
			got, err = n.log.Read(topic, offset, before, limit)
			return err
		})
	}
	if errors.Is(err, wal.ErrNoFiles) {
		return nil, errNoFiles
	}
	if err != nil {
		if status.CodeOf(err) == status.Internal {
			n.fail(err) // what was written cannot be read any more
		}
		return nil, status.Public(err)
	}
	if hole := holeIn(got, offset); hole < min(before, next) {
		return got, n.trimmed(topic, hole)
	}
	return got, nil
}

// holeIn is the first offset that batches from an offset on do not have.
func holeIn(got []broker.Batch, offset uint64) uint64 {
	for _, b := range got {
		if b.Offset > offset {
			return offset
		}
		offset = b.Offset + uint64(b.Count)
	}
	if len(got) > 0 {
		return math.MaxUint64 // there may be more behind
	}
	return offset
}

// trimmed tells whether messages that the log does not have were trimmed. What was not is damage that
// no checksum finds, and a reader must not pass over it. A log that begins with another node's
// state may lack what was trimmed since, of which this node does not know yet.
func (n *Node) trimmed(id uint32, offset uint64) error {
	if t := n.topics.id(id); t == nil || offset < t.first.Load() {
		return nil
	}
	if low, ok := n.log.Lowest(id); !ok || low > offset {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), n.options.SyncLimit)
	defer cancel()
	kept, err := look(ctx, n, func(m *core.Machine) (bool, error) {
		t, ok := m.TopicByID(id)
		return ok && offset >= t.First, nil
	})
	switch {
	case err != nil:
		return errBehind
	case !kept:
		return nil
	}
	n.fail(fmt.Errorf("the log in %s lacks the messages of topic %d from offset %d on, which were not trimmed: %s",
		n.options.Dir, id, offset, replaced(n.options.Self.ID)))
	return errStopping
}

// byTime is the first offset at or after a time, or next.
func (n *Node) byTime(topic uint32, time int64, next uint64) (uint64, error) {
	n.reading.RLock()
	defer n.reading.RUnlock()
	if n.closed || !n.disk.indexed.wait(n.loop.fed.Load(), n.options.SyncLimit) {
		return 0, errBehind
	}
	var offset uint64
	ok := false
	err := n.healed(func() (err error) {
		offset, ok, err = n.log.ByTime(topic, time)
		return err
	})
	if errors.Is(err, wal.ErrNoFiles) {
		return 0, errNoFiles
	}
	if err != nil {
		if status.CodeOf(err) == status.Internal {
			n.fail(err)
		}
		return 0, status.Public(err)
	}
	if !ok {
		return next, nil
	}
	return offset, nil
}
