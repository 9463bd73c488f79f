package brokertest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"wirelab/broker/workqueue"
)

// Account records what became of each message, by its id. A count alone would hide a lost message if another was
// delivered twice. It may be used by several goroutines.
type Account struct {
	mu       sync.Mutex // guards all below
	messages map[string]*outcome
	next     int // position of the next published message
	furthest int // position of the furthest delivered message
	tally    Tally
}

// outcome is what happened to one message.
type outcome struct {
	place     int // when it was first published: 1, 2, …
	body      []byte
	confirmed bool
	delivered int
}

// Tally is the summary of an account.
type Tally struct {
	Published  int      // ids that were passed to a publisher
	Confirmed  int      // of those, confirmed by the broker
	Delivered  int      // of those, delivered
	Duplicated int      // deliveries beyond the first of an id
	Reordered  int      // first deliveries after one that was published later
	Missing    []string // confirmed, and never delivered; in the order of publishing
	Unknown    []string // delivered, and never published
	Altered    []string // delivered with another body
}

// String gives all counts, and the first few ids of each kind of fault.
func (t Tally) String() string {
	return fmt.Sprintf("%d published, %d confirmed, %d delivered, %d duplicated, %d reordered, "+
		"missing %v, unknown %v, altered %v",
		t.Published, t.Confirmed, t.Delivered, t.Duplicated, t.Reordered, few(t.Missing), few(t.Unknown),
		few(t.Altered))
}

func few(ids []string) string {
	if len(ids) > 5 {
		return fmt.Sprintf("%d: %q …", len(ids), ids[:5])
	}
	return fmt.Sprintf("%q", ids)
}

// NewAccount returns an empty account.
func NewAccount() *Account { return &Account{messages: map[string]*outcome{}} }

// Published records that a message is about to be passed to a publisher.
func (a *Account) Published(m workqueue.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, again := a.messages[m.ID]; again {
		return
	}
	a.next++
	a.messages[m.ID] = &outcome{place: a.next, body: m.Body}
	a.tally.Published++
}

// Confirmed records that the broker confirmed a published message, and returns how many it has confirmed so far.
func (a *Account) Confirmed(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.messages[id]; f != nil && !f.confirmed {
		f.confirmed = true
		a.tally.Confirmed++
	}
	return a.tally.Confirmed
}

// Delivered records a delivery, and returns how many different messages have been delivered.
func (a *Account) Delivered(m workqueue.Message) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.messages[m.ID]
	if f == nil {
		a.tally.Unknown = append(a.tally.Unknown, m.ID)
		return a.tally.Delivered
	}
	if !bytes.Equal(f.body, m.Body) {
		a.tally.Altered = append(a.tally.Altered, m.ID)
	}
	f.delivered++
	if f.delivered > 1 {
		a.tally.Duplicated++
		return a.tally.Delivered
	}
	if f.place < a.furthest {
		a.tally.Reordered++
	}
	a.furthest = max(a.furthest, f.place)
	a.tally.Delivered++
	return a.tally.Delivered
}

// Tally returns the summary so far.
func (a *Account) Tally() Tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := a.tally
	sum.Unknown, sum.Altered = slices.Clone(sum.Unknown), slices.Clone(sum.Altered)
	for id, f := range a.messages {
		if f.confirmed && f.delivered == 0 {
			sum.Missing = append(sum.Missing, id)
		}
	}
	slices.SortFunc(sum.Missing, func(x, y string) int { return a.messages[x].place - a.messages[y].place })
	return sum
}
