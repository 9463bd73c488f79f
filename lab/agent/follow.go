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
	// followEvery is the time between two looks into the journals. They are read
	// after a slice and not in it, so that reading costs no call anything; what
	// the services spend on it while they drain is theirs, a page each time.
	followEvery = 20 * time.Millisecond
	// followPatience is how long entries are waited for while none is stored.
	// What is not there then is missing.
	followPatience = 5 * time.Second
)

// follower follows what the calls of a load hand over until it is stored.
type follower struct {
	journals []*journal.Reader
	// stores is that there are none, and a reply says that an entry is stored.
	stores   bool
	patience time.Duration
	last     []func() string // by caller: what it handed over last
	// noted are the calls since the last account, by caller: each caller adds to
	// its own.
	noted [][]trace.Call
	// owed are entries of before the last account that were not stored: should
	// they be after all, they are no strays.
	owed []trace.Call
}

// newFollower returns a follower by the journals of a dial, or by its replies; nil
// where neither tells when an entry is stored.
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

// follow opens a client's caller so that what it hands over is named.
func (f *follower) follow(client wirelab.Client, operation, requests string, seed uint64) (load.Call, error) {
	call, last, err := client.Follow(operation, requests, seed)
	if err != nil {
		return nil, err
	}
	f.last, f.noted = append(f.last, last), append(f.noted, nil)
	return call, nil
}

// watch notes a call that ended, of a load whose callers are those from first on;
// see [load.Plan.Watch].
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

// settle waits until what was handed over before a slice is stored, so that the
// slice begins with empty queues (docs/origins.md R6, ms-M07).
func (f *follower) settle(ctx context.Context) error {
	for _, calls := range f.noted {
		for i := range calls {
			calls[i].Outside = true
		}
	}
	_, err := f.account(ctx, time.Now())
	return err
}

// account waits until what was noted is stored, or nothing has been for the
// patience, and tells what became of it. ended is when the window was over.
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

// replied tells the book that an entry was stored when its reply was there, no later:
// what its server knows of that before stays with it. Of a call that failed nobody
// can say so, whether it is stored or not.
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

// read tells the book a page of each journal, and how many events there were. A
// journal that began anew lost nobody knows what with its process, so that the
// account is not whole.
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
