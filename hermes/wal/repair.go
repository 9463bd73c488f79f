package wal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// openOpen reads the segments that are not sealed, whole, cuts off what was never
// synced, and leaves a log that can be appended to.
func (l *Log) openOpen(f files, newest *contents) error {
	before, end := l.newestNumber(), int64(0)
	if newest != nil {
		end = newest.original
	}
	var buf []byte
	var surplus []string
	for i, number := range f.numbers {
		if want := l.newestNumber() + uint64(i) + 1; number != want {
			return &Damage{File: fileName(l.dir, want, 0, "log"), Why: "it is missing, and later ones are there"}
		}
		s, err := l.openSegment(number, 0)
		if err != nil {
			return err
		}
		l.full = append(l.full, s) // whatever happens now, Close finds it
		if int64(cap(buf)) < s.size {
			buf = make([]byte, s.size)
		}
		buf = buf[:s.size]
		if err := read(s.file, s.name, buf, 0); err != nil {
			return err
		}
		made, err := l.load(s, buf, before, end)
		if err != nil {
			return err
		}
		if made && !l.follows(s, f) {
			if err := s.cut(l, buf); err != nil {
				return err
			}
		}
		switch {
		case s.began:
			before, end = number, s.end
		case made && l.prepared == nil && number == before+1:
			l.prepared, l.full = s, l.full[:len(l.full)-1]
			if err := s.reopen(l); err != nil {
				return err
			}
		default: // made ahead of a segment whose frames never reached the disk, or not wholly made
			l.full = l.full[:len(l.full)-1]
			_ = s.release() // it is removed
			surplus = append(surplus, s.name)
		}
	}
	slices.Reverse(surplus)
	if err := l.remove(surplus); err != nil {
		return err
	}
	if l.dangling != nil {
		return l.dangling
	}
	return l.ready(before, end, newest)
}

// follows tells whether a later segment has frames; then this one has no unsynced end.
// It is known from the file alone that comes next: there is at most one without frames.
func (l *Log) follows(s *segment, f files) bool {
	next := s.number + 1
	if _, ok := f.of[next]; !ok {
		return false
	}
	other, err := l.openSegment(next, 0)
	if err != nil {
		return false
	}
	defer other.release() //nolint:errcheck // a file that was only read
	b := make([]byte, min(other.size, blockBytes+int64(frameBytes(startBytes))))
	if read(other.file, other.name, b, 0) != nil || other.readBlock(b) != nil {
		return false
	}
	_, ok := readFrame(b[blockBytes:], other.salt)
	return ok
}

// load reads a segment's frames. Its making may have been interrupted: then there is nothing in it.
func (l *Log) load(s *segment, b []byte, before uint64, end int64) (made bool, err error) {
	if err := s.readBlock(b); err != nil {
		var d *Damage
		if errors.As(err, &d) && (len(b) < blockBytes || zero(b[blockBytes:])) {
			return false, nil
		}
		return false, err
	}
	s.end, err = scan(b, s.salt, func(at int64, f frame) error { return l.visit(s, at, f, before, end) })
	return true, err
}

// visit takes a frame in.
func (l *Log) visit(s *segment, at int64, f frame, before uint64, end int64) error {
	damage := func(format string, args ...any) error {
		return &Damage{File: s.name, At: at, Why: fmt.Sprintf(format, args...)}
	}
	if s.began == (f.kind == kindStart) {
		return damage("a frame is there that does not belong there")
	}
	s.safe = max(at-f.behind, 0)
	switch f.kind {
	case kindStart:
		st, ok := readStart(f.body)
		if !ok || st.before != before {
			return damage("the first frame is another segment's")
		}
		if !st.installed && st.end != end {
			return &Damage{
				File: fileName(l.dir, before, 0, "log"), At: end,
				Why: fmt.Sprintf("no whole frame is there, and the next segment tells that frames went on to byte %d",
					st.end),
			}
		}
		s.start, s.began = st, true
		l.state = st.state
	case kindState:
		if len(f.body) != stateBytes {
			return damage("a hard state has %d bytes", len(f.body))
		}
		l.state = readState(f.body)
	case kindEntry:
		e, ok := readEntry(f.body)
		if !ok {
			return damage("an entry has %d bytes", len(f.body))
		}
		switch i := e.GetIndex(); {
		case i < l.slotFirst:
			return damage("entry %d is there, and entries before %d are in earlier segments", i, l.slotFirst)
		case i > l.last()+1:
			// It followed entries of a segment that was sealed after all of them had been
			// replaced, so that its index file has them no more. What replaced them comes.
			l.dangling = damage("entry %d follows entry %d", i, l.last())
			return nil
		}
		l.dangling = nil
		l.insert(e.GetIndex(), []slot{{s, uint32(at), uint32(len(f.body))}}, func(int) uint64 { return e.GetTerm() })
	default:
		return damage("a frame is of kind %d, which this program does not know", f.kind)
	}
	return nil
}

// cut takes away what follows the last whole frame, having made sure that it was
// never synced: later frames must not be taken for a continuation of it.
func (s *segment) cut(l *Log, b []byte) error {
	if err := harmless(b, s.end, s.salt); err != nil {
		var d *Damage
		if errors.As(err, &d) {
			d.File = s.name
		}
		return err
	}
	// What was not known to be on disk is written again: a killed process may have left it in
	// the system's memory only, and where its last sync failed the next one would say
	// that all is well without writing it.
	again := bytes.Clone(b[s.safe : s.end+int64(len(bytes.TrimRight(b[s.end:], "\x00")))])
	clear(again[s.end-s.safe:])
	if err := s.reopen(l); err != nil {
		return err
	}
	if _, err := s.out.WriteAt(again, s.safe); err != nil {
		return err
	}
	return s.out.Sync()
}

// ready makes the last segment with frames the active one, or a new one where there is none.
func (l *Log) ready(before uint64, end int64, newest *contents) error {
	if n := len(l.full); n > 0 {
		l.active, l.full = l.full[n-1], l.full[:n-1]
		if err := l.active.reopen(l); err != nil {
			return err
		}
		l.synced, l.stable = l.active.end, l.last()
	} else {
		s := l.prepared
		if s == nil || s.size < l.o.SegmentBytes {
			var err error
			if s != nil {
				if err = l.discard(s); err != nil {
					return err
				}
			}
			if s, err = l.make(before+1, l.o.SegmentBytes); err != nil {
				return err
			}
		}
		l.active, l.prepared = s, nil
		if err := l.begin(s, start{
			before: before, end: end, installed: len(l.sealed) == 0 && l.base.number > 0,
			state: l.state,
		}); err != nil {
			return err
		}
	}
	if newest == nil {
		return nil
	}
	// The snapshot is after entries of these segments, which will not be applied again.
	for _, a := range newest.ahead {
		s := l.byNumber(a.segment)
		if s == nil || int64(a.run.at)+int64(a.run.bytes) > s.end {
			return &Damage{
				File: fileName(l.dir, a.segment, 0, "log"),
				Why: fmt.Sprintf("messages of topic %d at offset %d "+
					"are missing", a.topic, a.run.offset),
			}
		}
		l.add(a.topic, openRun{a.run, s, newest.snapIndex})
	}
	return nil
}

// byNumber is a segment that is not sealed, or nil. With mu, or while opening.
func (l *Log) byNumber(number uint64) *segment {
	if l.active.number == number {
		return l.active
	}
	for _, s := range l.full {
		if s.number == number {
			return s
		}
	}
	return nil
}
