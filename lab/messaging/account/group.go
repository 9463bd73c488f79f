package account

import (
	"sync"
	"sync/atomic"
	"time"

	"wirelab/lab/stat"
)

// ConsumerGroup is what arrived at the readers of a group, taken together.
type ConsumerGroup struct {
	ledger *Ledger
	topic  int

	distinct atomic.Int64  // messages of ours that have arrived, each once
	arrivals atomic.Uint64 // of any kind

	mu     sync.Mutex // guards all below
	seen   []seen     // by lane
	latest []uint64   // by lane: one more than the highest number that has arrived
	dealt  []uint64   // likewise, when [Ledger.Dealt] was called
	counts Account    // of what is known when a message arrives

	delivered *stat.Histogram // due to arrival of messages due in the window, ns
	inWindow  uint64          // first arrivals within the window
	after     uint64          // and after it
	last      int64           // arrival within the window, or its beginning
	longest   time.Duration
	ended     int64 // the last first arrival of all
}

func newConsumerGroup(l *Ledger, topic int) *ConsumerGroup {
	return &ConsumerGroup{
		ledger: l, topic: topic, delivered: stat.NewHistogram(),
		seen:   make([]seen, len(l.sequences)),
		latest: make([]uint64, len(l.sequences)),
		dealt:  make([]uint64, len(l.sequences)),
	}
}

// Arrived takes a message that arrived at a time of the run's clock. It takes any
// bytes, and keeps none.
func (a *ConsumerGroup) Arrived(body []byte, at int64) {
	stamp, whole := Read(body)
	phase := a.ledger.now()
	a.arrivals.Add(1)
	if full := a.take(stamp, whole, at, phase); full {
		a.ledger.settle(int(stamp.Sequence), int(stamp.Number/chunkSize))
	}
}

// take counts what arrived, and reports whether a chunk is full with it.
func (a *ConsumerGroup) take(stamp Stamp, whole bool, at int64, phase Phase) (full bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !whole:
		a.counts.Corrupted++
	case stamp.Run != a.ledger.run || int(stamp.Sequence) >= len(a.ledger.sequences) ||
		stamp.Number >= a.ledger.sequences[stamp.Sequence].sent.Load():
		a.counts.Stray++
	case int(stamp.Topic) != a.topic:
		a.counts.Misrouted++
	default:
		return a.count(stamp, at, phase)
	}
	return false
}

// count counts a message that is whole and ours, and reports whether its chunk is full
// with it.
func (a *ConsumerGroup) count(s Stamp, at int64, phase Phase) (full bool) {
	sequence, seen := a.ledger.sequences[s.Sequence], &a.seen[s.Sequence]
	excused := sequence.excused(s.Number, a.dealt[s.Sequence], phase)
	if seen.has(s.Number) {
		if excused {
			a.counts.Redelivered++
		} else {
			a.counts.Duplicated++
		}
		return false
	}
	full = seen.add(s.Number)
	a.distinct.Add(1)
	switch latest := &a.latest[s.Sequence]; {
	case s.Number >= *latest:
		*latest = s.Number + 1
	case excused:
		a.counts.Displaced++
	default:
		a.counts.Reordered++
	}
	a.time(s, at)
	return full
}

func (a *ConsumerGroup) dealtWith() {
	a.mu.Lock()
	defer a.mu.Unlock()
	copy(a.dealt, a.latest)
}

// full reports whether every message of a lane's chunk has arrived, and settle lets its
// memory go.
func (a *ConsumerGroup) full(sequence, of int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[sequence].full(of)
}

func (a *ConsumerGroup) settle(sequence, of int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[sequence].settle(of)
}

// time notes when a message arrived that had not before.
func (a *ConsumerGroup) time(s Stamp, at int64) {
	if s.Recorded {
		a.delivered.Record(at - s.Due)
	}
	a.ended = max(a.ended, at)
	if at >= a.ledger.end.Load() {
		a.after++
	}
	if a.ledger.within(at) {
		a.inWindow++
		a.longest = max(a.longest, time.Duration(at-max(a.last, a.ledger.begin.Load())))
		a.last = at
	}
}

// gap is how long nothing arrived, at most, within the window.
func (a *ConsumerGroup) gap() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.longest, time.Duration(a.ledger.end.Load()-max(a.last, a.ledger.begin.Load())))
}

// Times is when messages arrived at an audience for the first time.
type Times struct {
	Delivered       *stat.Histogram // due to arrival of those due in the window, ns
	InWindow, After uint64          // that arrived within the window, and after it
	Last            int64           // of all, on the run's clock
}

// Times returns when messages arrived.
func (a *ConsumerGroup) Times() Times {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := stat.NewHistogram()
	h.Merge(a.delivered)
	return Times{Delivered: h, InWindow: a.inWindow, After: a.after, Last: a.ended}
}

// add adds to an account what became of the messages that this audience was to get.
func (a *ConsumerGroup) add(sum *Account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, sequence := range a.ledger.sequences {
		if sequence.topic != a.topic {
			continue
		}
		for n := uint64(0); n < sequence.sent.Load(); n++ {
			if n%chunkSize == 0 && a.seen[i].settled(int(n/chunkSize)) {
				sum.Expected += chunkSize
				sum.Delivered += chunkSize
				n += chunkSize - 1
				continue
			}
			arrived := a.seen[i].has(n)
			switch acknowledged := sequence.state(n)&acknowledgedMark != 0; {
			case acknowledged && arrived:
				sum.Expected++
				sum.Delivered++
			case acknowledged:
				sum.Expected++
				sum.Missing++
			case arrived:
				sum.Kept++
			}
		}
	}
	sum.AddCounts(a.counts)
}
