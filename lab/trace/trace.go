// Package trace follows entries by their ids, from when a caller was to send
// them until they are stored: what became of each, and when. It is arithmetic
// over what a driver noted of its calls and the journals of the services told
// (docs/origins.md R1, R2), and knows neither how the one calls nor how the others
// are reached. All times are by the wall clock of one host.
package trace

import (
	"math"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
	"wirelab/pipeline/journal"
)

// Limit is how many entries one book follows: 200 bytes each.
const Limit = 5_000_000

// Call is what a caller knows of an entry it sent. Times are Unix nanoseconds.
type Call struct {
	ID     string
	Caller int   // whose calls follow one another
	Due    int64 // when it was to be sent; Sent in the closed loop
	Sent   int64
	Ended  int64 // when the reply was there, or that there is none
	Failed bool  // the caller was told of an error, and may not count on the entry
	// Outside calls were not in the window: they are followed, so that what is
	// stored of them is no stray, and not counted.
	Outside bool
}

// entry is a call with what the journals said.
type entry struct {
	Call
	confirmed, stored int64 // 0: not yet
	again             int   // times it was found stored already
}

// Book follows the entries of one slice. It belongs to one goroutine.
type Book struct {
	entries map[string]*entry
	order   []*entry // as they were noted
	open    int      // accepted and not stored
	stray   uint64   // stored, and never sent
	lost    uint64
}

// NewBook returns a book without entries.
func NewBook() *Book { return &Book{entries: map[string]*entry{}} }

// Note takes a call down; all calls come before the first event. An id that was
// noted before is Conflict: entries could not be told apart. One more than
// [Limit] is ResourceExhausted.
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

// Tell takes down what a journal says of an entry.
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
			found.again++ // stored twice: the store is to prevent it, and is not believed
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

// Lose takes down that a journal forgot events before they were read: what they
// said of whom nobody knows, and the account is not whole.
func (b *Book) Lose(events uint64) { b.lost += events }

// Owed are the entries that were not stored yet, as calls outside of any window:
// for the next book, where they are no strays should they be stored after all.
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

// Open is how many entries were accepted and are not stored yet.
func (b *Book) Open() int { return b.open }

// Account closes the book. end is the end of the window, Unix ns.
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
	// An event that was lost may have told of any one entry that it was stored.
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

// reordered counts the entries in the window that were stored before one that
// their caller had sent earlier. Callers are compared with themselves only: no
// order is promised between two that call at once.
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

// backlog is how many entries were accepted and not stored, from the first call on.
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
		// A value is of the end of its tenth of a second; what was stored before
		// the caller heard of it was never behind.
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
