package ledger

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Entry is a transaction with its position in the log.
type Entry struct {
	Position    int64 // from 1 without a gap
	Transaction Transaction
}

// Source is a log for pages and streams, in memory or in a database: the part of a [Service] in which they differ.
// It is called with valid requests only, by many goroutines. A Source in a database holds a connection during a
// call, and never between two.
type Source interface {
	// Start returns the position after which a feed begins. That is the position of the transaction after (0 for
	// "", NotFound if unknown) or, if larger, of the last transaction before since. If there is none at or after
	// since, this is the end of the log. A zero since is ignored.
	Start(ctx context.Context, after string, since time.Time) (int64, error)
	// Read returns the transactions after a position that have the account on either side ("" is any account), in
	// order: up to limit of them.
	Read(ctx context.Context, behind int64, account string, limit int) ([]Entry, error)
	// Wait returns the position of the log's last transaction once that is above head, possibly at once, or
	// returns the error of ctx.
	Wait(ctx context.Context, head int64) (int64, error)
}

// List implements GetTransactions over a source.
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

// start is [Source.Start], which most requests can skip.
func start(ctx context.Context, source Source, after string, since time.Time) (int64, error) {
	if after == "" && since.IsZero() {
		return 0, nil
	}
	return source.Start(ctx, after, since)
}

// Bell notifies readers that wait at the end of a log that it has grown. The zero value is the bell of an empty
// log.
type Bell struct {
	mu      sync.Mutex    // guards all below
	head    int64         // the highest position rung
	waiting chan struct{} // closed by the next ring; nil: no waiter
}

// Ring reports that the last position of the log is, or was, head. A lower head than before has no effect.
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

// Wait returns the last rung position once that is above head, or the error of ctx.
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

// look returns the position if it is above head, or a channel that is closed at the next ring.
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
