package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"wirelab"
	"wirelab/system/postgres"
	"wirelab/workload/ledger"
)

// gatherer combines requests for balances. Requests that arrive while others are in progress go together in the
// next trip: one statement, over one connection and back. A point query costs PostgreSQL and us more for waking
// each other up than for the query. Relative to the rate that pgbench gets from the same server with 50 callers on
// two cores, over the cheapest wire: one statement for each call, with a connection while it lasts, got 0.34; one
// for each call, sent together over one connection, 0.47; one statement for all, with at most four trips at a time,
// 0.52, two 0.54, and one more than 0.6.
//
// No call waits for others: one that finds a free trip goes alone. The number of trips is a sixteenth of the pool,
// which is one with the default pool: fewer trips are fuller, and one connection used in this way carries more than
// a few cores can answer. The price is that the second of two calls waits for the reply to the first.
type gatherer struct {
	pool  *postgres.Pool
	trips int

	mu      sync.Mutex // guards below
	under   int        // trips in progress, 0 to trips
	waiting []*asked   // for a trip, in order; bounded by the calls in flight

	// Counts that the pool does not have, for [gatherer.use]: balances that shared a trip, those that waited for
	// one, and how long, in ns.
	together, waited, waitedFor atomic.Int64
}

// asked is a request for a balance.
type asked struct {
	id       string
	began    time.Time
	deadline time.Time     // the zero time: none
	lead     chan struct{} // receives once: lead a trip with all who wait
	done     chan struct{} // closed when balance and err are set
	// Set by the trip's leader before done is closed.
	balance ledger.Balance
	err     error
}

// tripMost is the maximum number of balances in one trip, as in one GetBalances.
const tripMost = ledger.BatchLimit

func newGatherer(pool *postgres.Pool, size int) *gatherer {
	return &gatherer{pool: pool, trips: max(1, size/16)}
}

// balance returns the balance of an account.
func (g *gatherer) balance(ctx context.Context, id string) (ledger.Balance, error) {
	g.mu.Lock()
	if g.under < g.trips {
		g.under++
		g.mu.Unlock()
		defer g.pass()
		return g.alone(ctx, id)
	}
	a := &asked{id: id, began: time.Now(), lead: make(chan struct{}, 1), done: make(chan struct{})}
	a.deadline, _ = ctx.Deadline()
	g.waiting = append(g.waiting, a)
	g.mu.Unlock()
	select {
	case <-a.lead:
		defer g.pass()
		g.trip(ctx, a)
	case <-a.done:
	case <-ctx.Done():
		if !g.leave(a) {
			// It is in a trip, whose leader will still write to a, or it is to lead one.
			select {
			case <-a.lead:
				g.pass()
			default:
			}
		}
		return ledger.Balance{}, g.pool.Coded(ctx, ctx.Err())
	}
	return a.balance, a.err
}

// leave removes a call from those who wait. It returns false if the call no longer waits: it is in a trip, or lead
// has received.
func (g *gatherer) leave(a *asked) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.waiting {
		if other == a {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// pass gives a finished trip's place to the first waiting call.
func (g *gatherer) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		g.under--
		return
	}
	next := g.waiting[0]
	g.waiting = g.waiting[1:]
	next.lead <- struct{}{}
}

// alone requests one balance without others.
func (g *gatherer) alone(ctx context.Context, id string) (ledger.Balance, error) {
	b := ledger.Balance{Account: id}
	err := g.pool.QueryRow(ctx, balanceStatement, id).Scan(&b.Amount, &b.UpdatedAt)
	return b, g.verdict(ctx, &b, err)
}

// verdict returns the error of a call, and sets the zone of the balance's time.
func (g *gatherer) verdict(ctx context.Context, b *ledger.Balance, err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		id := b.Account
		*b = ledger.Balance{}
		return ledger.UnknownAccount(id)
	}
	if err != nil {
		*b = ledger.Balance{}
		return g.pool.Coded(ctx, err)
	}
	b.UpdatedAt = b.UpdatedAt.UTC()
	return nil
}

// trip requests the leader's balance with those of the waiting calls, up to the maximum. Its deadline is the latest
// of theirs, even if the leader's caller gives up, because it carries the replies for the others.
func (g *gatherer) trip(ctx context.Context, leader *asked) {
	g.mu.Lock()
	n := min(len(g.waiting), tripMost-1)
	all := append(make([]*asked, 0, n+1), leader)
	all = append(all, g.waiting[:n]...)
	g.waiting = g.waiting[n:]
	g.mu.Unlock()
	for _, a := range all {
		g.waitedFor.Add(int64(time.Since(a.began)))
	}
	g.waited.Add(int64(len(all)))
	if len(all) == 1 {
		leader.balance, leader.err = g.alone(ctx, leader.id)
		return
	}
	g.together.Add(int64(len(all) - 1))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience(all))
	defer cancel()
	ids := make([]string, len(all))
	for i, a := range all {
		ids[i] = a.id
	}
	known := make(map[string]ledger.Balance, len(all))
	err := g.read(ctx, ids, known)
	for _, a := range all {
		b, ok := known[a.id]
		switch {
		case err != nil:
			a.err = err
		case !ok:
			a.err = ledger.UnknownAccount(a.id)
		}
		a.balance = b
		if a != leader {
			close(a.done)
		}
	}
}

// read reads balances, of one moment, into known.
func (g *gatherer) read(ctx context.Context, ids []string, known map[string]ledger.Balance) error {
	rows, err := g.pool.Query(ctx, balancesStatement, ids)
	if err != nil {
		return g.pool.Coded(ctx, err)
	}
	var b ledger.Balance
	if _, err := pgx.ForEachRow(rows, []any{&b.Account, &b.Amount, &b.UpdatedAt}, func() error {
		b.UpdatedAt = b.UpdatedAt.UTC()
		known[b.Account] = b
		return nil
	}); err != nil {
		return g.pool.Coded(ctx, err)
	}
	return nil
}

// tripLongest is the time limit of a trip for calls without a deadline.
const tripLongest = 30 * time.Second

// patience returns the longest remaining time of the callers: one that gives up must not cancel the requests of the
// others.
func patience(all []*asked) time.Duration {
	most := time.Duration(0)
	for _, a := range all {
		if a.deadline.IsZero() {
			return tripLongest
		}
		most = max(most, time.Until(a.deadline))
	}
	return min(most, tripLongest)
}

// use adds the counts that the pool does not have: balances that shared a connection, and calls that waited for
// one.
func (g *gatherer) use(pool wirelab.PoolUse) wirelab.PoolUse {
	pool.Acquired += uint64(g.together.Load()) // never below 0
	pool.Waited += uint64(g.waited.Load())     // likewise
	pool.Waiting += time.Duration(g.waitedFor.Load())
	return pool
}
