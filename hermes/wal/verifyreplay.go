package wal

import (
	"context"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// finish looks whether all is there that was committed, and replays it.
func (v *verifier) finish(ctx context.Context, newest *contents) error {
	l := v.l
	if newest != nil && l.state.GetCommit() < newest.snapIndex {
		l.state.Commit = &newest.snapIndex
	}
	where := &Damage{File: filepath.Clean(l.dir)}
	if n := len(l.full); n > 0 {
		where.File, where.At = l.full[n-1].name, l.full[n-1].end
	}
	if commit := l.state.GetCommit(); commit > l.last() {
		where.Why = fmt.Sprintf("the log ends with entry %d, and entry %d was committed", l.last(), commit)
		v.found(WrongOrder, "", where)
		return nil
	}
	if newest != nil {
		v.ahead(newest)
	}
	if err := v.committed(ctx, where); err != nil || v.lost || v.Live == nil || v.dropped == nil {
		return err
	}
	v.alive()
	return nil
}

// alive looks whether anything that is kept was in the segment whose index file alone is
// left: that one was not dropped then, but lost.
func (v *verifier) alive() {
	l := v.l
	// What trimmed it may not be known as committed here: that is shown by later entries.
	for next := l.applied + 1; next <= l.last(); {
		entries, err := l.Entries(next, l.last()+1, entriesBytes)
		if err != nil {
			v.found(BrokenFrame, l.dir, err)
			return
		}
		for _, e := range entries {
			if _, err := v.Apply(e); err != nil {
				return // it may yet be replaced
			}
		}
		next += uint64(len(entries))
	}
	for _, d := range v.dropped.topics {
		if first, ok := v.Live(d.topic); ok && d.next > first {
			v.found(MissingFile, "", &Damage{
				File: fileName(l.dir, v.dropped.number, v.dropped.generation, "log"),
				Why: fmt.Sprintf("it is missing, and topic %d keeps messages of it, up to offset %d", d.topic,
					d.next-1),
			})
			return
		}
	}
}

// committed replays committed entries behind the sealed segments.
func (v *verifier) committed(ctx context.Context, where *Damage) error {
	l := v.l
	for !v.lost && l.applied < l.state.GetCommit() {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := max(l.applied+1, l.slotFirst)
		entries, err := l.Entries(next, l.state.GetCommit()+1, entriesBytes)
		if err != nil {
			v.found(BrokenFrame, where.File, err)
			return nil
		}
		for _, e := range entries {
			slot := l.slots[e.GetIndex()-l.slotFirst]
			placed, ok := v.apply(slot.segment.name, int64(slot.at), e)
			if !ok {
				return nil
			}
			for _, p := range placed {
				v.count(p)
			}
		}
	}
	return nil
}

// ahead checks the runs of later segments that a snapshot is after.
func (v *verifier) ahead(c *contents) {
	for _, a := range c.ahead {
		i := slices.IndexFunc(v.l.full, func(s *segment) bool { return s.number == a.segment })
		if i < 0 || int64(a.run.at)+int64(a.run.bytes) > v.l.full[i].end {
			v.found(WrongIndex, "", &Damage{
				File: fileName(v.l.dir, a.segment, 0, "log"),
				Why:  fmt.Sprintf("messages of topic %d at offset %d are missing", a.topic, a.run.offset),
			})
			continue
		}
		if _, err := v.l.full[i].messages([]run{a.run}); err != nil {
			v.found(BrokenFrame, v.l.full[i].name, err)
		}
	}
}

// apply applies the next entry, and compares the snapshots that are after it. ok is
// false when that went wrong, which was noted.
func (v *verifier) apply(file string, at int64, e *raftpb.Entry) (placed []Placed, ok bool) {
	conf, err := changeMembers(v.l.conf, e)
	if err == nil {
		placed, err = v.Apply(e)
	}
	if err != nil {
		v.found(BadEntry, file, &Damage{File: file, At: at, Why: fmt.Sprintf("entry %d: %v", e.GetIndex(), err)})
		return nil, false
	}
	v.l.conf, v.l.applied = conf, e.GetIndex()
	v.compare()
	return placed, !v.lost
}

// compare compares the snapshots that are after the entry applied last.
func (v *verifier) compare() {
	for len(v.pending) > 0 && v.pending[0].index <= v.l.applied {
		p := v.pending[0]
		v.pending = v.pending[1:]
		if p.index < v.l.applied {
			continue // it was not to be had: entries before it were dropped
		}
		v.seen.Snapshots++
		if err := v.Same(p.data); err != nil {
			v.found(WrongSnapshot, p.name,
				&Damage{File: p.name, At: p.at, Why: fmt.Sprintf("the snapshot after entry %d is "+
					"not what the entries come to: %v", p.index, err)})
		}
	}
}

// count takes a run into the sums.
func (v *verifier) count(p Placed) {
	if p.Bytes == 0 {
		v.seen.Hollow++
		v.seen.Gone += uint64(p.Count)
		return
	}
	v.seen.Runs++
	v.seen.Messages += uint64(p.Count)
}

// sum is a run's, of the bytes of a segment; false: it is not in them.
func sum(b []byte, r run) (uint32, bool) {
	end := int64(r.at) + int64(r.bytes)
	if end > int64(len(b)) {
		return 0, false
	}
	return crc32.Checksum(b[r.at:end], castagnoli), true
}
