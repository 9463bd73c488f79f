package wal

import (
	"errors"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// Mended is the damage that Open found and repaired.
func (l *Log) Mended() []Damage {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Clone(l.mended)
}

// mends tells whether an error of Open's is one that it tries to repair.
func (l *Log) mends(err error) bool {
	var d *Damage
	return errors.As(err, &d) && l.o.Machine != nil
}

// note remembers a damage that was repaired while opening.
func (l *Log) note(err error) {
	var d *Damage
	if errors.As(err, &d) {
		l.mended = append(l.mended, *d)
	}
}

// reblock writes the block of a sealed segment again, of what its index file tells, while opening.
func (l *Log) reblock(s *segment, c *contents, why error) error {
	s.salt, s.joined = c.salt, c.joined
	f, err := l.fs.Open(s.name)
	if err != nil {
		return noRoom(err)
	}
	if _, err = f.WriteAt(s.block(), 0); err == nil {
		err = f.Sync()
	}
	l.note(why)
	return errors.Join(err, f.Close())
}

// remake makes the index file of a sealed segment again, while opening.
func (l *Log) remake(s *segment, name string, before *contents, f files, i int, why error) (*contents, error) {
	last, next, err := l.beyond(s, f, i)
	if err != nil {
		return nil, notRebuilt(name, err)
	}
	until := last
	if before != nil {
		// Nothing is left to compare the outcome with, as there is in an open log.
		if s.generation > 0 && before.snapIndex >= l.slotFirst {
			return nil, notRebuilt(name, errors.New("it was cleaned, and the state before it is after entries of it"))
		}
		until = max(until, before.snapIndex)
	}
	c, err := l.derive(s, before, l.slotFirst, last, until, next, func(uint64) (*raftpb.Entry, slot, error) {
		return nil, slot{}, nil // the file before lists all of them
	})
	if err != nil {
		return nil, notRebuilt(name, err)
	}
	file, _, err := l.writeIndex(c, "index")
	if err != nil {
		return nil, err
	}
	was := s.index
	s.index = file
	l.note(why)
	return c, was.close()
}

// beyond finds, for a sealed segment whose index file does not say it, the last entry and how the segment
// after it starts.
func (l *Log) beyond(s *segment, f files, i int) (last uint64, next start, err error) {
	if i+1 == len(f.numbers) {
		return 0, start{}, errors.New("no segment is behind it")
	}
	b := make([]byte, s.size)
	if err := read(s.file, s.name, b, 0); err != nil {
		return 0, start{}, err
	}
	entries, _, err := listEntries(s, b, ^uint64(0))
	if err != nil {
		return 0, start{}, err
	}
	last = l.slotFirst - 1
	if n := len(entries); n > 0 {
		last = entries[n-1].index
	}
	for n, number := range f.numbers[i+1:] {
		first, st, err := l.beginning(number, f.of[number])
		if err != nil {
			return 0, start{}, err
		}
		if n == 0 {
			next = st
		}
		last = min(last, first-1)
		if f.of[number].sealed {
			break // those behind it are above its first
		}
	}
	return last, next, nil
}

// beginning is the least index of the entries in a segment, and its start.
func (l *Log) beginning(number uint64, p pair) (first uint64, st start, err error) {
	s, err := l.openSegment(number, p.generation)
	if err != nil {
		return 0, start{}, err
	}
	defer s.release() //nolint:errcheck // a file that was only read
	b := make([]byte, s.size)
	if err := read(s.file, s.name, b, 0); err != nil {
		return 0, start{}, err
	}
	if err := s.readBlock(b); err != nil {
		return 0, start{}, err
	}
	first = ^uint64(0)
	if p.sealed {
		name := fileName(l.dir, number, p.generation, "index")
		file, err := l.fs.OpenRead(name)
		if err != nil {
			return 0, start{}, err
		}
		defer file.Close() //nolint:errcheck // a file that was only read
		c, err := readIndex(file, name)
		if err != nil {
			return 0, start{}, err
		}
		first = c.first
	} else if _, err := scan(b, s.salt, func(_ int64, f frame) error {
		if e, ok := readEntry(f.body); ok && f.kind == kindEntry {
			first = min(first, e.GetIndex())
		}
		return nil
	}); err != nil {
		return 0, start{}, err
	}
	if f, ok := readFrame(b[blockBytes:], s.salt); !ok && !p.sealed {
		return first, start{state: emptyState()}, nil // made ahead
	} else if ok && f.kind == kindStart {
		if st, ok := readStart(f.body); ok {
			return first, st, nil
		}
	}
	return first, start{state: emptyState()}, nil
}
