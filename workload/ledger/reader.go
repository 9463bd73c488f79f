package ledger

import (
	"context"
	"errors"
)

// errEnd is the error of a reader at the end of a log that it does not follow.
var errEnd = errors.New("end of the log")

// reader takes transactions from a source one by one, and reads ahead. It must be used by one goroutine only.
type reader struct {
	source Source
	feed   Feed
	behind int64   // position of the last transaction read
	left   int64   // transactions still to be read, if the feed has a limit
	head   int64   // the log's last position when the reader last waited for it
	page   []Entry // read and not yet taken
	last   bool    // the page ended at the end of the log when it was read
	// ahead receives the page that is being read; nil: none is. It is buffered, so that the reading goroutine ends
	// by itself.
	ahead chan read
}

// read is the result of reading a page.
type read struct {
	entries []Entry
	short   bool
	err     error
}

// next returns the next transaction. waited reports whether the reader had to wait for it at the end of the log. At
// the end of a log that is not followed next returns errEnd.
func (r *reader) next(ctx context.Context) (t Transaction, waited bool, err error) {
	for {
		for len(r.page) > 0 {
			e := r.page[0]
			r.page = r.page[1:]
			r.prepare(ctx)
			// If Start found no transaction at or after Since, the ones that follow may be earlier.
			if !e.Transaction.Timestamp.Before(r.feed.Since) {
				return e.Transaction, waited, nil
			}
			r.left++
		}
		if r.last && !r.feed.Follow {
			return Transaction{}, false, errEnd
		}
		followed := r.last
		if err := r.turn(ctx); err != nil {
			return Transaction{}, false, err
		}
		if !followed || len(r.page) > 0 {
			continue
		}
		waited = true
		if r.head, err = r.source.Wait(ctx, r.head); err != nil {
			return Transaction{}, false, err
		}
	}
}

// turn replaces the empty page by the next one.
func (r *reader) turn(ctx context.Context) error {
	var got read
	if r.ahead != nil {
		got = <-r.ahead
		r.ahead = nil
	} else {
		got = r.read(ctx, r.behind, r.size())
	}
	if got.err != nil {
		return got.err
	}
	r.page, r.last = got.entries, got.short
	if n := len(got.entries); n > 0 {
		r.behind = got.entries[n-1].Position
		r.left -= int64(n)
	}
	return nil
}

// prepare starts reading the next page in a goroutine once half of this one is taken, so that the schedule does not
// wait for a database.
func (r *reader) prepare(ctx context.Context) {
	size := r.size()
	if r.ahead != nil || r.last || len(r.page) > readAhead/2 || size == 0 {
		return
	}
	ahead, behind := make(chan read, 1), r.behind
	r.ahead = ahead
	go func() { ahead <- r.read(ctx, behind, size) }() // close waits for it
}

// size returns the length of the next page; 0 beyond the limit of the feed.
func (r *reader) size() int {
	if r.feed.Limit == 0 {
		return readAhead
	}
	return int(min(readAhead, r.left))
}

// read reads one page. It does not change r.
func (r *reader) read(ctx context.Context, behind int64, size int) read {
	entries, err := r.source.Read(ctx, behind, r.feed.Account, size)
	if err == nil {
		// A source in memory does not check ctx.
		err = ctx.Err()
	}
	return read{entries: entries, short: len(entries) < size, err: err}
}

// close waits for the page that is being read. Cancelling it would cost a connection to the database, for a page
// that takes milliseconds.
func (r *reader) close() {
	if r.ahead != nil {
		<-r.ahead
		r.ahead = nil
	}
}
