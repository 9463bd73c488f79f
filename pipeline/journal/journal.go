// Package journal keeps what happened to each log entry and when, so that the
// ways an entry may take can be timed by its id: every process of the pipeline
// has a journal in memory and shows it at GET /journal. It knows neither entries
// nor paths, and decides nothing: what an event means is told by who reads it.
//
// A journal ends with its process. What a process that was killed had noted and
// nobody had read is gone; whether an entry is stored only its store can tell.
package journal

import (
	"sync"
	"time"

	"wirelab"
)

// What is what happened to an entry.
type What uint8

// The events, in the order in which they come when nothing goes wrong.
const (
	Accepted  What = 1 + iota // the gateway had read and checked it
	Confirmed                 // whoever it was handed to had promised to keep it, or replied
	Received                  // the listener had it from the broker
	Stored                    // it was committed
	Duplicate                 // it had been committed before
	Failed                    // it was given up, or the caller was told of an error
)

// words are the events as the wire spells them, by What.
func words() [Failed + 1]string {
	return [...]string{"", "accepted", "confirmed", "received", "stored", "duplicate", "failed"}
}

// String is the event's word: "accepted".
func (w What) String() string {
	if w > Failed {
		return ""
	}
	return words()[w]
}

// MarshalText writes the event's word. Another What is InvalidArgument.
func (w What) MarshalText() ([]byte, error) {
	if w < Accepted || w > Failed {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "an event %d is not known", w)
	}
	return []byte(w.String()), nil
}

// UnmarshalText reads an event's word. Another word is InvalidArgument.
func (w *What) UnmarshalText(text []byte) error {
	for known, word := range words() {
		if known > 0 && word == string(text) {
			*w = What(known)
			return nil
		}
	}
	return wirelab.Errorf(wirelab.InvalidArgument, "an event %q is not known", text)
}

// Event is something that happened to one entry.
type Event struct {
	Seq  uint64    // 1 for the journal's first, without gaps
	ID   string    // the entry's
	What What      //
	At   time.Time // by the wall clock of the process that noted it
}

// IDLimit is how many bytes of an id are kept: as many as an entry's has at most.
const IDLimit = 64

// DefaultCapacity is how many events a process keeps unless told otherwise:
// some seconds of the fastest path, in about 21 MB.
const DefaultCapacity = 1 << 18

// slot is an event in the ring. It holds no pointer, so that a full ring costs
// the garbage collector nothing: with strings and times, each collection of a
// busy logger would read all of it.
type slot struct {
	at     int64 // Unix nanoseconds
	what   What
	length uint8 // of id; at most IDLimit
	id     [IDLimit]byte
}

// Journal keeps the last events, for any number of goroutines. A nil Journal
// notes nothing, for who wants none.
type Journal struct {
	began time.Time // assigned once in New, so read without lock

	mu   sync.Mutex // guards all below, and is held for no more than a copy
	ring []slot     // event s is at (s-1) % len
	head uint64     // Invariant: head is the Seq of the newest event; 0 before the first
}

// New returns an empty journal for that many events; less than 1 stands for
// [DefaultCapacity]. It makes its room at once, so that no note waits for it.
func New(capacity int) *Journal {
	if capacity < 1 {
		capacity = DefaultCapacity
	}
	return &Journal{began: time.Now(), ring: make([]slot, capacity)}
}

// Note keeps an event, of the id the first [IDLimit] bytes; when the journal is
// full the oldest is forgotten. It waits for no reader and allocates nothing. A
// lock of some nanoseconds beat a ring of pointers swapped atomically: that one
// allocates for each event, and has holes where a writer was stopped half-way.
func (j *Journal) Note(id string, what What, at time.Time) {
	if j == nil {
		return
	}
	now := at.UnixNano()
	j.mu.Lock()
	s := &j.ring[j.head%uint64(len(j.ring))]
	j.head++
	s.at, s.what, s.length = now, what, uint8(copy(s.id[:], id))
	j.mu.Unlock()
}

// chunk is how many events are copied in one hold of the lock: about 80 kB.
const chunk = 1024

// Since returns up to limit events after the one numbered seq, oldest first;
// next is the seq to ask with for those that follow, and lost how many after seq
// had been forgotten. A seq that was never given starts at the newest event, so
// that a reader of an earlier journal waits for ever: see [Reader].
func (j *Journal) Since(seq uint64, limit int) (events []Event, next, lost uint64) {
	next = seq
	if j == nil {
		return nil, next, 0
	}
	buffer := make([]slot, max(0, min(chunk, limit)))
	for len(events) < limit {
		first, count := j.copySome(buffer[:min(len(buffer), limit-len(events))], next)
		if count == 0 {
			break
		}
		lost += first - next - 1
		for i, s := range buffer[:count] {
			events = append(events, Event{
				Seq: first + uint64(i), ID: string(s.id[:s.length]), What: s.what, At: time.Unix(0, s.at),
			})
		}
		next = first + uint64(count) - 1
	}
	return events, next, lost
}

// copySome copies the events after seq that there still are, in one hold of the
// lock. first is the number of the first copied one: what is between was forgotten.
func (j *Journal) copySome(to []slot, seq uint64) (first uint64, count int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	size := uint64(len(j.ring))
	if j.head > size {
		seq = max(seq, j.head-size)
	}
	first = seq + 1
	for ; seq < j.head && count < len(to); seq++ {
		to[count] = j.ring[seq%size]
		count++
	}
	return first, count
}
