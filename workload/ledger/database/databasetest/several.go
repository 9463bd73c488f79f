package databasetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/workload/ledger"
)

type (
	database = wirelab.Database[ledger.Service]
	address  = wirelab.DatabaseAddress
)

func databaseTests() map[string]func(*testing.T, database, address) {
	return map[string]func(*testing.T, database, address){
		"postings are there after reopening":           testReopen,
		"many may fill one database at once":           testFillTogether,
		"several processes share one ledger":           testShared,
		"streams that wait hold no connection":         testPins,
		"one connection is enough":                     testOneConnection,
		"it says what it is and how its pool was used": testAbout,
		"what cannot be opened is refused":             testOpenRefused,
		"an ended context ends the call":               testContext,
	}
}

// Opening again neither fills again nor forgets (grb-D05, grb-D06).
func testReopen(t *testing.T, d database, at address) {
	first, err := d.Open(t.Context(), at, Data)
	if err != nil {
		t.Fatal(err)
	}
	done := post(t, first.Service, ledger.Posting{ID: "kept", From: alice, To: bob, Amount: 5, Type: "t"})
	balance := get(t, first.Service, alice)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := opened(t, d, at).Service
		same(t, "the log", log(t, s, ""), append(seeded(t), done))
		if got := get(t, s, alice); !got.Equal(balance) {
			t.Errorf("balance %+v, was %+v", got, balance)
		}
	}
}

