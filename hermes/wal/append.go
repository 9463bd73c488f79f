package wal

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/vfs"
)

// writeBytes is how much is put together before it is written.
const writeBytes = 1 << 20

// Append writes entries, which may replace a tail of those there are, and the hard
// state if it is not empty. Nothing is safe before Sync. The entries are kept, for
// who reads them soon, and must not be changed.
func (l *Log) Append(state *raftpb.HardState, entries []*raftpb.Entry) error {
	if err := l.err(); err != nil {
		return err
	}
	if len(entries) > 0 {
		if err := l.fits(entries); err != nil {
			return err
		}
	}
	var slots []slot
	l.buf = l.buf[:0]
	for _, e := range entries {
		size := entryBytes + len(e.GetData())
		if err := l.room(int64(frameBytes(size))); err != nil {
			return l.broken(err)
		}
		at := l.active.end + int64(len(l.buf))
		slots = append(slots, slot{l.active, uint32(at), uint32(size)})
		l.buf = appendEntry(l.buf, e, at-l.synced, l.active.salt)
		if len(l.buf) >= writeBytes {
			if err := l.flush(); err != nil {
				return l.broken(err)
			}
		}
	}
	// The state comes after the entries: a torn write may leave entries without it, which was not reported, but
	// never a commit index without its entries.
	if state != nil && (state.GetTerm() != 0 || state.GetVote() != 0 || state.GetCommit() != 0) {
		if err := l.room(int64(frameBytes(stateBytes))); err != nil {
			return l.broken(err)
		}
		var from int
		l.buf, from = beginFrame(l.buf)
		l.buf = appendState(l.buf, state)
		l.buf = endFrame(l.buf, from, kindState, l.active.end+int64(from)-l.synced, l.active.salt)
	} else {
		state = nil
	}
	if err := l.flush(); err != nil {
		return l.broken(err)
	}
	l.appended(state, entries, slots)
	return nil
}

// fits refuses entries that are not consecutive or leave a gap: a mistake of the caller.
func (l *Log) fits(entries []*raftpb.Entry) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	from := entries[0].GetIndex()
	if from < l.slotFirst || from > l.last()+1 || from <= l.applied {
		return fmt.Errorf("entry %d cannot be appended: the log goes to %d, and the entries before %d are fixed", from,
			l.last(),
			max(l.slotFirst, l.applied+1))
	}
	for i, e := range entries {
		if e.GetIndex() != from+uint64(i) {
			return fmt.Errorf("entries to be appended are not consecutive: %d is followed by %d", from+uint64(i)-1,
				e.GetIndex())
		}
	}
	return nil
}

// appended makes what was written known to the readers.
func (l *Log) appended(state *raftpb.HardState, entries []*raftpb.Entry, slots []slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if state != nil {
		l.state = proto.CloneOf(state)
	}
	l.full = append(l.full, l.rolled...)
	l.rolled = nil
	if len(entries) > 0 {
		l.stable = min(l.stable, entries[0].GetIndex()-1)
		l.replacing = l.replacing || entries[0].GetIndex() <= l.last()
		l.insert(entries[0].GetIndex(), slots, func(i int) uint64 { return entries[i].GetTerm() })
		l.cache.replace(entries, l.o.CacheBytes)
	}
}

// insert puts slots in place of those from an index on. With mu.
func (l *Log) insert(from uint64, slots []slot, term func(int) uint64) {
	l.slots = append(l.slots[:from-l.slotFirst], slots...)
	for n := len(l.terms); n > 0 && l.terms[n-1].index >= from; n = len(l.terms) {
		l.terms = l.terms[:n-1]
	}
	for i := range slots {
		if t := term(i); len(l.terms) == 0 || l.terms[len(l.terms)-1].term != t {
			l.terms = append(l.terms, termFrom{from + uint64(i), t})
		}
	}
}

// flush writes the buffer.
func (l *Log) flush() error {
	if len(l.buf) == 0 {
		return nil
	}
	if _, err := l.active.out.WriteAt(l.buf, l.active.end); err != nil {
		return err
	}
	l.active.end += int64(len(l.buf))
	l.buf = l.buf[:0]
	return nil
}

