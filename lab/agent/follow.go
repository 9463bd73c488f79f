package agent

import (
	"context"
	"fmt"
	"time"

	"wirelab"
	"wirelab/lab/control"
	"wirelab/lab/load"
	"wirelab/lab/result"
	"wirelab/lab/trace"
	"wirelab/pipeline/journal"
)

const (
	// followEvery is the time between two reads of the journals. They are read after a slice and not during it, so that
	// reading does not slow any call. The services still pay for it while they drain: one page for each read.
	followEvery = 20 * time.Millisecond
	// followPatience is how long the follower waits while no entry is stored. Entries that are not stored by then are
	// missing.
	followPatience = 5 * time.Second
)

// follower follows the entries that the calls of a load submit until they are stored.
type follower struct {
	journals []*journal.Reader
	// stores is set if there are no journals and a reply says that its entry is stored.
	stores   bool
	patience time.Duration
	last     []func() string // by caller: the id of the entry that it submitted last
	// noted has the calls since the last account, by caller. Each caller appends to its own slice only.
	noted [][]trace.Call
	// owed has entries from before the last account that were not stored. If they are stored later, they are not
	// strays.
	owed []trace.Call
}

// newFollower returns a follower that reads the journals of a dial order, or uses the replies. It returns nil if
// neither shows when an entry is stored.
func newFollower(order control.Dial) *follower {
	if len(order.Journals) == 0 && !order.Stores {
		return nil
	}
	f := &follower{stores: order.Stores, patience: time.Duration(order.Patience)}
	if f.patience == 0 {
		f.patience = followPatience
	}
	for _, url := range order.Journals {
		f.journals = append(f.journals, &journal.Reader{URL: url})
	}
	return f
}

// follow opens a caller of a client that makes known the id of each entry that it submits.
func (f *follower) follow(client wirelab.Client, operation, requests string, seed uint64) (load.Call, error) {
	call, last, err := client.Follow(operation, requests, seed)
	if err != nil {
		return nil, err
	}
	f.last, f.noted = append(f.last, last), append(f.noted, nil)
	return call, nil
}

// watch notes a call that ended, for a load whose callers begin at index first; see [load.Plan.Watch].
func (f *follower) watch(first int, e load.Ended) {
	caller := first + e.Caller
	f.noted[caller] = append(f.noted[caller], trace.Call{
		ID: f.last[caller](), Caller: caller, Due: e.Due, Sent: e.Sent, Ended: e.End, Failed: e.Err != nil,
		Outside: !e.Recorded,
	})
}

// outside notes a call that was made outside of any run.
func (f *follower) outside(caller int, err error) {
	now := time.Now().UnixNano()
	f.watch(0, load.Ended{Caller: caller, Due: now, Sent: now, End: now, Err: err})
}

// settle waits until entries that were submitted before a slice are stored, so that the slice begins with empty queues
// (docs/origins.md R6, ms-M07).
func (f *follower) settle(ctx context.Context) error {
	for _, calls := range f.noted {
		for i := range calls {
			calls[i].Outside = true
		}
	}
	_, err := f.account(ctx, time.Now())
	return err
}

// account waits until all noted entries are stored, or none has been stored for the patience, and returns what became
// of them. ended is the end of the window.
func (f *follower) account(ctx context.Context, ended time.Time) (*result.Followed, error) {
	book := trace.NewBook()
	for _, call := range f.owed {
		if err := book.Note(call); err != nil {
			return nil, err
		}
	}
	for caller, calls := range f.noted {
		for _, call := range calls {
			if err := book.Note(call); err != nil {
				return nil, err
			}
			if f.stores && !call.Failed {
				replied(book, call)
			}
		}
		f.noted[caller] = calls[:0]
	}
	if err := f.drain(ctx, book); err != nil {
		return nil, err
	}
	if !f.stores {
		f.owed = book.Owed()
	}
	account := book.Account(ended.UnixNano())
	return &account, nil
}

// replied records that an entry was stored when its reply arrived, and not earlier: the server may have known before,
// but it does not say so. For a call that failed, it is unknown whether its entry was stored.
func replied(book *trace.Book, call trace.Call) {
	at := time.Unix(0, call.Ended)
	book.Tell(journal.Event{ID: call.ID, What: journal.Confirmed, At: at})
	book.Tell(journal.Event{ID: call.ID, What: journal.Stored, At: at})
}

// drain reads the journals until no entry is open, or none was stored for the patience.
func (f *follower) drain(ctx context.Context, book *trace.Book) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for progress := time.Now(); ; {
		told, err := f.read(ctx, book)
		switch {
		case err != nil:
			return err
		case told > 0:
			progress = time.Now()
			continue // there may be more
		case book.Open() == 0 || time.Since(progress) > f.patience:
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// read reads one page of each journal into the book and returns how many events it read. A journal that began anew lost
// an unknown number of events with its process, so that the account is incomplete.
func (f *follower) read(ctx context.Context, book *trace.Book) (told int, err error) {
	for _, j := range f.journals {
		lost, anew := j.Lost, j.Anew
		events, err := j.Next(ctx)
		if err != nil {
			return told, fmt.Errorf("what became of the entries: %w", err)
		}
		for _, e := range events {
			book.Tell(e)
		}
		book.Lose(j.Lost - lost + uint64(j.Anew-anew))
		told += len(events)
	}
	return told, nil
}