func testFillTogether(t *testing.T, d database, at address) {
	const processes = 4
	all := make([]wirelab.Opened[ledger.Service], processes)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			var err error
			if all[i], err = d.Open(limited(t), at, Data); err != nil {
				t.Errorf("open: %v", err)
			}
		})
	}
	wg.Wait()
	for _, o := range all {
		if o.Closer == nil {
			continue
		}
		same(t, "the log", log(t, o.Service, ""), seeded(t))
		if now := sum(t, o.Service); now != sumOf(t, ids(t)...) {
			t.Errorf("the sum is %d", now)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

func testShared(t *testing.T, d database, at address) {
	ctx := limited(t)
	services := []ledger.Service{opened(t, d, at).Service, opened(t, d, at).Service, opened(t, d, at).Service}
	total, end := sum(t, services[0]), seeded(t)[999].ID
	const posted = 30
	got := make([][]ledger.Transaction, len(services))
	var wg sync.WaitGroup
	for i, s := range services {
		wg.Go(func() {
			var err error
			feed := ledger.Feed{After: end, Follow: true, Limit: int64(posted * len(services))}
			if got[i], err = collect(t, s.StreamTransactions(ctx, feed)); err != nil {
				t.Errorf("follower of process %d: %v after %d events", i, err, len(got[i]))
			}
		})
		wg.Go(func() {
			for n := range posted {
				p := ledger.Posting{ID: fmt.Sprintf("shared-%d-%d", i, n), From: alice, To: bob, Amount: 1}
				if n%2 == 0 {
					p.From, p.To = bob, alice
				}
				if _, err := s.PostTransaction(ctx, p); err != nil {
					t.Errorf("post: %v", err)
				}
			}
		})
	}
	wg.Wait()
	want := log(t, services[0], end)
	for i, s := range services {
		same(t, fmt.Sprintf("the log by process %d", i), log(t, s, end), want)
		same(t, fmt.Sprintf("the follower of process %d", i), got[i], want)
		if now := sum(t, s); now != total {
			t.Errorf("process %d: the sum was %d and is %d", i, total, now)
		}
	}
	if len(want) != posted*len(services) {
		t.Errorf("%d were posted, want %d", len(want), posted*len(services))
	}
}

// testPins: a pool of two serves many streams that wait, for their reader, for the next event to be due or for the
// log to grow, and other callers as well (grb-M17).
func testPins(t *testing.T, d database, at address) {
	at.Pool = 2
	o := opened(t, d, at)
	s, all := o.Service, seeded(t)
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	const streams = 20
	var wg, began sync.WaitGroup
	for n := range streams {
		feed := []ledger.Feed{{Follow: true, After: all[998].ID}, {Rate: 1}, {}, {Account: all[10].From}}[n%4]
		began.Add(1)
		wg.Go(func() {
			first := true
			for _, err := range s.StreamTransactions(ctx, feed) {
				if first {
					began.Done()
					first = false
				}
				if err == nil && feed.Rate == 0 && !feed.Follow {
					<-ctx.Done() // a reader that stopped
				}
			}
		})
	}
	began.Wait()
	asReference(t, s, 3, 2)
	post(t, s, ledger.Posting{ID: "during", From: alice, To: bob, Amount: 1})
	if use := o.Pool(); use.Size != 2 || use.Open > 2 {
		t.Errorf("a pool of 2 is used as %+v", use)
	}
	cancel()
	wg.Wait()
}

func testOneConnection(t *testing.T, d database, at address) {
	at.Pool = 1
	o := opened(t, d, at)
	testManyStreams(t, o.Service)
	asReference(t, o.Service, 4, 2)
	testOpposingPosts(t, o.Service)
	if use := o.Pool(); use.Size != 1 || use.Open > 1 || use.Waited == 0 || use.Waiting <= 0 {
		t.Errorf("a pool of 1 that many waited for is used as %+v", use)
	}
}

func testAbout(t *testing.T, d database, at address) {
	at.Pool = 3
	o := opened(t, d, at)
	before := o.Pool()
	get(t, o.Service, alice)
	get(t, o.Service, bob)
	after := o.Pool()
	if o.About == "" || after.Size != 3 || after.Open < 1 || after.Open > 3 || after.Acquired != before.Acquired+2 {
		t.Errorf("%q: pool %+v, then %+v", o.About, before, after)
	}
	at.Pool = 0
	if use := opened(t, d, at).Pool(); use.Size != wirelab.PoolSize {
		t.Errorf("a pool without a configured size is %+v", use)
	}
}

func testOpenRefused(t *testing.T, d database, at address) {
	for _, data := range []string{"x", "100", "100x", "0100x1000", "3x10", "100x-1", "1e2x1000", "100x1000x1"} {
		_, err := d.Open(t.Context(), at, data)
		wantCode(t, "data set "+data, err, wirelab.InvalidArgument)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Open(over, at, Data)
	wantCode(t, "opened by one who left", err, wirelab.Canceled)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err = d.Open(late, at, Data)
	wantCode(t, "opened when time is over", err, wirelab.DeadlineExceeded)
	same(t, "after that, the log", log(t, opened(t, d, at).Service, ""), seeded(t))
}

// A database waits for a lock or a connection, and so looks at its context.
func testContext(t *testing.T, d database, at address) {
	s := opened(t, d, at).Service
	calls := map[string]func(context.Context) error{
		"GetBalance": func(ctx context.Context) error {
			_, err := s.GetBalance(ctx, ledger.AccountID{ID: alice})
			return err
		},
		"GetBalances": func(ctx context.Context) error {
			_, err := s.GetBalances(ctx, ledger.AccountIDs{IDs: []string{alice}})
			return err
		},
		"GetTransactions": func(ctx context.Context) error {
			_, err := s.GetTransactions(ctx, ledger.Page{Since: time.Unix(0, 0), Account: alice})
			return err
		},
		"PostTransaction": func(ctx context.Context) error {
			_, err := s.PostTransaction(ctx, ledger.Posting{ID: "late", From: alice, To: bob, Amount: 1})
			return err
		},
		"Ready": func(ctx context.Context) error { return ledger.Ready(ctx, s) },
	}
	for name, call := range calls {
		over, cancel := context.WithCancel(t.Context())
		cancel()
		wantCode(t, name+" of a caller who left", call(over), wirelab.Canceled)
		late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		wantCode(t, name+" when time is over", call(late), wirelab.DeadlineExceeded)
		cancel()
	}
	same(t, "after that, the log", log(t, s, ""), seeded(t))
	asReference(t, s, 5, 2)
}
