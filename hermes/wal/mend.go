package wal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"wirelab/hermes/record"
)

// mend repairs a segment in place. A power cut in the meantime leaves what was broken broken, and nothing else:
// only what was wrong is written. current is false where the segment was cleaned or dropped in the meantime.
func (l *Log) mend(ctx context.Context, s *segment, h harm, care Care) (current bool, err error) {
	frames := make([][]byte, 0, len(h.entries))
	for _, e := range h.entries {
		frame, err := e.fetch(ctx, s, h, care)
		if err != nil {
			d := h.found[slices.IndexFunc(h.found, func(d Damage) bool { return d.At == int64(e.place.at) })]
			d.Why += fmt.Sprintf(", and no other node has it to repair it with: %v", err)
			return true, &d
		}
		frames = append(frames, frame)
	}
	l.maintain.Lock()
	defer l.maintain.Unlock()
	l.mu.RLock()
	current = slices.Contains(l.segments(), s)
	l.mu.RUnlock()
	if !current {
		return false, nil
	}
	if len(h.entries)+len(h.gaps) > 0 || h.block {
		if err := l.mendLog(s, h, frames); err != nil {
			return true, err
		}
	}
	if h.index {
		return true, l.rebuild(s)
	}
	return true, nil
}

// mendLog writes the broken parts of a segment's own file. With maintain.
func (l *Log) mendLog(s *segment, h harm, frames [][]byte) error {
	f, err := l.fs.Open(s.name)
	if err != nil {
		return noRoom(err)
	}
	if h.block {
		_, err = f.WriteAt(s.block(), 0)
	}
	for i, e := range h.entries {
		if err == nil {
			_, err = f.WriteAt(frames[i], int64(e.place.at))
		}
	}
	for _, g := range h.gaps {
		var b []byte
		if err == nil {
			b, err = l.filling(s, g)
		}
		if err == nil {
			_, err = f.WriteAt(b, g.from)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return l.broken(err)
	}
	return nil
}

// filling is frames that count no more in place of others that did not. The first of a segment is
// its start. Of a segment that is not sealed there is a hard state, where there is room for one;
// the rest is one entry that is replaced by the next.
func (l *Log) filling(s *segment, g gap) ([]byte, error) {
	var b []byte
	var from int
	if g.from == blockBytes {
		st := s.start
		if !s.began {
			st = start{before: s.number - 1, installed: true, state: emptyState()}
		}
		b, from = beginFrame(b)
		b = endFrame(st.append(b), from, kindStart, 0, s.salt)
	}
	stateFrame := int64(frameBytes(stateBytes))
	rest := g.to - g.from - int64(len(b))
	if s.index == nil && (rest == stateFrame || rest >= 2*stateFrame) {
		state, err := l.stateAt(s, g)
		if err != nil {
			return nil, err
		}
		b, from = beginFrame(b)
		b = endFrame(appendState(b, state), from, kindState, 0, s.salt)
		rest -= stateFrame
	}
	if rest > 0 {
		e := &raftpb.Entry{Index: &g.before, Term: &g.term, Data: make([]byte, rest-headerBytes-entryBytes)}
		b = appendEntry(b, e, 0, s.salt)
	}
	return b, nil
}

// stateAt is a hard state that may be in a gap of a segment that is not sealed: the one before it, where a later
// one follows in the segment or in the next, or else the newest.
func (l *Log) stateAt(s *segment, g gap) (*raftpb.HardState, error) {
	l.mu.RLock()
	active, newest, stable := s == l.active, proto.CloneOf(l.state), l.stable
	last := int64(0)
	if n := len(l.slots); active && n > 0 {
		last = int64(l.slots[n-1].at)
	}
	l.mu.RUnlock()
	b := make([]byte, max(last, g.to))
	if err := read(s.file, s.name, b, 0); err != nil {
		return nil, err
	}
	state, later := s.start.state, !active
	if _, err := scan(b[:g.from], s.salt, func(_ int64, f frame) error {
		if f.kind == kindState && len(f.body) == stateBytes {
			state = readState(f.body)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for at := g.to; at < int64(len(b)); {
		f, ok := readFrame(b[at:], s.salt)
		if !ok {
			break
		}
		later = later || f.kind == kindState
		at += int64(frameBytes(len(f.body)))
	}
	if !later {
		newest.Commit = new(min(newest.GetCommit(), stable)) // never report what a power cut may remove
		state = newest
	}
	return state, nil
}

// fetch gets an entry from elsewhere, as a frame that takes the broken one's place.
func (h harmed) fetch(ctx context.Context, s *segment, all harm, care Care) ([]byte, error) {
	if care.Fetch == nil {
		return nil, errors.New("there is none")
	}
	var frame []byte
	_, err := care.Fetch(ctx, h.index, h.term, func(e *raftpb.Entry) error {
		if e.GetIndex() != h.index || e.GetTerm() != h.term {
			return fmt.Errorf("entry %d of term %d was asked for, and %d of term %d came", h.index, h.term,
				e.GetIndex(),
				e.GetTerm())
		}
		if entryBytes+len(e.GetData()) != int(h.place.size) && e.GetType() == raftpb.EntryNormal {
			var err error
			if e, err = asClean(e, all.runs, h.place); err != nil {
				return err
			}
		}
		if entryBytes+len(e.GetData()) != int(h.place.size) {
			return fmt.Errorf("entry %d has %d bytes there, and %d here: it was cleaned there", h.index, entryBytes+
				len(e.GetData()), h.place.size)
		}
		frame = appendEntry(nil, e, 0, s.salt)
		return nil
	})
	return frame, err
}

// asClean takes those runs out of an entry that are gone from the one at a place, by the runs of its index file.
func asClean(e *raftpb.Entry, runs []run, p place) (*raftpb.Entry, error) {
	kept := map[run]bool{}
	for _, r := range runs {
		if r.at >= p.at && r.at < p.at+headerBytes+p.size {
			kept[run{bytes: r.bytes, count: r.count, sum: r.sum}] = true
		}
	}
	return cleanEntry(e, func(r record.Run) bool { return kept[alike(r)] }, func(int) {})
}
