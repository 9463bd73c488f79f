package account

import (
	"sync"
	"sync/atomic"
	"time"

	"wirelab/lab/stat"
)

// ConsumerGroup counts the messages that arrived at all readers of one group.
type ConsumerGroup struct {
	ledger *Ledger
	topic  int

	distinct atomic.Int64  // distinct messages of this run that have arrived
	arrivals atomic.Uint64 // of any kind

	mu     sync.Mutex // guards all below
	seen   []seen     // by sequence
	latest []uint64   // by sequence: one more than the highest number that has arrived
	dealt  []uint64   // a copy of latest, made when [Ledger.Dealt] was called
	counts Account    // the counters that are decided when a message arrives

	delivered *stat.Histogram // from due until arrival, of messages due in the window, ns
	inWindow  uint64          // first arrivals within the window
	after     uint64          // first arrivals after the window
	last      int64           // the latest arrival within the window, or the beginning of the window
	longest   time.Duration   // the longest time without an arrival within the window
	ended     int64           // when the latest first arrival was
}

func newConsumerGroup(l *Ledger, topic int) *ConsumerGroup {
	return &ConsumerGroup{
		ledger: l, topic: topic, delivered: stat.NewHistogram(),
		seen:   make([]seen, len(l.sequences)),
		latest: make([]uint64, len(l.sequences)),
		dealt:  make([]uint64, len(l.sequences)),
	}
}

// Arrived counts a message that arrived at a time of the run's clock. It accepts any bytes, and does not keep body.
func (a *ConsumerGroup) Arrived(body []byte, at int64) {
	stamp, whole := Read(body)
	phase := a.ledger.now()
	a.arrivals.Add(1)
	if full := a.take(stamp, whole, at, phase); full {
		a.ledger.settle(int(stamp.Sequence), int(stamp.Number/chunkSize))
	}
}

// take counts a message, and reports whether that completes a chunk.
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

// count counts an intact message of this run, and reports whether that completes its chunk.
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

// dealtWith remembers which messages have arrived so far: see [Ledger.Dealt].
func (a *ConsumerGroup) dealtWith() {
	a.mu.Lock()
	defer a.mu.Unlock()
	copy(a.dealt, a.latest)
}

// full reports whether every message of a sequence's chunk has arrived.
func (a *ConsumerGroup) full(sequence, of int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[sequence].full(of)
}

// settle releases the memory of a full chunk.
func (a *ConsumerGroup) settle(sequence, of int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[sequence].settle(of)
}

// time records the first arrival of a message.
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

// gap is the longest time without an arrival within the window.
func (a *ConsumerGroup) gap() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.longest, time.Duration(a.ledger.end.Load()-max(a.last, a.ledger.begin.Load())))
}

// Times says when messages arrived at a group for the first time.
type Times struct {
	Delivered       *stat.Histogram // from due until arrival, of messages due in the window, ns
	InWindow, After uint64          // arrivals within the window, and after it
	Last            int64           // the latest arrival of all, on the run's clock
}

// Times returns them, as they are now.
func (a *ConsumerGroup) Times() Times {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := stat.NewHistogram()
	h.Merge(a.delivered)
	return Times{Delivered: h, InWindow: a.inWindow, After: a.after, Last: a.ended}
}

// add adds the counts of this group to an account: each acknowledged message is expected once.
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
