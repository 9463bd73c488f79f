// Package trace tracks entries by their ids, from when a caller should send them until they are stored. It computes
// what happened to each and when, from a driver's record of its calls and the journals of the services
// (docs/origins.md R1, R2). It does not know how calls are made, or how journals are read. All times are from the
// wall clock of one host.
package trace

import (
	"math"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
	"wirelab/pipeline/journal"
)

// Limit is the maximum number of entries that one book tracks. Each needs 200 bytes.
const Limit = 5_000_000

// Call is the caller's record of an entry. Times are in Unix nanoseconds.
type Call struct {
	ID     string
	Caller int   // the calls of one caller are sequential
	Due    int64 // when it should be sent; equal to Sent in the closed loop
	Sent   int64
	Ended  int64 // when the reply, or the failure, was known
	Failed bool  // the caller got an error, and cannot rely on the entry
	// Outside calls were not in the window. They are not counted, but they are tracked, so that their entries are not
	// taken for strays.
	Outside bool
}

// entry is a call with what the journals reported.
type entry struct {
	Call
	confirmed, stored int64 // 0: not yet
	again             int   // how often the store had it already
}

// Book tracks the entries of one slice. It belongs to one goroutine.
type Book struct {
	entries map[string]*entry
	order   []*entry // in the order of Note
	open    int      // accepted, but not stored
	stray   uint64   // stored, but never sent
	lost    uint64   // events that journals dropped
}

// NewBook returns an empty book.
func NewBook() *Book { return &Book{entries: map[string]*entry{}} }

// Note records a call. All calls must be recorded before the first event. The error is Conflict for an id that is
// already known, since the two entries could not be distinguished, and ResourceExhausted above [Limit] entries.
func (b *Book) Note(c Call) error {
	if len(b.order) >= Limit {
		return wirelab.Errorf(wirelab.ResourceExhausted,
			"more than %d entries in one slice cannot be followed; make it shorter", Limit)
	}
	if _, known := b.entries[c.ID]; known {
		return wirelab.Errorf(wirelab.Conflict, "entry %q was sent twice", c.ID)
	}
	e := &entry{Call: c}
	b.entries[c.ID] = e
	b.order = append(b.order, e)
	if !c.Failed {
		b.open++
	}
	return nil
}

// Tell records what a journal says about an entry.
func (b *Book) Tell(e journal.Event) {
	found := b.entries[e.ID]
	if found == nil {
		if e.What == journal.Stored {
			b.stray++
		}
		return
	}
	at := e.At.UnixNano()
	switch e.What {
	case journal.Confirmed:
		if found.confirmed == 0 {
			found.confirmed = at
		}
	case journal.Stored:
		if found.stored > 0 {
			found.again++ // stored twice; the store should prevent it, but that is checked here
			return
		}
		found.stored = at
		if !found.Failed {
			b.open--
		}
	case journal.Duplicate:
		found.again++
	case journal.Accepted, journal.Received, journal.Failed:
	}
}

// Lose records that a journal dropped events before they were read. It is unknown which entries they concerned, so
// the account is incomplete.
func (b *Book) Lose(events uint64) { b.lost += events }

// Owed returns the entries that are not stored yet, as calls outside the window. The next book needs them, so that
// they are not strays if they are stored later.
func (b *Book) Owed() []Call {
	var all []Call
	for _, e := range b.order {
		if e.stored == 0 {
			owed := e.Call
			owed.Outside, owed.Failed = true, true
			all = append(all, owed)
		}
	}
	return all
}

// Open is the number of entries that were accepted but are not stored yet.
func (b *Book) Open() int { return b.open }

// Account returns the counts. end is the end of the window in Unix nanoseconds.
func (b *Book) Account(end int64) result.Followed {
	a := result.Followed{
		Stray: b.stray, Lost: b.lost, ConfirmedAfter: stat.NewHistogram(),
		StoredAfter: stat.NewHistogram(),
	}
	for _, e := range b.order {
		if !e.Outside {
			count(&a, e)
			a.Drained = max(a.Drained, plan.Duration(e.stored-end))
		}
	}
	// Each lost event may have been the one that reported a missing entry as stored.
	a.Unknown = min(a.Missing, b.lost)
	a.Missing -= a.Unknown
	a.Reordered = reordered(b.order)
	a.Backlog = [][]int32{backlog(b.order)}
	return a
}

func count(a *result.Followed, e *entry) {
	a.Sent++
	a.Duplicated += uint64(e.again)
	if e.Failed {
		a.Refused++
		if e.stored > 0 {
			a.Kept++
		}
		return
	}
	a.Accepted++
	if e.confirmed > 0 {
		a.Confirmed++
		a.ConfirmedAfter.Record(max(0, e.confirmed-e.Due))
	}
	if e.stored == 0 {
		a.Missing++
		return
	}
	a.Stored++
	a.StoredAfter.Record(max(0, e.stored-e.Due))
}

// reordered counts the entries in the window that were stored before an earlier one of the same caller. Different
// callers are not compared, because no order is promised between concurrent calls.
func reordered(all []*entry) (n uint64) {
	latest := map[int]int64{}
	for _, e := range all {
		if e.stored == 0 {
			continue
		}
		if e.stored < latest[e.Caller] {
			if !e.Outside {
				n++
			}
			continue
		}
		latest[e.Caller] = e.stored
	}
	return n
}

// backlog returns how many entries were accepted but not stored, in steps of [result.BacklogEvery] from the first
// call on.
func backlog(all []*entry) []int32 {
	first, last := int64(math.MaxInt64), int64(0)
	for _, e := range all {
		if !e.Failed {
			first, last = min(first, e.Sent), max(last, e.Ended, e.stored)
		}
	}
	if last == 0 {
		return nil
	}
	steps := min((last-first)/int64(result.BacklogEvery)+2, result.BacklogLimit)
	change := make([]int32, steps)
	step := func(at int64, by int32) {
		// A value is for the end of its step. An entry that was stored before its caller got the reply never counts
		// as backlog.
		if i := (at - first) / int64(result.BacklogEvery); i < steps {
			change[i] += by
		}
	}
	for _, e := range all {
		if e.Failed {
			continue
		}
		step(e.Ended, 1)
		if e.stored > 0 {
			step(max(e.stored, e.Ended), -1)
		}
	}
	for i := 1; i < len(change); i++ {
		change[i] += change[i-1]
	}
	return change
}
