package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"wirelab/hermes/core"
	"wirelab/hermes/peer"
	"wirelab/hermes/wal"
	"wirelab/wire/status"
)

const (
	// mendLimit is how long the repair of one segment may take for who waits for it, and fetchLimit
	// how long another node may take for an entry.
	mendLimit  = 30 * time.Second
	fetchLimit = 5 * time.Second
	// scrubRest is how many rounds of maintenance lie between two rounds over the whole log.
	scrubRest = 60
	// scrubGrace is how many rounds of maintenance a node continues with damage that cannot be repaired.
	scrubGrace = 3
	// scrubBehind of the disk's backlog let scrubbing wait: publishers come first.
	scrubBehind = 1 << 20
)

// scrubber looks for damage in the log, and repairs what it, or who reads, finds: index files by replaying the
// log, entries with the copies of other nodes. Damage that cannot be repaired ends the node. Where a node that
// may have a copy cannot be reached, who reads is sent elsewhere, the node is not ready, and it is tried again.
type scrubber struct {
	n      *Node
	ctx    context.Context // ends when the node begins to end
	cancel context.CancelFunc

	bytes, found, repaired atomic.Uint64
	open                   atomic.Pointer[wal.Damage] // found, and not repaired yet; nil: none

	turn    atomic.Uint64     // repairs that are done
	mending chan struct{}     // of capacity 1, full while a repair is under way; guards all below
	turns   map[string]uint64 // the last repair of a file
	since   int64             // when damage was found that cannot be repaired; 0: there is none
	again   chan struct{}     // of capacity 1: something could not be repaired
}

