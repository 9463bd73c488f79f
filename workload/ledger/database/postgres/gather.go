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

// gatherer asks for balances. Those that are asked for while others are on their
// way go together in the next trip: one statement, down one connection and back.
// A point query costs PostgreSQL and us more for waking each other up than for
// the query. Of what pgbench gets from the same server with 50 callers on two
// cores, a statement for each call and a connection while it lasts got 0.34 over
// the cheapest wire; a statement for each, sent down one connection together,
// 0.47; one statement for all, in four trips at a time, 0.52, in two 0.54, and in
// one more than 0.6.
//
// Nobody waits for company: a call that finds a trip free goes alone. Trips are
// a sixteenth of the pool, which is one of the usual pool: the fewer, the better
// filled, and what one connection carries so is beyond what a few cores answer.
// The price is that the second of two calls waits for the first one's reply.
type gatherer struct {
	pool  *postgres.Pool
	trips int

	mu      sync.Mutex // guards below
	under   int        // trips under way, 0 to trips
	waiting []*asked   // for a trip, in order; bounded by the calls in flight

	// What the pool does not see, for [gatherer.use]: balances that went with
	// another's, those that waited for a trip, and how long, in ns.
	together, waited, waitedFor atomic.Int64
}

// asked is a balance that a caller waits for.
type asked struct {
	id       string
	began    time.Time
	deadline time.Time     // the zero time: none
	lead     chan struct{} // receives once: go, with all who wait
	done     chan struct{} // closed when balance and err are set
	// Set by the trip's leader before done is closed.
	balance ledger.Balance
	err     error
}

// tripMost is the most balances of one trip, as of one GetBalances.
const tripMost = ledger.BatchLimit

func newGatherer(pool *postgres.Pool, size int) *gatherer {
	return &gatherer{pool: pool, trips: max(1, size/16)}
}

// balance returns what is in an account.
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
			// It is in a trip, whose leader still writes into a, or it is to lead one.
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

// leave takes a call out of those who wait. It is false if that is no longer
// there: then it is in a trip, or lead has received.
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

// pass hands a trip that is over on to who waits first.
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

// alone asks for one balance by itself.
func (g *gatherer) alone(ctx context.Context, id string) (ledger.Balance, error) {
	b := ledger.Balance{Account: id}
	err := g.pool.QueryRow(ctx, balanceStatement, id).Scan(&b.Amount, &b.UpdatedAt)
	return b, g.verdict(ctx, &b, err)
}

// verdict is the error of a call, and mends the balance's time.
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

// trip asks for the leader's balance with those of all who wait, as far as they
// go in one. It lasts as long as the most patient of them has, also where the
// leader's own caller gives up: the others' replies are in it.
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

// tripLongest is how long a trip may take for calls without a deadline.
const tripLongest = 30 * time.Second

// patience is the time that the most patient caller has: one that gives up
// must not take the others' replies along.
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

// use adds to how the pool was used what the pool does not see: the balances
// that shared a connection, and the calls that waited for one.
func (g *gatherer) use(pool wirelab.PoolUse) wirelab.PoolUse {
	pool.Acquired += uint64(g.together.Load()) // never below 0
	pool.Waited += uint64(g.waited.Load())     // likewise
	pool.Waiting += time.Duration(g.waitedFor.Load())
	return pool
}
