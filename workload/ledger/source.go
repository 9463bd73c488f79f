package ledger

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Entry is a transaction with its place in the log.
type Entry struct {
	Position    int64 // from 1 without a gap
	Transaction Transaction
}

// Source is a log that pages and streams are read from, in memory or in a
// database: the part of a [Service] that differs between them. It is asked with
// valid requests only, by many goroutines at once. A Source in a database
// holds a connection during a call and never between two.
type Source interface {
	// Start returns the position behind which a feed begins: that of the
	// transaction after, 0 for "", or NotFound; and, where that is larger,
	// that of the last transaction before since, which is the log's end where
	// there is none from then on. A zero since is none.
	Start(ctx context.Context, after string, since time.Time) (int64, error)
	// Read returns, in order, the transactions behind a position that have the
	// account on either side, "" being any: limit of them, or all there are.
	Read(ctx context.Context, behind int64, account string, limit int) ([]Entry, error)
	// Wait returns the position of the log's last transaction as soon as it is
	// above head, also where it is at once, or ctx's error.
	Wait(ctx context.Context, head int64) (int64, error)
}

// List answers GetTransactions from a source.
func List(ctx context.Context, page Page, source Source) (TransactionList, error) {
	if err := page.Validate(); err != nil {
		return TransactionList{}, err
	}
	limit := int(page.Limit)
	if limit == 0 {
		limit = PageLimit
	}
	behind, err := start(ctx, source, page.After, page.Since)
	if err != nil {
		return TransactionList{}, err
	}
	var list TransactionList
	for len(list.Transactions) < limit {
		want := limit - len(list.Transactions)
		entries, err := source.Read(ctx, behind, page.Account, want)
		if err != nil {
			return TransactionList{}, err
		}
		list.Transactions = slices.Grow(list.Transactions, len(entries))
		for _, e := range entries {
			behind = e.Position
			if !e.Transaction.Timestamp.Before(page.Since) {
				list.Transactions = append(list.Transactions, e.Transaction)
			}
		}
		if len(entries) < want {
			return list, nil
		}
	}
	list.Next = list.Transactions[limit-1].ID
	return list, nil
}

// start is [Source.Start], which most requests do without.
func start(ctx context.Context, source Source, after string, since time.Time) (int64, error) {
	if after == "" && since.IsZero() {
		return 0, nil
	}
	return source.Start(ctx, after, since)
}

// Bell tells those who wait at the end of a log that it has grown. The zero
// value is a bell of an empty log.
type Bell struct {
	mu      sync.Mutex    // guards all below
	head    int64         // the last position rung for
	waiting chan struct{} // closed by the next ring; nil: nobody waits
}

// Ring says that the log's last position is head now, or was: a lower one than
// before changes nothing.
func (b *Bell) Ring(head int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if head <= b.head {
		return
	}
	b.head = head
	if b.waiting != nil {
		close(b.waiting)
		b.waiting = nil
	}
}

// Wait returns the last position rung for as soon as it is above head, or
// ctx's error.
func (b *Bell) Wait(ctx context.Context, head int64) (int64, error) {
	for {
		now, rung := b.look(head)
		if rung == nil {
			return now, nil
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// look returns the position above head, or what is closed at the next ring.
func (b *Bell) look(head int64) (int64, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.head > head {
		return b.head, nil
	}
	if b.waiting == nil {
		b.waiting = make(chan struct{})
	}
	return 0, b.waiting
}
