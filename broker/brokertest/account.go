package brokertest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"wirelab/broker/workqueue"
)

// Account keeps what became of each message, by its id: a count alone hides a
// message that is lost where another came twice. It may be used by several
// goroutines.
type Account struct {
	mu       sync.Mutex // guards all below
	messages map[string]*outcome
	next     int // place of the next published
	furthest int // place of the furthest delivered
	tally    Tally
}

// outcome is what happened to one message.
type outcome struct {
	place     int // when it was first published: 1, 2, …
	body      []byte
	confirmed bool
	delivered int
}

// Tally is the sum of an account.
type Tally struct {
	Published  int      // ids that were handed to a publisher
	Confirmed  int      // of those, that the broker promised to keep
	Delivered  int      // of those, that came
	Duplicated int      // deliveries beyond the first of an id
	Reordered  int      // first deliveries that came after one published later
	Missing    []string // confirmed, and never came; in the order of publishing
	Unknown    []string // came, and were never published
	Altered    []string // came with another body
}

// String gives the numbers of all, and the first few ids of what is wrong.
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

// NewAccount returns an account of nothing.
func NewAccount() *Account { return &Account{messages: map[string]*outcome{}} }

// Published notes that a message is about to be handed to a publisher.
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

// Confirmed notes that the broker promised to keep a published message, and
// returns how many it has promised so far.
func (a *Account) Confirmed(id string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f := a.messages[id]; f != nil && !f.confirmed {
		f.confirmed = true
		a.tally.Confirmed++
	}
	return a.tally.Confirmed
}

// Delivered notes that a message came, and returns how many different ones have.
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

// Tally returns the sum so far.
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