// room sees to it that a frame of size bytes fits behind the buffer, in the next
// segment where it does not fit in this one.
func (l *Log) room(size int64) error {
	if l.active.end+int64(len(l.buf))+size <= l.active.size {
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	// All of the old one is on disk before anything of the new one is written.
	if err := l.active.out.Sync(); err != nil {
		return err
	}
	return l.roll(size)
}

// roll begins the next segment.
func (l *Log) roll(size int64) error {
	for {
		err := l.rollOnce(size)
		if err == nil || !errors.Is(err, ErrNoRoom) || l.o.Room == nil || !l.o.Room(err) {
			return err
		}
	}
}

func (l *Log) rollOnce(size int64) error {
	l.making.Lock()
	defer l.making.Unlock()
	next, err := l.next(size)
	if err != nil {
		return err
	}
	old := l.active
	if err := l.begin(next, start{before: old.number, end: old.end, state: l.state}); err != nil {
		return err
	}
	old.full()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rolled = append(l.rolled, old)
	l.active, l.prepared = next, nil
	return nil
}

// begin writes a segment's first frame. For the goroutine that appends, which alone reads and writes state.
func (l *Log) begin(s *segment, st start) error {
	s.start, s.began = st, true
	l.synced = blockBytes
	b, from := beginFrame(nil)
	b = endFrame(st.append(b), from, kindStart, 0, s.salt)
	if _, err := s.out.WriteAt(b, s.end); err != nil {
		return err
	}
	s.end += int64(len(b))
	return nil
}

// next gives the prepared segment, or makes one that has room for size bytes. With making.
func (l *Log) next(size int64) (*segment, error) {
	need := max(l.o.SegmentBytes, blockBytes+int64(frameBytes(startBytes))+size)
	if s := l.prepared; s != nil {
		if s.size >= need {
			return s, nil
		}
		if err := l.discard(s); err != nil {
			return nil, err
		}
	}
	return l.make(l.active.number+1, need)
}

// discard takes the prepared segment away. With making.
func (l *Log) discard(s *segment) error {
	l.mu.Lock()
	l.prepared = nil
	l.mu.Unlock()
	if err := l.fs.Remove(s.name); err != nil {
		return err
	}
	return s.release()
}

// bigSync is how much a sync writes on average above which a segment's zeros are not
// written ahead. They make a sync quicker, since it need not write the file system's
// journal, and have the disk write everything twice. Measured with 10 KB a sync: zeros 0.14 ms,
// room that is only reserved 0.22 ms; with 200 KB a sync as fast as it goes: 90 and 153 MiB/s.
const bigSync = 64 << 10

// make makes a segment. It is not begun where there is not room for it: half a segment would take the leftovers
// from all others on this disk, again with each try.
func (l *Log) make(number uint64, size int64) (*segment, error) {
	if free, err := l.fs.Free(l.dir); err == nil && free < uint64(size) {
		return nil, fmt.Errorf("%w: a segment takes %d bytes, and %d are free: %w", ErrNoRoom, size, free,
			syscall.ENOSPC)
	}
	create := l.fs.Create
	if syncs, written := l.syncs.Swap(0), l.written.Swap(0); syncs > 0 && written/syncs > bigSync {
		if r, ok := l.fs.(vfs.Reserver); ok {
			create = r.Reserve
		}
	}
	s, err := l.makeSegment(create, &segment{number: number, size: size})
	if err != nil {
		return nil, err
	}
	if err := l.syncDir(); err != nil {
		_ = s.release() // the first failure is the one to tell
		return nil, err
	}
	return s, nil
}

// Preparing tells whether Prepare has something to do: the active segment is half
// full and the next is not there.
func (l *Log) Preparing() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.failed == nil && l.prepared == nil && len(l.slots) > 0 &&
		int64(l.slots[len(l.slots)-1].at) > l.active.size/2
}

// Prepare makes the next segment ready, which takes as long as writing 64 MiB does.
// Where it was not called in time Append does it. A failure ends writing, as any does, but for
// ErrNoRoom: then there is time until the active segment is full.
func (l *Log) Prepare() error {
	l.making.Lock()
	defer l.making.Unlock()
	if !l.Preparing() {
		return nil
	}
	s, err := l.make(l.active.number+1, l.o.SegmentBytes)
	if err != nil {
		return l.spoils(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prepared = s
	return nil
}

// Sync makes all that was appended safe: one fdatasync (two where a segment ended).
func (l *Log) Sync() error {
	if err := l.err(); err != nil {
		return err
	}
	if l.synced == l.active.end {
		return nil
	}
	if err := l.active.out.Sync(); err != nil {
		return l.broken(fmt.Errorf("%s: %w", filepath.Base(l.active.name), err))
	}
	l.syncs.Add(1)
	l.written.Add(l.active.end - l.synced)
	l.synced = l.active.end
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replacing, l.stable = false, l.last()
	return nil
}
