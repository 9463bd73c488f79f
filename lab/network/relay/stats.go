package relay

import (
	"math/bits"
	"sync/atomic"
)

// Stats counts what a relay has done so far.
type Stats struct {
	// Connections is how many were accepted, or how many clients sent datagrams.
	Connections uint64
	// Forwarded and Dropped count packets in both directions. TCP loses nothing, so its Dropped are the packets that
	// had to be sent again.
	Forwarded, Dropped uint64
	// Late is by how much packets were passed on later than they were due.
	Late Lateness
}

// stats are updated by all flows concurrently.
type stats struct {
	connections, forwarded, dropped atomic.Uint64
	late                            [buckets]atomic.Uint64
}

// Lateness counts times by size: four buckets for each power of two of nanoseconds, so that a quantile is at most a
// quarter too high.
type Lateness [buckets]uint64

const buckets = 4 * 40 // up to 2^41 ns, half an hour

func bucket(ns int64) int {
	v := uint64(max(ns, 4))
	power := bits.Len64(v) - 1 // >= 2
	return min(4*(power-2)+int(v>>(power-2)&3), buckets-1)
}

// upper returns the upper end of a bucket.
func upper(i int) int64 { return int64(4+i%4+1) << (i / 4) }

func (s *stats) pass(packets int, late int64) {
	s.forwarded.Add(uint64(packets))
	s.late[bucket(late)].Add(uint64(packets))
}

// Stats returns what the relay has done so far.
func (r *Relay) Stats() Stats {
	s := Stats{
		Connections: r.stats.connections.Load(),
		Forwarded:   r.stats.forwarded.Load(), Dropped: r.stats.dropped.Load(),
	}
	for i := range s.Late {
		s.Late[i] = r.stats.late[i].Load()
	}
	return s
}

// Since returns what was done since an earlier reading.
func (s Stats) Since(earlier Stats) Stats {
	s.Connections -= earlier.Connections
	s.Forwarded -= earlier.Forwarded
	s.Dropped -= earlier.Dropped
	for i := range s.Late {
		s.Late[i] -= earlier.Late[i]
	}
	return s
}

// Quantile returns a quantile in ns, rounded up; 0 if nothing was counted.
func (l Lateness) Quantile(q float64) int64 {
	total := uint64(0)
	for _, n := range l {
		total += n
	}
	seen := uint64(0)
	for i, n := range l {
		seen += n
		if n > 0 && float64(seen) >= q*float64(total) {
			return upper(i)
		}
	}
	return 0
}
