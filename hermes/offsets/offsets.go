// Package offsets is a set of offsets, kept as ranges and bounded: what a subscription was sent, so that an
// acknowledgement of anything else is known to be none. It knows no topic, no group and no wire.
package offsets

import (
	"slices"
	"sort"

	"wirelab/hermes/broker"
)

// Most is how many ranges a set keeps, in 8 KiB. A member that shares its group's messages with others has a range
// for each run that came to it; what it was sent so long ago that this many came since is settled by then, or is
// another's.
const Most = 512

// Set is a set of offsets; its zero value is empty. Beyond [Most] ranges it forgets the lowest, and takes all
// before them to be in it: it may hold what was never added, and never misses what was. For one goroutine at a time.
type Set struct {
	ranges []broker.Range // in order; they neither overlap nor touch
	before uint64         // all before it are taken to be in the set
}

// from is the first range that ends at or after an offset.
func (s *Set) from(offset uint64) int {
	return sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].Last >= offset })
}

// Add adds a range.
func (s *Set) Add(r broker.Range) {
	i := s.from(max(r.First, 1) - 1) // it may touch the one before
	j := i
	for ; j < len(s.ranges) && (s.ranges[j].First == 0 || s.ranges[j].First-1 <= r.Last); j++ {
		r = broker.Range{First: min(r.First, s.ranges[j].First), Last: max(r.Last, s.ranges[j].Last)}
	}
	s.ranges = slices.Replace(s.ranges, i, j, r)
	if len(s.ranges) > Most {
		s.before = s.ranges[0].Last + 1
		s.ranges = slices.Delete(s.ranges, 0, 1)
	}
}

// Len is how many ranges there are.
func (s *Set) Len() int { return len(s.ranges) }

// Forget forgets everything before an offset, and takes all of it to be in the set from now on.
func (s *Set) Forget(before uint64) {
	s.before = max(s.before, before)
	s.ranges = slices.Delete(s.ranges, 0, s.from(before))
}

// Missing is the first offset of a range that is not in the set; ok is false when all are.
func (s *Set) Missing(r broker.Range) (first uint64, ok bool) {
	at := max(r.First, s.before)
	if at > r.Last {
		return 0, false
	}
	i := s.from(at)
	if i == len(s.ranges) || s.ranges[i].First > at {
		return at, true
	}
	if last := s.ranges[i].Last; last < r.Last {
		return last + 1, true // the next range does not touch this one
	}
	return 0, false
}

// Clear empties the set.
func (s *Set) Clear() { *s = Set{} }
