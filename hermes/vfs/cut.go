package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sector is the piece of a write that reaches a disk by itself: pieces of one write
// may arrive in any order, so any of them may be missing after a power cut.
const sector = 512

// Cut is what a power cut leaves of what was not synced. The zero value leaves nothing.
type Cut struct {
	// Keep says how many of the n bytes of one piece of a write, which lie in one
	// sector at an offset of a file, reached the disk; nil: none.
	Keep func(name string, at int64, n int) int
	// Names says how many of a directory's changes, the earliest, reached it; nil: none.
	Names func(pending int) int
}

// Everything is a cut that loses nothing.
var Everything = Cut{
	Keep:  func(_ string, _ int64, n int) int { return n },
	Names: func(pending int) int { return pending },
}

// Draw draws a cut: of all writes everything, nothing, each sector or not, or what
// came before a point, and there a torn sector.
func Draw(r *rand.Rand) Cut {
	kind, left := r.IntN(4), r.IntN(200)
	return Cut{
		Names: func(pending int) int { return r.IntN(pending + 1) },
		Keep: func(_ string, _ int64, n int) int {
			switch kind {
			case 0:
				return 0
			case 1:
				return n
			case 2:
				if r.IntN(8) == 0 {
					return r.IntN(n + 1)
				}
				return n * r.IntN(2)
			}
			left--
			switch {
			case left > 0:
				return n
			case left == 0:
				return r.IntN(n + 1)
			}
			return 0
		},
	}
}

// Cut cuts the power: files and locks that are open are dead (ErrCut), what was
// synced stays, and of what was not as much as c says. Then all of it is safe.
// The plan of failures stays set.
func (m *Memory) Cut(c Cut) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life++
	m.count.Open = 0
	m.locks = map[string]bool{}
	dead := map[*inode]bool{}
	for _, dir := range slices.Sorted(maps.Keys(m.dirs)) {
		d := m.dirs[dir]
		// Names of files that are there now, or were on disk, in a fixed order.
		for _, names := range []map[string]*inode{d.seen, d.safe} {
			for _, name := range slices.Sorted(maps.Keys(names)) {
				if f := names[name]; !dead[f] {
					dead[f] = true
					f.cut(name, c)
				}
			}
		}
		if n := len(d.pending); n > 0 && c.Names != nil {
			for _, one := range d.pending[:c.Names(n)] {
				one.apply(d.safe)
			}
		}
		d.pending = nil
		d.seen = maps.Clone(d.safe)
	}
}

// Kill ends the process alone: files and locks that are open are dead (ErrCut), and what
// was not synced is still seen, in the system's memory, where a later cut may lose it.
func (m *Memory) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life++
	m.count.Open = 0
	m.locks = map[string]bool{}
}

func (f *inode) cut(name string, c Cut) {
	for _, w := range f.pending {
		if c.Keep == nil {
			break
		}
		if w.at < 0 {
			if c.Keep(name, w.size, 1) == 1 {
				w.apply(&f.safe)
			}
			continue
		}
		for done := 0; done < len(w.data); {
			at := w.at + int64(done)
			n := min(len(w.data)-done, sector-int(at%sector))
			if kept := c.Keep(name, at, n); kept > 0 {
				write{at: at, data: w.data[done : done+kept]}.apply(&f.safe)
			}
			done += n
		}
	}
	f.pending = nil
	f.seen = slices.Clone(f.safe)
}