func newScrubber(n *Node) *scrubber {
	s := &scrubber{n: n, mending: make(chan struct{}, 1), again: make(chan struct{}, 1), turns: map[string]uint64{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// scratch is a machine to rebuild an index file with.
type scratch struct{ *opened }

func newScratch() wal.Machine { return scratch{&opened{machine: core.New()}} }

func (s scratch) Restore(snapshot []byte, index uint64) error { return s.restore(snapshot, index) }
func (s scratch) Apply(e *raftpb.Entry) ([]wal.Placed, error) { return s.keep(e) }
func (s scratch) Snapshot() []byte                            { return s.machine.Snapshot() }

func damaged(err error) (d *wal.Damage, ok bool) {
	ok = errors.As(err, &d)
	return d, ok
}

// note counts, and tells.
func (s *scrubber) note(did wal.Scrubbed) {
	s.bytes.Add(uint64(did.Bytes))
	s.found.Add(uint64(len(did.Found)))
	s.repaired.Add(uint64(did.Repaired))
	for i, d := range did.Found {
		s.n.logger.Error("the log is damaged", "file", d.File, "byte", d.At, "why", d.Why, "repaired", i < did.Repaired)
	}
}

// mend repairs a damage that a read has met, with all of the segment that it is in; nil: it may be read
// again. It waits for a repair under way, which may be the same.
func (s *scrubber) mend(d *wal.Damage, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	was := s.turn.Load()
	select {
	case s.mending <- struct{}{}:
	case <-ctx.Done():
		return errDamaged
	}
	defer func() { <-s.mending }()
	if s.turns[d.File] > was {
		return nil // while this one waited
	}
	f := &fetching{n: s.n}
	s.open.Store(d)
	did, err := s.n.log.Mend(ctx, d, wal.Care{Fetch: f.fetch})
	s.note(did)
	return s.mended(f, d.File, err)
}

// mayPass tells whether damage that cannot be repaired is known for so short that the segment may yet be
// cleaned or dropped, as it may be with those who lack the entry. With mending.
func (s *scrubber) mayPass() bool {
	now := s.n.clock.now()
	if s.since == 0 {
		s.since = now
	}
	return time.Duration(now-s.since) < scrubGrace*s.n.options.Maintenance
}

// passing reports whether an error is temporary and does not mean damage.
func passing(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

var errDamaged = status.Errorf(status.Unavailable,
	"a part of this node's log is damaged and not repaired yet: go on at another node")

// mended tells what becomes of a repair. With mending.
func (s *scrubber) mended(f *fetching, file string, err error) error {
	d, ok := damaged(err)
	switch {
	case err == nil:
		s.open.Store(nil)
		s.since = 0
		s.turns[file] = s.turn.Add(1)
		return nil
	case s.n.ending():
		return errStopping
	case ok && (f.unreached || s.mayPass()) || passing(err):
		if ok {
			s.open.Store(d)
		}
		s.n.logger.Warn("damage of the log cannot be repaired yet", "why", err)
		select {
		case s.again <- struct{}{}:
		default:
		}
		return errDamaged
	}
	s.n.fail(err)
	return errStopping
}

// healed reads, and again once the damage that it met is repaired.
func (n *Node) healed(read func() error) error {
	err := read()
	for range 2 { // repaired entries may lead to damaged ones
		d, ok := damaged(err)
		if !ok {
			return err
		}
		if err := n.scrubber.mend(d, mendLimit); err != nil {
			return err
		}
		err = read()
	}
	return err
}

// fetching gets entries from the other nodes.
type fetching struct {
	n         *Node
	unreached bool // one that may have it was not
}

func (f *fetching) fetch(
	ctx context.Context, index, term uint64, fit func(*raftpb.Entry) error,
) (*raftpb.Entry, error) {
	err := errors.New("this node is alone")
	for _, id := range *f.n.fanout.others.Load() {
		var e *raftpb.Entry
		if e, err = f.ask(ctx, id, index, term); err == nil {
			if err = fit(e); err == nil {
				return e, nil
			}
		}
		err = fmt.Errorf("node %d: %w", id, err)
		switch status.CodeOf(err) {
		case status.Unavailable, status.DeadlineExceeded, status.Canceled:
			f.unreached = true
		}
	}
	return nil, err
}

func (f *fetching) ask(ctx context.Context, id, index, term uint64) (*raftpb.Entry, error) {
	of, ok := f.n.net.Broker(id).(peer.Entries)
	if !ok {
		return nil, status.Errorf(status.Unimplemented, "it gives no entries")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	return of.Entry(ctx, index, term)
}

var _ peer.Entries = local{}

// Entry implements [peer.Entries]: another node repairs its log with what this one has.
func (n local) Entry(_ context.Context, index, term uint64) (*raftpb.Entry, error) {
	n.reading.RLock()
	defer n.reading.RUnlock()
	switch {
	case n.closed:
		return nil, errStopping
	case index == 0 || index > n.loop.fed.Load():
		return nil, status.Errorf(status.Unavailable, "entry %d is not known to be committed here yet", index)
	}
	if !n.disk.indexed.wait(index, n.options.SyncLimit) {
		return nil, errBehind
	}
	entries, err := n.log.Entries(index, index+1, 0)
	_, bad := damaged(err)
	switch {
	case errors.Is(err, raft.ErrCompacted):
		return nil, status.Errorf(status.NotFound, "entry %d was dropped here", index)
	case bad:
		// It is not repaired on behalf of another, who may be asked in turn: scrubbing comes to it.
		return nil, status.Errorf(status.NotFound, "entry %d is damaged here too", index)
	case err != nil:
		return nil, status.Errorf(status.Unavailable, "entry %d cannot be read here", index)
	case entries[0].GetTerm() != term:
		return nil, status.Errorf(status.NotFound, "entry %d is of term %d here", index, entries[0].GetTerm())
	}
	return entries[0], nil
}

// storage is the log as Raft reads it, on the loop. The library takes an error for entries that were
// dropped, or panics.
type storage struct {
	*wal.Log
	n *Node
}

// Entries repairs damaged parts, for which the loop waits: not for longer than others wait for a leader.
func (s storage) Entries(lo, hi, limit uint64) ([]*raftpb.Entry, error) {
	entries, err := s.Log.Entries(lo, hi, limit)
	d, ok := damaged(err)
	if !ok {
		return entries, err
	}
	if s.n.scrubber.mend(d, 20*s.n.options.Tick) == nil {
		if entries, err = s.Log.Entries(lo, hi, limit); err == nil {
			return entries, nil
		}
	}
	// Whom they are for is to be sent a snapshot then, which Snapshot does not give.
	return nil, raft.ErrCompacted
}

// Snapshot gives none while what it would be sent for is entries that are to be repaired.
func (s storage) Snapshot() (*raftpb.Snapshot, error) {
	if s.n.scrubber.open.Load() != nil {
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	snapshot, err := s.Log.Snapshot()
	if d, ok := damaged(err); ok {
		_ = s.n.scrubber.mend(d, 20*s.n.options.Tick) // it ends the node, or the next call finds it whole
		return nil, raft.ErrSnapshotTemporarilyUnavailable
	}
	return snapshot, err
}

// stopOver ends the node where the library panicked over entries that are damaged.
func (s *scrubber) stopOver(panicked any) {
	d := s.open.Load()
	if d == nil && !s.n.ending() {
		panic(panicked) // a mistake in the source that this caught, and has no answer to
	}
	if d != nil {
		s.n.fail(d)
	}
}

// run scrubs the log, round after round, at an even pace, and tries again what could not be repaired.
func (s *scrubber) run() {
	rate := s.n.options.ScrubBytes
	for after := uint64(0); ; {
		rest := scrubRest * s.n.options.Maintenance
		if d := s.open.Load(); d != nil {
			if s.mend(d, mendLimit) != nil {
				rest = s.n.options.Maintenance
			}
		} else if rate > 0 {
			did, more, err := s.next(after, rate)
			after = 0
			if more && err == nil {
				after, rest = did.Number, 0
			} else if s.open.Load() != nil {
				rest = s.n.options.Maintenance // someone was told so in the meantime
			}
		}
		if !s.sleep(rest) {
			return
		}
	}
}

// next scrubs one segment.
func (s *scrubber) next(after uint64, rate int64) (did wal.Scrubbed, more bool, err error) {
	f := &fetching{n: s.n}
	care := wal.Care{Fetch: f.fetch, Pace: func(_ context.Context, bytes int64) error {
		return s.pace(bytes, rate)
	}}
	did, more, err = s.n.log.Scrub(s.ctx, after, care)
	if len(did.Found) == 0 && err == nil {
		s.bytes.Add(uint64(did.Bytes))
		return did, more, nil
	}
	select {
	case s.mending <- struct{}{}:
	case <-s.n.stopped:
		return did, more, errStopping
	}
	defer func() { <-s.mending }()
	s.note(did)
	file := ""
	if len(did.Found) > 0 {
		file = did.Found[0].File
	}
	return did, more, s.mended(f, file, err)
}

// pace waits as long as reading so many bytes may take, and while the disk is behind.
func (s *scrubber) pace(bytes, rate int64) error {
	wait := time.Duration(float64(bytes) / float64(rate) * float64(time.Second))
	for first := true; first || s.n.disk.backlog.Load() > scrubBehind; first = false {
		if !s.sleep(wait) {
			return errStopping
		}
		wait = max(wait, time.Millisecond)
	}
	return nil
}

// sleep waits, while no damage is known that is to be tried again; false: the node ends.
func (s *scrubber) sleep(d time.Duration) bool {
	if d <= 0 {
		return !s.n.ending()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.again:
		return s.sleep(min(d, s.n.options.Maintenance))
	case <-s.n.stopped:
		return false
	}
	return true
}
