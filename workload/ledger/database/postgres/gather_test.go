package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/system/postgres/postgrestest"
	"wirelab/workload/ledger"
)

// Balances that go together are still each its caller's: known or not, none is
// another's, and the pool tells how many there were.
func TestBalancesThatGoTogether(t *testing.T) {
	t.Parallel()
	o := opened(t, postgrestest.Database(t, server))
	reference := ledger.New()
	if small, err := ledger.Sized(small); err == nil {
		reference = small.New()
	}
	before := o.Pool().Acquired
	const callers, each = 40, 25
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for n := range each {
				id := fmt.Sprintf("0.0.%d", 100_000+(caller*each+n*7)%110) // one in eleven does not exist
				want, wantErr := reference.GetBalance(t.Context(), ledger.AccountID{ID: id})
				got, err := o.Service.GetBalance(t.Context(), ledger.AccountID{ID: id})
				same := err == nil && wantErr == nil ||
					err != nil && wantErr != nil && wirelab.CodeOf(err) == wirelab.CodeOf(wantErr)
				if !same || !got.Equal(want) {
					t.Errorf("%s: %+v, %v; want %+v, %v", id, got, err, want, wantErr)
				}
			}
		})
	}
	all.Wait()
	if used := o.Pool(); used.Acquired-before < callers*each || used.Waited == 0 {
		t.Errorf("%d calls, of which the pool tells %+v", callers*each, used)
	}
}

// TestBalancesThatAreGivenUp checks that a call that is cancelled, while it waits or leads a trip, does not affect
// other calls and leaves no trip behind.
func TestBalancesThatAreGivenUp(t *testing.T) {
	t.Parallel()
	o := opened(t, postgrestest.Database(t, server))
	s, ok := o.Service.(*service)
	if !ok {
		t.Fatal("the service is another")
	}
	var all sync.WaitGroup
	for caller := range 40 {
		all.Go(func() {
			for n := range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if (caller+n)%3 == 0 {
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(n)*20*time.Microsecond)
				}
				_, err := s.GetBalance(ctx, ledger.AccountID{ID: "0.0.100001"})
				// By the clock: a context may learn of its deadline a moment later than a
				// trip that has the same.
				deadline, _ := ctx.Deadline()
				if left := time.Until(deadline); err != nil &&
					(left > 0 || wirelab.CodeOf(err) != wirelab.DeadlineExceeded) {
					t.Errorf("%v, with %v left of the call's own deadline", err, left)
				}
				cancel()
			}
		})
	}
	all.Wait()
	s.balances.mu.Lock()
	defer s.balances.mu.Unlock()
	if s.balances.under != 0 || len(s.balances.waiting) != 0 {
		t.Errorf("%d trips are under way, and %d calls wait, when all have ended", s.balances.under,
			len(s.balances.waiting))
	}
}
