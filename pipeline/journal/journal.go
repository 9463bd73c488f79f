// Package journal records what happened to each log entry and when, so that the paths of the pipeline can be timed
// by the id of an entry. Every process of the pipeline has a journal in memory and serves it at GET /journal. The
// package knows neither entries nor paths, and decides nothing: the reader interprets the events.
//
// A journal ends with its process. If the process is killed, its unread events are gone; only the store can say
// whether an entry was stored.
package journal

import (
	"sync"
	"time"

	"wirelab"
)

// What says what happened to an entry.
type What uint8

// The events, in the order in which they come if nothing goes wrong.
const (
	Accepted  What = 1 + iota // the gateway had read and checked it
	Confirmed                 // the next process had promised to keep it, or replied
	Received                  // the listener had received it from the broker
	Stored                    // it was committed
	Duplicate                 // it had been committed before, under the same id
	Failed                    // it was given up, or the caller got an error
)

// words are the names of the events in JSON, by What.
func words() [Failed + 1]string {
	return [...]string{"", "accepted", "confirmed", "received", "stored", "duplicate", "failed"}
}

// String returns the name of the event: "accepted".
func (w What) String() string {
	if w > Failed {
		return ""
	}
	return words()[w]
}

// MarshalText writes the name of the event. An unknown value is InvalidArgument.
func (w What) MarshalText() ([]byte, error) {
	if w < Accepted || w > Failed {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "an event %d is not known", w)
	}
	return []byte(w.String()), nil
}

// UnmarshalText reads the name of an event. An unknown name is InvalidArgument.
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
	Seq  uint64    // 1 for the first event of the journal, without gaps
	ID   string    // the entry's
	What What      //
	At   time.Time // by the wall clock of the process that recorded it
}

// IDLimit is how many bytes of an id are kept: the maximum length of an entry's id.
const IDLimit = 64

// DefaultCapacity is the default number of events: some seconds of the fastest path, in about 21 MB.
const DefaultCapacity = 1 << 18

// slot is an event in the ring. It holds no pointer, so that a full ring costs the garbage collector nothing: with
// strings and times, each collection in a busy logger would scan all of it.
type slot struct {
	at     int64 // Unix nanoseconds
	what   What
	length uint8 // of id; at most IDLimit
	id     [IDLimit]byte
}

// Journal keeps the last events. It may be used by any number of goroutines. A nil Journal records nothing.
type Journal struct {
	began time.Time // set once in New, so read without the lock

	mu   sync.Mutex // guards all below; held for no more than a copy
	ring []slot     // event s is at (s-1) % len
	head uint64     // Invariant: head is the Seq of the newest event; 0 before the first
}

// New returns an empty journal for that many events; a capacity below 1 means [DefaultCapacity]. It allocates the
// ring at once, so that Note never has to.
func New(capacity int) *Journal {
	if capacity < 1 {
		capacity = DefaultCapacity
	}
	return &Journal{began: time.Now(), ring: make([]slot, capacity)}
}

// Note records an event with the first [IDLimit] bytes of id. If the journal is full, it overwrites the oldest
// event. Note does not wait for readers and allocates nothing. A lock held for some nanoseconds beat a ring of
// pointers swapped atomically: that ring allocates for each event, and has holes where a writer was stopped
// half-way.
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

// chunk is how many events are copied while the lock is held once: about 80 kB.
const chunk = 1024

// Since returns up to limit events after number seq, oldest first. next is the seq for the events that follow, and
// lost is how many events after seq had been overwritten. A seq that was never assigned starts at the newest event;
// a reader of an earlier journal would then wait for ever: see [Reader].
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

// copySome copies the events after seq that are still there, holding the lock once. first is the number of the
// first copied event; those between seq and first were overwritten.
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
